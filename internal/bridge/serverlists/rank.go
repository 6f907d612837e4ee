// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"cmp"
	"math"
	"slices"
)

const (
	// saturation and lengthNorm are k1 and b of BM25. k1 has its usual value. Names and
	// descriptions differ less in length than documents do, so length counts less.
	saturation = 1.2
	lengthNorm = 0.4
	// kinship is the weight of a synonym of the searched word.
	kinship = 0.6
	// unknown is the weight of a query word that no tool has, relative to the rarest word. Such a
	// word may name something that no tool does, but queries also name the objects of the work.
	unknown = 0.25
	// maxQuery limits the words of a query.
	maxQuery = 64
	// maxDescription limits the words of a text, and the arguments, that count.
	maxDescription = 200
)

// The weights of the places of a word.
const (
	nameWeight        = 3.0
	serverWeight      = 2.0
	argumentWeight    = 0.8
	descriptionWeight = 1.0
	aboutWeight       = 0.6
)

// searchable is one searchable tool.
type searchable struct {
	// Server is the name of the tool's server, and About is the purpose of the server.
	Server, About string
	// Name, Description and Arguments are the tool's own.
	Name, Description string
	Arguments         []string
}

// hit is one tool that matches.
type hit struct {
	// Tool is the position of the tool in the index.
	Tool int
	// Score is above 0 and at most 1: the share of the query that the tool covers. Rare words
	// count more.
	Score float64
}

// toolIndex is a set of tools prepared for searches. It is immutable. It finds the tools that match a
// user's intent, by the words of their names and descriptions. It follows BM25 (Robertson and
// Zaragoza, The Probabilistic Relevance Framework, 2009), with weights for the place of a word and
// with scores between 0 and 1. It calls no model, so the searches of users stay private.
type toolIndex struct {
	documents []document
	rarity    map[string]float64
	rarest    float64
}

// document holds the weights of a tool's words.
type document struct {
	weights map[string]float64
	norm    float64 // the saturation for a tool of this length
}

// newToolIndex returns the index of the tools.
func newToolIndex(tools []searchable) *toolIndex {
	x := &toolIndex{documents: make([]document, len(tools)), rarity: map[string]float64{}}
	lengths := make([]float64, len(tools))
	average := 0.0
	counts := map[string]int{}
	for i, t := range tools {
		weights := t.weights()
		x.documents[i].weights = weights
		for w := range weights {
			counts[w]++
		}
		lengths[i] = float64(len(weights))
		average += lengths[i] / float64(len(tools))
	}
	for i := range x.documents {
		x.documents[i].norm = saturation * (1 - lengthNorm + lengthNorm*lengths[i]/max(average, 1))
	}
	n := float64(len(tools))
	for w, count := range counts {
		x.rarity[w] = math.Log(1 + (n-float64(count)+0.5)/(float64(count)+0.5))
	}
	x.rarest = math.Log(1 + (n+0.5)/0.5)
	return x
}

// weights returns the weight of each stem of the tool.
func (t searchable) weights() map[string]float64 {
	weights := map[string]float64{}
	add := func(text string, weight float64) {
		words := wordsOf(text)
		for _, w := range words[:min(len(words), maxDescription)] {
			if !stopWords[w] {
				weights[stem(w)] += weight
			}
		}
	}
	add(t.Name, nameWeight)
	add(t.Server, serverWeight)
	add(t.Description, descriptionWeight)
	add(t.About, aboutWeight)
	for _, a := range t.Arguments[:min(len(t.Arguments), maxDescription)] {
		add(a, argumentWeight)
	}
	return weights
}

// Search returns at most limit tools that match the query, the best first. Tools with equal scores
// keep the order of the index, so that equal searches give equal answers.
func (x *toolIndex) Search(query string, limit int) []hit {
	stems := stemsOf(query)
	var matches []hit
	for i, d := range x.documents {
		if s := x.score(stems, d); s > 0 {
			matches = append(matches, hit{Tool: i, Score: s})
		}
	}
	slices.SortStableFunc(matches, func(a, b hit) int { return cmp.Compare(b.Score, a.Score) })
	return matches[:min(len(matches), max(limit, 0))]
}

// stemsOf returns the distinct stems of a query, in order.
func stemsOf(query string) []string {
	var stems []string
	for _, w := range wordsOf(query) {
		if s := stem(w); !stopWords[w] && !slices.Contains(stems, s) && len(stems) < maxQuery {
			stems = append(stems, s)
		}
	}
	return stems
}

func (x *toolIndex) score(stems []string, d document) float64 {
	found, possible := 0.0, 0.0
	for _, s := range stems {
		rarity, value := x.best(s, d)
		found += rarity * value
		possible += rarity
	}
	if possible == 0 {
		return 0
	}
	// Three decimals: smaller differences mean nothing, and clients read the score.
	return math.Round(1000*found/possible) / 1000
}

// best returns how rare the stem is, and how much of it, or of a synonym, the tool has. A stem
// counts as no rarer than its synonyms: of two words for "search", the rarer one says no more.
func (x *toolIndex) best(s string, d document) (rarity, value float64) {
	rarity, known := x.rarity[s]
	value = d.value(s)
	for _, other := range related[s] {
		r, ok := x.rarity[other]
		if !ok {
			continue
		}
		if !known || r < rarity {
			rarity, known = r, true
		}
		value = max(value, kinship*d.value(other))
	}
	if !known {
		rarity = unknown * x.rarest
	}
	return rarity, value
}

// value returns how much of the stem the tool has, from 0 to 1.
func (d document) value(s string) float64 {
	w := d.weights[s]
	return w / (w + d.norm)
}
