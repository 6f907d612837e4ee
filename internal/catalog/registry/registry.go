// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registry writes recipes in the form of the official MCP registry, so
// that its clients can read the catalog as a registry: servers in the form of a
// server.json, and the registry's metadata. The package is pure.
package registry

import (
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

const (
	// schema is the version of the form that this package writes.
	schema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
	// maxText is the form's limit for titles and descriptions, in characters,
	// and maxMessage the limit for the message of a status.
	maxText    = 100
	maxMessage = 500
)

// The states of a server.
const (
	active     = "active"
	deprecated = "deprecated"
)

// List is a page of servers.
type List struct {
	Servers  []Response `json:"servers"`
	Metadata Metadata   `json:"metadata"`
}

// Metadata is which page a List is.
type Metadata struct {
	NextCursor string `json:"nextCursor,omitempty"`
	Count      int    `json:"count"`
}

// Response is a server with the registry's metadata.
type Response struct {
	Server Server `json:"server"`
	Meta   Meta   `json:"_meta"`
}

// Meta is the registry's metadata.
type Meta struct {
	Official Official `json:"io.modelcontextprotocol.registry/official"`
	Catalog  Listing  `json:"dev.hostedbridge/catalog,omitzero"`
}

// Official are the metadata that clients of the official registry read.
type Official struct {
	Status          string    `json:"status"`
	StatusChangedAt time.Time `json:"statusChangedAt"`
	StatusMessage   string    `json:"statusMessage,omitempty"`
	PublishedAt     time.Time `json:"publishedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	IsLatest        bool      `json:"isLatest"`
}

// Listing are the catalog's own metadata. Only the latest version can be
// verified.
type Listing struct {
	Recipe     string `json:"recipe"`
	HostedSafe bool   `json:"hostedSafe"`
	Verified   bool   `json:"verified"`
	Score      *int   `json:"score,omitempty"`
}

// Server is a server.json.
type Server struct {
	Schema      string      `json:"$schema"`
	Name        string      `json:"name"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	WebsiteURL  string      `json:"websiteUrl,omitempty"`
	Repository  *Repository `json:"repository,omitempty"`
	Packages    []Package   `json:"packages,omitempty"`
	Remotes     []Remote    `json:"remotes,omitempty"`
}

// Repository is where the server's source is.
type Repository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

// Of returns version i of a recipe, whose name stands after the namespace.
func Of(item *search.Item, i int, namespace string) Response {
	e, v := item.Entry, item.Entry.Versions[i]
	changed := v.At.UTC()
	if e.StatusAt.After(changed) {
		changed = e.StatusAt.UTC()
	}
	r := Response{
		Server: serverOf(v.Recipe, namespace+"/"+e.Name, v.Version),
		Meta: Meta{
			Official: Official{Status: active, StatusChangedAt: changed, PublishedAt: v.At.UTC(), UpdatedAt: changed, IsLatest: i == 0},
			Catalog:  Listing{Recipe: e.Name, HostedSafe: catalog.HostedSafe(v.Recipe)},
		},
	}
	if d := e.Deprecated; d != nil {
		o := &r.Meta.Official
		o.Status, o.StatusChangedAt, o.StatusMessage = deprecated, d.Since.UTC(), cut(messageOf(d), maxMessage)
	}
	if i == 0 {
		r.Meta.Catalog.Verified, r.Meta.Catalog.Score = item.View.Verified != nil && *item.View.Verified, item.View.Score
	}
	return r
}

func messageOf(d *catalog.Deprecation) string {
	if d.ReplacedBy == "" {
		return d.Reason
	}
	return strings.TrimSpace(d.Reason + " Use " + d.ReplacedBy + " instead.")
}

func serverOf(r recipe.Recipe, name, version string) Server {
	s := Server{
		Schema: schema, Name: name, Title: cut(r.Name, maxText), Description: cut(r.Description, maxText), Version: version,
		WebsiteURL: webURL(r.Metadata.Homepage), Repository: repositoryOf(r.Repository),
	}
	if s.Description == "" {
		s.Description = name // The form has one for each.
	}
	for _, t := range r.Transports {
		if t.Type != recipe.Stdio {
			s.Remotes = append(s.Remotes, remoteOf(r, t))
		} else if p, ok := packageOf(r, t); ok {
			s.Packages = append(s.Packages, p)
		}
	}
	return s
}

// cut shortens a text to that many characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:most-1]), " .,;:") + "…"
}

// webURL returns a URL that browsers open, and an empty text for any other.
func webURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return text
}

// repositoryOf names the host of a repository as the form does: github and
// gitlab by their names.
func repositoryOf(text string) *Repository {
	if text = webURL(text); text == "" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	host := strings.TrimPrefix(u.Hostname(), "www.")
	return &Repository{URL: text, Source: strings.TrimSuffix(host, ".com")}
}
