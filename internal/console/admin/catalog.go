// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// catalogPage lists recipes and publishers.
type catalogPage struct {
	frame

	Query string
	// Troubled are the recipes that an administrator should look at, and Others the rest.
	Troubled, Others []recipeRow
	Publishers       []publisherRow
	// Known is whether the catalog was read, and Total how many recipes it has.
	Known bool
	Total int
	// Page counts from 1. Before and After are the paths of the pages beside it, empty for none.
	Page, Pages   int
	Before, After string
	Now           time.Time
}

// recipeRow is a recipe in a list.
type recipeRow struct {
	Name, Owner, Version, Description, Icon string
	// Quality is what administrators said of it, nil for nothing, and Outdated whether that
	// was about another version.
	Quality  *catalog.Overlay
	Outdated bool
	// Look is its state, and Why the reason.
	Look    state
	Why     string
	Updated time.Time
	// Program is the package that bridges start for it, nil for none.
	Program *catalog.Program

	entry catalog.Entry
}

// publisherRow is a publisher in a list.
type publisherRow struct {
	catalog.Publisher

	// Valid is how many keys work, and Used when one was last used.
	Valid int
	Used  *time.Time
}

// maxRecipes is how many recipes a page has of those without trouble. The first page has all that
// have some.
const maxRecipes = 50

// recipes is the page of the catalog.
func (k *catalogPages) recipes(v *visit) error {
	page := &catalogPage{frame: frame{Title: "Catalog", Path: pathCatalog}, Query: v.query("search"), Now: v.Now()}
	entries, known := k.Catalog.Entries()
	page.Known, page.Total = known, len(entries)
	for _, e := range entries {
		if e.Deleted != nil || !matches(e, page.Query) {
			continue
		}
		r := rowOf(e)
		if r.Look.Class != "ok" {
			page.Troubled = append(page.Troubled, r)
		} else {
			page.Others = append(page.Others, r)
		}
	}
	page.turnTo(v.query("page"))
	for _, shown := range [][]recipeRow{page.Troubled, page.Others} {
		for i := range shown {
			if r := &shown[i]; r.entry.Accepted {
				r.Program = k.Catalog.Program(r.entry.Recipe)
			}
		}
	}
	for _, p := range k.Catalog.Publishers() {
		page.Publishers = append(page.Publishers, publisherOf(p, v.Now()))
	}
	if err := v.Audit(httpapi.Act{Name: "catalog.list"}); err != nil {
		return err
	}
	return k.show(v, "catalog", http.StatusOK, page)
}

// turnTo leaves the recipes of one page, the first one if there is no such page.
func (p *catalogPage) turnTo(asked string) {
	p.Pages = max(1, (len(p.Others)+maxRecipes-1)/maxRecipes)
	n, err := strconv.Atoi(asked)
	if err != nil || n < 1 || n > p.Pages {
		n = 1
	}
	path := func(n int) string {
		query := url.Values{"page": {strconv.Itoa(n)}}
		if p.Query != "" {
			query.Set("search", p.Query)
		}
		return pathCatalog + "?" + query.Encode()
	}
	if p.Page = n; n > 1 {
		p.Troubled, p.Before = nil, path(n-1)
	}
	if n < p.Pages {
		p.After = path(n + 1)
	}
	p.Others = p.Others[min(len(p.Others), (n-1)*maxRecipes):min(len(p.Others), n*maxRecipes)]
}

func matches(e catalog.Entry, query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || strings.Contains(e.Name, query) || strings.Contains(strings.ToLower(e.Owner), query) || strings.Contains(strings.ToLower(e.Recipe.Description), query)
}

// rowOf returns a recipe as the list has it: what is wrong with it first.
func rowOf(e catalog.Entry) recipeRow {
	r := recipeRow{Name: e.Name, Icon: e.Recipe.Metadata.Icon, Owner: e.Owner, Description: e.Recipe.Description, Updated: e.Updated, Look: state{"ok", "works", "Accepted"}, entry: e}
	if e.Quality != nil {
		view := catalog.Merge(e)
		r.Quality, r.Outdated = &view.Overlay, view.Listing.AuditOutdated
	}
	if len(e.Versions) > 0 {
		r.Version = e.Versions[0].Version
	}
	switch {
	case e.Refused != "":
		r.Look, r.Why = state{"bad", "broken", "Refused"}, e.Refused
		if e.Accepted {
			r.Look.Word, r.Why = "New version refused", e.Refused+" The version before is served."
		}
	case !e.Accepted, e.Pending != nil:
		r.Look, r.Why = state{"start", "starting", "Waits for its check"}, ""
	case len(e.Versions) > 0 && e.Versions[0].Withdrawn:
		r.Look, r.Why = state{"bad", "broken", "Signature withdrawn"}, "The key that signed it no longer belongs to its publisher."
	case e.Deprecated != nil:
		r.Look, r.Why = state{"warn", "needs", "Deprecated"}, e.Deprecated.Reason
	case e.Here != nil && !e.Here.Runs:
		r.Look, r.Why = state{"warn", "needs", "Cannot run here"}, e.Here.Why
	}
	return r
}

func publisherOf(p catalog.Publisher, now time.Time) publisherRow {
	row := publisherRow{Publisher: p}
	for _, key := range p.Keys {
		if key.RevokedAt == nil && (key.ExpiresAt == nil || now.Before(*key.ExpiresAt)) {
			row.Valid++
		}
		if key.LastUsedAt != nil && (row.Used == nil || row.Used.Before(*key.LastUsedAt)) {
			row.Used = key.LastUsedAt
		}
	}
	return row
}
