// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"strings"
	"unicode"
)

// maxWord limits the length of a word in runes. Nobody searches for a longer word.
const maxWord = 40

// wordsOf returns the words of a text in lower case. Names are split at case changes, underscores
// and hyphens, and before digits.
func wordsOf(text string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 && len(word) <= maxWord {
			words = append(words, strings.ToLower(string(word)))
		}
		word = word[:0]
	}
	runes := []rune(text)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			end()
			continue
		}
		if i > 0 && splits(runes, i) {
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}

// splits reports whether a word starts at i: readFile, HTTPServer, page2.
func splits(runes []rune, i int) bool {
	r, before := runes[i], runes[i-1]
	switch {
	case unicode.IsUpper(r):
		acronymEnds := unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		return unicode.IsLower(before) || acronymEnds
	case unicode.IsDigit(r):
		return unicode.IsLetter(before)
	}
	return unicode.IsDigit(before)
}

// stem removes the most common English endings, so that "creating issues" finds "create_issue".
// Both sides are stemmed, so a stem need not be a word.
func stem(w string) string {
	w = singular(w)
	for _, ending := range []string{"ing", "ed"} {
		if rest, ok := strings.CutSuffix(w, ending); ok && len(rest) >= 3 && strings.ContainsAny(rest, "aeiouy") {
			w = undouble(rest)
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case hasAnySuffix(w, "sses", "shes", "ches", "xes"):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !hasAnySuffix(w, "ss", "us", "is"):
		return w[:len(w)-1]
	}
	return w
}

func hasAnySuffix(w string, endings ...string) bool {
	for _, e := range endings {
		if strings.HasSuffix(w, e) {
			return true
		}
	}
	return false
}

// undouble turns "stopp" into "stop", but leaves "call" and "miss".
func undouble(w string) string {
	n := len(w)
	if n > 3 && w[n-1] == w[n-2] && strings.IndexByte("bdgmnprt", w[n-1]) >= 0 {
		return w[:n-1]
	}
	return w
}

// stopWords are words without meaning for a search.
var stopWords = set("a an and any are as at be by can could do does for from has have how i if in into is it its let like " +
	"me my need of on or our out please should so some that the their them then there these this to us use using want was we " +
	"what when where which who will with would you your all about")

// groups are groups of synonyms in names of tools.
var groups = []string{
	"search find lookup look query",
	"delete remove erase drop",
	"create make new add write open",
	"get show view fetch retrieve read display",
	"list enumerate show",
	"update edit modify change",
	"send post",
	"email mail",
	"directory folder",
	"image picture photo screenshot",
	"repository repo",
	"run execute",
	"pull pr",
	"message chat",
	"web internet online website page url",
	"weather forecast",
	"calendar schedule meeting event",
	"comment reply respond",
	"move rename",
	"database sql",
}

// related maps a stem to the stems of its synonyms.
var related = func() map[string][]string {
	all := map[string][]string{}
	for _, group := range groups {
		words := strings.Fields(group)
		for _, w := range words {
			for _, other := range words {
				if other != w {
					all[stem(w)] = append(all[stem(w)], stem(other))
				}
			}
		}
	}
	return all
}()

func set(words string) map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		all[w] = true
	}
	return all
}
