// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/catalogtest"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// namesOf returns the names of a page.
func namesOf(items []*Item) []string {
	out := []string{}
	for _, i := range items {
		out = append(out, i.Entry.Name)
	}
	return out
}

// library returns some recipes that differ in all that a query looks at.
func library() []catalog.Entry {
	var entries []catalog.Entry
	for i, id := range []string{"alpha", "beta", "gamma", "delta"} {
		r := catalogtest.Recipe(id)
		r.Metadata = recipe.Metadata{Category: "data", Tags: []string{"Common", id + "-tag"}}
		e := catalogtest.Accepted(r, i)
		switch id {
		case "beta":
			e.Recipe.Transports = []recipe.Transport{{Type: recipe.StreamableHTTP, URL: "https://example.com/mcp"}}
			e.Recipe.Install = nil
			e.Quality = &catalog.Overlay{Verified: new(true), VerifiedAt: new(e.Updated), Score: new(10)}
		case "gamma":
			e.Recipe.LocalOnly.All = true
			e.Recipe.Metadata.Category = "search"
			e.Quality = &catalog.Overlay{Score: new(90)}
		case "delta":
			e.Owner = "acme"
			e.Deprecated = &catalog.Deprecation{Since: catalogtest.Start}
		}
		entries = append(entries, e)
	}
	hidden := catalogtest.Accepted(catalogtest.Recipe("hidden"), 9)
	hidden.Accepted = false
	return append(entries, hidden)
}

func TestListFiltersAndSorts(t *testing.T) {
	s := NewSnapshot(library(), map[string]int64{"gamma": 7, "beta": 3})
	tests := map[string]struct {
		q    Query
		want []string
	}{
		"nothing asked for is by popularity":    {Query{}, []string{"gamma", "beta", "alpha", "delta"}},
		"by name":                               {Query{Sort: SortName}, []string{"alpha", "beta", "delta", "gamma"}},
		"by time, the newest first":             {Query{Sort: SortUpdated}, []string{"delta", "gamma", "beta", "alpha"}},
		"by quality, verified ones first":       {Query{Sort: SortQuality}, []string{"beta", "gamma", "alpha", "delta"}},
		"relevance without a text is popular":   {Query{Sort: SortRelevance}, []string{"gamma", "beta", "alpha", "delta"}},
		"a category in any case":                {Query{Category: "SEARCH"}, []string{"gamma"}},
		"a tag in any case":                     {Query{Tag: "Alpha-Tag"}, []string{"alpha"}},
		"a transport":                           {Query{Transport: "streamable-http"}, []string{"beta"}},
		"verified":                              {Query{Verified: new(true)}, []string{"beta"}},
		"not verified":                          {Query{Verified: new(false), Sort: SortName}, []string{"alpha", "delta", "gamma"}},
		"an owner":                              {Query{Owner: "acme"}, []string{"delta"}},
		"deprecated":                            {Query{Deprecated: new(true)}, []string{"delta"}},
		"safe to host":                          {Query{HostedSafe: true, Sort: SortName}, []string{"alpha", "beta", "delta"}},
		"a recipe that is not accepted":         {Query{Text: "hidden"}, []string{}},
		"all words must be there":               {Query{Text: "server alpha"}, []string{"alpha"}},
		"all words must be there, and are not":  {Query{Text: "alpha beta"}, []string{}},
		"the last word may be begun":            {Query{Text: "does some", Sort: SortName}, []string{"alpha", "beta", "delta", "gamma"}},
		"a word before the last must be whole":  {Query{Text: "serv alpha"}, []string{}},
		"deprecated ones come last":             {Query{Text: "common"}, []string{"alpha", "beta", "gamma", "delta"}},
		"a text and a filter":                   {Query{Text: "common", Category: "search"}, []string{"gamma"}},
		"a text and an order":                   {Query{Text: "common", Sort: SortUpdated}, []string{"delta", "gamma", "beta", "alpha"}},
		"nothing but signs":                     {Query{Text: "?!"}, []string{}},
		"the words of a package count a little": {Query{Text: "@example/gamma"}, []string{"gamma"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := must.Value(s.List(tt.q))(t)
			if diff := cmp.Diff(tt.want, namesOf(p.Items)); diff != "" {
				t.Error(diff)
			}
			if p.Total != len(tt.want) || p.Next != "" {
				t.Errorf("total %d, next %q", p.Total, p.Next)
			}
		})
	}
}

func TestSearchRanksNamesBeforeTagsBeforeDescriptions(t *testing.T) {
	described, tagged, named, exactly := catalogtest.Recipe("one"), catalogtest.Recipe("two"), catalogtest.Recipe("postgres-tools"), catalogtest.Recipe("postgres")
	described.Description = "Reads postgres"
	tagged.Metadata.Tags = []string{"postgres"}
	exactly.Name = "Database"
	s := NewSnapshot([]catalog.Entry{catalogtest.Accepted(described, 1), catalogtest.Accepted(tagged, 1), catalogtest.Accepted(named, 1), catalogtest.Accepted(exactly, 1)}, nil)
	for _, text := range []string{"postgres", "Postgres ", "postgr"} {
		p := must.Value(s.List(Query{Text: text}))(t)
		if diff := cmp.Diff([]string{"postgres", "postgres-tools", "two", "one"}, namesOf(p.Items)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestListRefusesWhatItDoesNotUnderstand(t *testing.T) {
	s := NewSnapshot(library(), nil)
	byName := must.Value(s.List(Query{Sort: SortName, Limit: 1}))(t)
	tests := map[string]struct {
		q     Query
		field string
	}{
		"an unknown order":          {Query{Sort: "best"}, "sort"},
		"no page":                   {Query{Limit: -1}, "limit"},
		"a page that is too long":   {Query{Limit: MaxLimit + 1}, "limit"},
		"a text that is too long":   {Query{Text: strings.Repeat("a", maxText+1)}, "q"},
		"a cursor of another order": {Query{Sort: SortUpdated, Cursor: byName.Next}, "cursor"},
		"a cursor that is none":     {Query{Cursor: "x"}, "cursor"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := s.List(tt.q)
			var refused *QueryError
			if !errors.As(err, &refused) || refused.Field != tt.field {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestPagesNeitherSkipNorRepeatWhileOthersChange reads page after page while
// recipes before, after and between come, change and go.
func TestPagesNeitherSkipNorRepeatWhileOthersChange(t *testing.T) {
	queries := map[string]Query{
		"by name":      {Sort: SortName},
		"by time":      {Sort: SortUpdated},
		"by quality":   {Sort: SortQuality},
		"by use":       {Sort: SortPopular},
		"by relevance": {Text: "server"},
		"filtered":     {Sort: SortName, HostedSafe: true},
	}
	for name, q := range queries {
		t.Run(name, func(t *testing.T) {
			entries, want, popularity := []catalog.Entry{}, []string{}, map[string]int64{}
			for i := range 100 {
				e := catalogtest.Accepted(catalogtest.Recipe(fmt.Sprintf("s%03d", i)), i%7)
				e.Quality = &catalog.Overlay{Score: new(i % 5)}
				popularity[e.Name] = int64(i % 3)
				entries, want = append(entries, e), append(want, e.Name)
			}
			s := NewSnapshot(entries, popularity)
			var got []string
			for page := 0; ; page++ {
				q.Limit = 7
				p := must.Value(s.List(q))(t)
				for _, n := range namesOf(p.Items) {
					if !strings.HasPrefix(n, "x") {
						got = append(got, n)
					}
				}
				if p.Next == "" {
					break
				}
				q.Cursor = p.Next
				var come []catalog.Entry
				for i := range 9 {
					e := catalogtest.Accepted(catalogtest.Recipe(fmt.Sprintf("x%d-%d", page%3, i)), page)
					e.Quality = &catalog.Overlay{Score: new(i)}
					come = append(come, e)
				}
				s = s.With(come, []string{fmt.Sprintf("x%d-1", (page+1)%3), "no-such"})
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestASnapshotIsTheSameHoweverItWasMade compares one that grew with one that
// was made at once.
func TestASnapshotIsTheSameHoweverItWasMade(t *testing.T) {
	grown, kept := NewSnapshot(nil, nil), map[string]catalog.Entry{}
	for i := range 400 {
		r := catalogtest.Recipe(fmt.Sprintf("s%02d", (i*i)%97))
		r.Description = fmt.Sprintf("Says word%d and word%d", i%11, i%13)
		e := catalogtest.Accepted(r, i)
		kept[e.Name] = e
		var gone []string
		if i%5 == 4 {
			gone = []string{fmt.Sprintf("s%02d", (i*7)%97)}
			if gone[0] != e.Name {
				delete(kept, gone[0])
			} else {
				gone = nil
			}
		}
		grown = grown.With([]catalog.Entry{e}, gone)
	}
	var entries []catalog.Entry
	for _, e := range kept {
		entries = append(entries, e)
	}
	anew := NewSnapshot(entries, nil)
	for i := range 13 {
		for _, q := range []Query{{Text: fmt.Sprintf("word%d", i), Limit: 100}, {Text: fmt.Sprintf("says wo%d", i), Limit: 100}, {Sort: SortUpdated, Limit: 100}} {
			a, errA := grown.List(q)
			b, errB := anew.List(q)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if diff := cmp.Diff(namesOf(b.Items), namesOf(a.Items)); diff != "" {
				t.Errorf("%+v: %s", q, diff)
			}
		}
	}
	if grown.Len() != len(kept) || len(grown.Entries()) != len(kept) {
		t.Errorf("%d of %d", grown.Len(), len(kept))
	}
}

func TestAnOlderSnapshotStaysAsItWas(t *testing.T) {
	before := NewSnapshot(library(), nil)
	r := catalogtest.Recipe("alpha")
	r.Description = "Something new"
	after := before.With([]catalog.Entry{catalogtest.Accepted(r, 50)}, []string{"beta"}).WithPopularity(map[string]int64{"delta": 1})
	if p, err := before.List(Query{Sort: SortName}); err != nil || len(p.Items) != 4 {
		t.Errorf("before: %v, %v", namesOf(p.Items), err)
	}
	if p, err := before.List(Query{Text: "new"}); err != nil || len(p.Items) != 0 {
		t.Errorf("before: %v, %v", namesOf(p.Items), err)
	}
	p, err := after.List(Query{})
	if diff := cmp.Diff([]string{"delta", "alpha", "gamma"}, namesOf(p.Items)); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if p, err := after.List(Query{Text: "new"}); err != nil || len(p.Items) != 1 {
		t.Errorf("after: %v, %v", namesOf(p.Items), err)
	}
}

func FuzzCursor(f *testing.F) {
	f.Add(cursor{SortName, 0, "alpha"}.String())
	f.Add(cursor{SortUpdated, -5, "a|b"}.String())
	f.Add("MXxuYW1lfDB8YQ")
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := parseCursor(s)
		if ok && c.String() != s {
			t.Errorf("%q reads as %+v, which is %q", s, c, c.String())
		}
		snapshot := NewSnapshot(nil, nil)
		if _, err := snapshot.List(Query{Cursor: s, Sort: SortName}); err == nil && s != "" && c.sort != SortName {
			t.Errorf("%q was taken", s)
		}
	})
}
