// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
)

// catalogSize is how many recipes the catalog should have room for.
const catalogSize = 10_000

func BenchmarkNewSnapshot(b *testing.B) {
	entries := catalogtest.Entries(catalogSize)
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
	entries := catalogtest.Entries(catalogSize)
	s := NewSnapshot(entries, nil)
	for i := 0; b.Loop(); i++ {
		s = s.With(entries[i%catalogSize:i%catalogSize+1], nil)
	}
}

func BenchmarkList(b *testing.B) {
	s := NewSnapshot(catalogtest.Entries(catalogSize), nil)
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
