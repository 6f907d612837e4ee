// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// catalogSize is how many recipes the catalog should have room for.
const catalogSize = 10_000

// manyEntries returns as many recipes, of some 2 KiB each, with words of which
// few are frequent and many rare, as in a language.
func manyEntries(n int) []Entry {
	random := rand.New(rand.NewPCG(1, 2)) // The same texts in each run.
	zipf := rand.NewZipf(random, 1.1, 3, 20_000)
	words := func(n int) string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf("w%dord", zipf.Uint64())
		}
		return strings.Join(out, " ")
	}
	entries := make([]Entry, n)
	for i := range entries {
		r := valid(fmt.Sprintf("server-%05d", i))
		r.Description = words(40)
		r.Metadata.Tags = strings.Fields(words(6))
		r.Metadata.Category = []string{"data", "search", "development", "finance"}[i%4]
		for range 8 {
			r.Metadata.ToolExamples = append(r.Metadata.ToolExamples, recipe.ToolExample{Name: words(1), Description: words(12)})
		}
		entries[i] = accepted(r, i)
	}
	return entries
}

func BenchmarkNewSnapshot(b *testing.B) {
	entries := manyEntries(catalogSize)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var s *Snapshot
	for b.Loop() {
		s = NewSnapshot(entries, nil)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/snapshot")
	b.ReportMetric(float64(len(s.items["server-00000"].JSON)), "B/view")
	b.ReportMetric(float64(len(s.texts.index.words)), "words")
}

func BenchmarkOneRecipeChanges(b *testing.B) {
	entries := manyEntries(catalogSize)
	s := NewSnapshot(entries, nil)
	for i := 0; b.Loop(); i++ {
		s = s.With(entries[i%catalogSize:i%catalogSize+1], nil)
	}
}

func BenchmarkList(b *testing.B) {
	s := NewSnapshot(manyEntries(catalogSize), nil)
	for name, q := range map[string]Query{
		"all":         {},
		"category":    {Category: "finance", Sort: SortUpdated},
		"rare word":   {Text: "w1500ord"},
		"common word": {Text: "w1ord"},
		"three words": {Text: "w1ord w2ord w3"},
		"begun word":  {Text: "w"},
	} {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			var p Page
			for b.Loop() {
				var err error
				if p, err = s.List(q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(p.Total), "found")
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	r := manyEntries(1)[0].Recipe
	for b.Loop() {
		if p := Check(r, Checks{Name: r.ID}); len(p) > 0 {
			b.Fatal(p)
		}
	}
}

func BenchmarkEntryOf(b *testing.B) {
	o := object(manyEntries(1)[0].Recipe)
	judge(o, 1)
	for b.Loop() {
		if _, err := EntryOf(o); err != nil {
			b.Fatal(err)
		}
	}
}
