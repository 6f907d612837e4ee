// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestFormsSynonymsAndOptionalWords(t *testing.T) {
	described := func(id, text string) catalog.Entry {
		r := catalogtest.Recipe(id)
		r.Name, r.Description = id, text
		return catalogtest.Accepted(r, 1)
	}
	entries := []catalog.Entry{
		described("aa", "Reads emails"), described("bb", "An email client"), described("cc", "Mail"), described("dd", "Runs databases"),
	}
	// Half of the snapshots find recipes one by one, as after a change.
	grown := NewSnapshot(nil, nil)
	for _, e := range entries {
		grown = grown.With([]catalog.Entry{e}, nil)
	}
	for name, s := range map[string]*Snapshot{"at once": NewSnapshot(entries, nil), "one by one": grown} {
		for text, want := range map[string][]string{
			"mail":                {"cc", "bb", "aa"},
			"emails":              {"aa", "bb", "cc"},
			"read mail":           {"aa", "cc", "bb"},
			"please mail":         {},
			"to":                  {},
			"read":                {"aa"},
			"database":            {"dd"},
			"sql":                 {"dd"},
			"databas":             {"dd"},
			"running a database ": {"dd"},
		} {
			p := must.Value(s.List(Query{Text: text}))(t)
			if diff := cmp.Diff(want, namesOf(p.Items)); diff != "" {
				t.Errorf("%s, %q: %s", name, text, diff)
			}
		}
	}
}

// TestTheListsOfWordsAreAsTheyAreUsed holds that each word of synonyms.txt is one
// that a search can have, and stands in one way.
func TestTheListsOfWordsAreAsTheyAreUsed(t *testing.T) {
	for line := range strings.Lines(synonyms) {
		if line[0] == '#' {
			continue
		}
		list := strings.Fields(strings.TrimPrefix(line, "optional:"))
		for i, word := range list {
			if got := wordsOf(word); !slices.Equal(got, []string{word}) {
				t.Errorf("%q is read as %q", word, got)
			}
			if slices.Contains(list[:i], word) {
				t.Errorf("%q is there twice in %q", word, line)
			}
		}
	}
	if len(dictionary.optional) < 20 || len(dictionary.synonyms) < 50 {
		t.Errorf("%d optional words, %d words with synonyms", len(dictionary.optional), len(dictionary.synonyms))
	}
}
