// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"slices"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// Item is a recipe as it is served. It is built once and never changed.
type Item struct {
	Entry catalog.Entry
	View  catalog.View
	// JSON is View, Summary what lists show of it.
	JSON, Summary []byte
	// Download is the recipe file: as its author wrote it where it is signed.
	Download []byte
	// ETag changes with JSON; it is quoted.
	ETag   string
	facets facets
}

// Summary is what lists show of a recipe.
type Summary struct {
	ID            string               `json:"id"`
	Name          string               `json:"name"`
	Description   string               `json:"description"`
	Version       string               `json:"version"`
	Owner         string               `json:"owner,omitempty"`
	Category      string               `json:"category,omitempty"`
	Tags          []string             `json:"tags,omitempty"`
	Transports    []string             `json:"transports"`
	Origin        string               `json:"origin,omitempty"`
	Maturity      string               `json:"maturity,omitempty"`
	SideEffects   string               `json:"sideEffects,omitempty"`
	Pricing       string               `json:"pricing,omitempty"`
	AuthRequired  bool                 `json:"authRequired"`
	AuthSummary   string               `json:"authSummary,omitempty"`
	Verified      bool                 `json:"verified"`
	Badge         string               `json:"badge,omitempty"`
	Score         *int                 `json:"score,omitempty"`
	Signed        bool                 `json:"signed"`
	HostedSafe    bool                 `json:"hostedSafe"`
	Here          *catalog.Here        `json:"here,omitempty"`
	Checked       string               `json:"checked,omitempty"`
	Deprecated    *catalog.Deprecation `json:"deprecated,omitempty"`
	UpdatedAt     time.Time            `json:"updatedAt"`
	Revision      string               `json:"revision"`
	AuditOutdated bool                 `json:"auditOutdated,omitempty"`
}

// Summarize returns what lists show of a recipe.
func Summarize(v catalog.View) Summary {
	s := Summary{
		ID: v.Listing.Name, Name: v.Author.Name, Description: v.Author.Description,
		Version: v.Listing.Version, Owner: v.Listing.Owner,
		Category: v.Metadata.Category, Tags: v.Metadata.Tags,
		Origin: v.Metadata.Origin, Maturity: v.Metadata.Maturity, SideEffects: v.Metadata.SideEffects,
		Pricing: v.Metadata.Pricing, AuthSummary: v.Metadata.AuthSummary,
		AuthRequired: v.Auth != nil && v.Auth.Required,
		Verified:     v.Verified != nil && *v.Verified, Badge: v.Badge, Score: v.Score,
		Signed: v.Signature != nil, HostedSafe: v.Listing.HostedSafe, Here: v.Listing.Here, Checked: v.Metadata.Checked,
		Deprecated: v.Listing.Deprecated,
		UpdatedAt:  v.Listing.UpdatedAt, Revision: v.Listing.Revision, AuditOutdated: v.Listing.AuditOutdated,
		Transports: make([]string, len(v.Transports)),
	}
	for i, t := range v.Transports {
		s.Transports[i] = string(t.Type)
	}
	return s
}

// NewItem returns an accepted entry as it is served.
func NewItem(e catalog.Entry) *Item {
	i := &Item{Entry: e, View: catalog.Merge(e), ETag: `"` + e.Revision + `"`}
	i.JSON = encode(i.View)
	i.Summary = encode(Summarize(i.View))
	i.Download = []byte(e.SourceText())
	if at := bytes.LastIndex(i.JSON, i.Download); at >= 0 {
		// Where nothing is signed, the view has the recipe apart, in these bytes.
		i.Download = slices.Clip(i.JSON[at : at+len(i.Download)])
	}
	i.facets = facetsOf(i)
	return i
}

func encode(v any) []byte {
	b, err := jsondoc.Marshal(v)
	if err != nil {
		return []byte("{}") // Entries hold nothing that JSON cannot express.
	}
	return b
}

// key returns the number that the item is sorted by, the highest first.
func (i *Item) key(s Sort, popularity map[string]int64) int64 {
	switch s {
	case SortPopular:
		return popularity[i.Entry.Name]
	case SortUpdated:
		return i.Entry.Updated.Unix()
	case SortQuality:
		return i.quality()
	default:
		return 0
	}
}

// quality orders verified recipes before others, and each by their score.
func (i *Item) quality() int64 {
	var q int64
	if s := i.View.Score; s != nil {
		q = int64(*s) + 1
	}
	if v := i.View.Verified; v != nil && *v {
		q += catalog.MaxScore + 2
	}
	return q
}
