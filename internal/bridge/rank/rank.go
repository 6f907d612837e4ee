// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rank finds the tools that fit what somebody wants to do, by the words
// of their names and descriptions. It follows BM25 (Robertson and Zaragoza, The
// Probabilistic Relevance Framework, 2009), with weights for where a word
// stands and with scores between 0 and 1.
//
// The package is pure and uses the standard library alone. It asks no model, so
// that what a user searches for stays with them.
package rank

import (
	"cmp"
	"math"
	"slices"
)

const (
	// saturation and lengthNorm are k1 and b of BM25, with the values that are
	// usual; names and descriptions differ less in length than documents do, so
	// length counts less.
	saturation = 1.2
	lengthNorm = 0.4
	// kinship is what a word counts that means much the same as the one asked
	// for.
	kinship = 0.6
	// unknown is what a word of the query counts that no tool has, beside the
	// rarest one: it tells what the tools do not do, but queries also name the
	// things to do it with.
	unknown = 0.25
	// maxQuery bounds the words of a query.
	maxQuery = 64
	// maxDescription bounds the words of one text, and the arguments, that count.
	maxDescription = 200
)

// The weights of the places in which a word may stand.
const (
	nameWeight        = 3.0
	serverWeight      = 2.0
	argumentWeight    = 0.8
	descriptionWeight = 1.0
	aboutWeight       = 0.6
)

// Tool is what can be found.
type Tool struct {
	// Server is the name of the tool's server, and About what that is for.
	Server, About string
	// Name, Description and Arguments are the tool's own.
	Name, Description string
	Arguments         []string
}

// Match is one tool that fits.
type Match struct {
	// Tool is the index of the tool among those of the index.
	Tool int
	// Score is above 0 and at most 1: the share of what was asked for that the
	// tool has, rare words counting more.
	Score float64
}

// Index is a set of tools made ready for searches. It does not change.
type Index struct {
	documents []document
	rarity    map[string]float64
	rarest    float64
}

// document is how much of each word a tool has.
type document struct {
	weights map[string]float64
	norm    float64 // the saturation for a tool of this length
}

// NewIndex returns the index of the tools.
func NewIndex(tools []Tool) *Index {
	x := &Index{documents: make([]document, len(tools)), rarity: map[string]float64{}}
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

// weights returns how much each stem counts in the tool.
func (t Tool) weights() map[string]float64 {
	weights := map[string]float64{}
	add := func(text string, weight float64) {
		words := Words(text)
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

// Search returns the tools that fit the query best, the best first, at most
// limit. Of equal ones the first in the index comes first, so that equal
// searches give equal answers.
func (x *Index) Search(query string, limit int) []Match {
	stems := stemsOf(query)
	var matches []Match
	for i, d := range x.documents {
		if s := x.score(stems, d); s > 0 {
			matches = append(matches, Match{Tool: i, Score: s})
		}
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return matches[:min(len(matches), max(limit, 0))]
}

// stemsOf returns the different stems of a query, in its order.
func stemsOf(query string) []string {
	var stems []string
	for _, w := range Words(query) {
		if s := stem(w); !stopWords[w] && !slices.Contains(stems, s) && len(stems) < maxQuery {
			stems = append(stems, s)
		}
	}
	return stems
}

func (x *Index) score(stems []string, d document) float64 {
	found, possible := 0.0, 0.0
	for _, s := range stems {
		rarity, value := x.best(s, d)
		found += rarity * value
		possible += rarity
	}
	if possible == 0 {
		return 0
	}
	// Three decimals: what differs by less is no difference, and clients read it.
	return math.Round(1000*found/possible) / 1000
}

// best returns how rare the stem is and how much the tool has of it, or of a
// word that means much the same. A stem is no rarer than such words: of two
// words for "search" the one that fewer tools use says no more.
func (x *Index) best(s string, d document) (rarity, value float64) {
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

// value returns how much of the stem the tool has, between 0 and 1.
func (d document) value(s string) float64 {
	w := d.weights[s]
	return w / (w + d.norm)
}
