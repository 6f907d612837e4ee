// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Sort is the order of a list.
type Sort string

// The orders. Each but by name ends in the name, so that it is total.
const (
	// SortDefault is by relevance where there is a text, else by popularity.
	SortDefault   Sort = ""
	SortRelevance Sort = "relevance"
	SortPopular   Sort = "popular"
	SortUpdated   Sort = "updated"
	SortName      Sort = "name"
	SortQuality   Sort = "quality"
)

// Sorts are the orders that a client may ask for.
var Sorts = []Sort{SortPopular, SortUpdated, SortName, SortQuality, SortRelevance}

const (
	// DefaultLimit is the length of a page that asks for none: mcp-bridge's.
	DefaultLimit = 20
	// MaxLimit bounds one answer to some hundred KiB.
	MaxLimit = 100
	// maxText bounds a search, in bytes: nobody types more.
	maxText = 256
)

// Query is a client's search. Empty members do not restrict it.
type Query struct {
	// Text is searched for: each word in it, another form of it or a synonym must be
	// in the recipe; the last one may be incomplete. Words that say little need not
	// be there.
	Text      string
	Category  string
	Tag       string
	Transport string
	// Owner is a publisher's id.
	Owner    string
	Verified *bool
	// Deprecated keeps only recipes that are, or are not.
	Deprecated *bool
	// HostedSafe keeps only recipes that a hosted bridge may run.
	HostedSafe bool
	// Here keeps only recipes that bridges of this installation can run, or that
	// they cannot run.
	Here *bool
	Sort Sort
	// Limit is how many to return at most; 0 is DefaultLimit.
	Limit int
	// Cursor is a page's Next.
	Cursor string
}

// QueryError says that a query is invalid.
type QueryError struct {
	// Field is the parameter's name.
	Field   string
	Message string
}

// Error implements error.
func (e *QueryError) Error() string { return e.Field + ": " + e.Message }

// normalize checks a query and fills in what it leaves out.
func (q *Query) normalize() (cursor, error) {
	if len(q.Text) > maxText {
		return cursor{}, &QueryError{"q", fmt.Sprintf("must have at most %d bytes", maxText)}
	}
	if q.Sort = q.sort(); !slices.Contains(Sorts, q.Sort) {
		return cursor{}, &QueryError{"sort", fmt.Sprintf("%.40q is not known: use one of %s", q.Sort, strings.Join(names(Sorts), ", "))}
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	if q.Limit < 0 || q.Limit > MaxLimit {
		return cursor{}, &QueryError{"limit", fmt.Sprintf("must be 1 to %d", MaxLimit)}
	}
	if q.Cursor == "" {
		return cursor{}, nil
	}
	c, ok := parseCursor(q.Cursor)
	if !ok || c.sort != q.Sort {
		return cursor{}, &QueryError{"cursor", "must be the one that the page before gave, with the same query"}
	}
	return c, nil
}

// sort returns the order that applies.
func (q *Query) sort() Sort {
	switch {
	case q.Sort == SortDefault && q.Text != "":
		return SortRelevance
	case q.Sort == SortDefault, q.Sort == SortRelevance && q.Text == "":
		return SortPopular
	}
	return q.Sort
}

func names(sorts []Sort) []string {
	out := make([]string, len(sorts))
	for i, s := range sorts {
		out[i] = string(s)
	}
	return out
}

// cursor is the place of the last recipe of a page. Its meaning does not depend
// on other recipes, so none is skipped or repeated when they change.
type cursor struct {
	sort Sort
	key  int64
	name string
}

// cursorVersion begins a cursor, so that another form can be told apart.
const cursorVersion = "1"

func (c cursor) String() string {
	text := strings.Join([]string{cursorVersion, string(c.sort), strconv.FormatInt(c.key, 36), c.name}, "|")
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// CursorAfter returns the cursor after this recipe in a list by name, for
// callers that leave out recipes themselves.
func CursorAfter(name string) string { return cursor{sort: SortName, name: name}.String() }

// parseCursor reads a cursor, in exactly the form that String writes.
func parseCursor(s string) (cursor, bool) {
	const longest = 160 // a sort, a number and a name of 64 characters, in base64
	if len(s) > longest {
		return cursor{}, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return cursor{}, false
	}
	parts := strings.Split(string(b), "|")
	if len(parts) != 4 || parts[0] != cursorVersion || parts[3] == "" {
		return cursor{}, false
	}
	key, err := strconv.ParseInt(parts[2], 36, 64)
	if err != nil {
		return cursor{}, false
	}
	c := cursor{sort: Sort(parts[1]), key: key, name: parts[3]}
	return c, slices.Contains(Sorts, c.sort) && c.String() == s
}

// after reports whether a recipe comes after the cursor's: keys fall, and names
// rise among equal keys.
func (c cursor) after(key int64, name string) bool {
	if c.name == "" || key < c.key {
		return true
	}
	return key == c.key && name > c.name
}
