// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
)

// maxWord cuts words, in bytes: nobody searches for longer ones.
const maxWord = 40

// wordsOf splits a text into words of letters and digits in lower case.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		if len(w) > maxWord {
			words[i] = strings.ToValidUTF8(w[:maxWord], "")
		}
	}
	return words
}

// stemOf returns what the forms of an English word have in common: ticket for
// tickets. A word of other letters or digits is its own stem.
func stemOf(word string) string {
	if len(word) < 4 || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return word
	}
	return english.Stem(word, false)
}

// The share of a word's weight that a form of it counts, in quarters.
const (
	shareExact   = 4
	shareStem    = 3
	shareSynonym = 2
	shareBegun   = 2
	shares       = 4
)

// term is one word of a search.
type term struct {
	// forms are the words that stand for it, the best first.
	forms []form
	// begun is a beginning that words may have, empty for none.
	begun string
	// optional means that a recipe may lack it.
	optional bool
}

type form struct {
	word  string
	share uint8
}

// termsOf returns the terms of a search, those that a recipe must have first.
// The last word may be incomplete. If all words are optional, all are required.
func termsOf(words []string) []term {
	terms := make([]term, len(words))
	required := 0
	for i, word := range words {
		terms[i] = dictionary.term(word)
		if i == len(words)-1 {
			terms[i].begun = word
		}
		if !terms[i].optional {
			required++
		}
	}
	if required == 0 {
		for i := range terms {
			terms[i].optional = false
		}
	}
	slices.SortStableFunc(terms, func(a, b term) int { return rank(a) - rank(b) })
	return terms
}

func rank(t term) int {
	if t.optional {
		return 1
	}
	return 0
}

// vocabulary is what synonyms.txt says, by stem.
type vocabulary struct {
	synonyms map[string][]string
	optional map[string]bool
}

//go:embed synonyms.txt
var synonyms string

var dictionary = readVocabulary(synonyms)

func readVocabulary(text string) vocabulary {
	v := vocabulary{synonyms: map[string][]string{}, optional: map[string]bool{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if list, ok := strings.CutPrefix(line, "optional:"); ok {
			for word := range strings.FieldsSeq(list) {
				v.optional[word] = true
			}
			continue
		}
		if line == "" || line[0] == '#' {
			continue
		}
		group := strings.Fields(line)
		for _, word := range group {
			for _, other := range group {
				if other != word {
					v.synonyms[stemOf(word)] = append(v.synonyms[stemOf(word)], other)
				}
			}
		}
	}
	return v
}

func (v vocabulary) term(word string) term {
	t := term{optional: v.optional[word]}
	t.add(word, shareExact)
	t.add(stemOf(word), shareStem)
	for _, other := range v.synonyms[stemOf(word)] {
		t.add(other, shareSynonym)
		t.add(stemOf(other), shareSynonym)
	}
	return t
}

// add adds a form, unless the term has it with a share that is as high.
func (t *term) add(word string, share uint8) {
	if !slices.ContainsFunc(t.forms, func(f form) bool { return f.word == word }) {
		t.forms = append(t.forms, form{word, share})
	}
}
