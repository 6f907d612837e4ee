// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	official "github.com/hostedbridge/hostedbridge/internal/catalog/registry"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// DefaultNamespace is the default prefix of the names of recipes in the
// official registry's API, which names servers by reversed domain.
const DefaultNamespace = "dev.hostedbridge.catalog"

// latest is the version of a server that is served.
const latest = "latest"

// namespaces is the form that the official registry allows.
var namespaces = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

func checkNamespace(namespace string) error {
	const longest = 120 // With a recipe's name it has at most 200 characters.
	if len(namespace) > longest || !namespaces.MatchString(namespace) {
		return errors.New("catalog API: the namespace of the registry must be a reversed domain such as com.example.catalog")
	}
	return nil
}

// registryParameters are those of the official registry's list.
var registryParameters = parameters{
	"search": func(q *searchQuery, v string) error { q.Text = strings.ToLower(v); return nil },
	"cursor": func(q *searchQuery, v string) error { q.Cursor = v; return nil },
	"limit":  setLimit,
	"version": func(q *searchQuery, v string) error {
		q.version = v
		return nil
	},
	"updated_since": func(q *searchQuery, v string) error {
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return errors.New("must be a time such as 2026-03-01T12:00:00Z")
		}
		q.since = at
		return nil
	},
	// Deleted and withdrawn recipes are not served, so there is nothing to
	// include.
	"include_deleted": func(_ *searchQuery, v string) error {
		var included *bool
		return setChoice(&included, v)
	},
}

// versionParameters are those of the versions of one server.
var versionParameters = parameters{"include_deleted": registryParameters["include_deleted"]}

// registryHandler answers in the form of the official MCP registry.
type registryHandler struct {
	*core

	encodings encodings
}

// registryList answers with servers by name. A search matches a part of the
// name or title, as in the official registry.
func (a *registryHandler) registryList(c httpapi.Call) error {
	snapshot, err := a.snapshot()
	if err != nil {
		return err
	}
	q, err := registryParameters.read(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	if q.Limit == 0 {
		q.Limit = search.DefaultLimit
	}
	own := a.own.matches(q)
	if own {
		q.Limit--
	}
	found, next, err := a.servers(snapshot, q)
	if err != nil {
		return queryProblem(err)
	}
	var entries [][]byte
	kind := "servers " + q.version
	if own {
		entries = append(entries, a.own.entry)
		kind += a.own.tag()
	}
	for _, item := range found {
		entry, err := a.encodings.entry(snapshot, item, indexOf(item, q.version))
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	return listOf(c, entries, next, tagOf(kind, search.Page{Items: found, Next: next}))
}

// listOf answers with a list of entries.
func listOf(c httpapi.Call, entries [][]byte, next, etag string) error {
	metadata, err := jsondoc.Marshal(official.Metadata{NextCursor: next, Count: len(entries)})
	if err != nil {
		return err
	}
	end := append(append([]byte(`],"metadata":`), metadata...), '}')
	return page{joined(`{"servers":[`, entries, end), etag}.write(c)
}

// beforeAll sorts before all names of recipes.
const beforeAll = "-"

// servers returns the recipes of a page, and the cursor of the next one.
func (a *registryHandler) servers(snapshot *search.Snapshot, q searchQuery) (found []*search.Item, next string, err error) {
	all := search.Query{Sort: search.SortName, Limit: search.MaxLimit, Cursor: q.Cursor}
	for {
		part, err := snapshot.List(all)
		if err != nil {
			return nil, "", err
		}
		for _, item := range part.Items {
			if !a.matches(item, q) {
				continue
			}
			if len(found) == q.Limit {
				last := beforeAll
				if q.Limit > 0 {
					last = found[q.Limit-1].Entry.Name
				}
				return found, search.CursorAfter(last), nil
			}
			found = append(found, item)
		}
		if all.Cursor = part.Next; all.Cursor == "" {
			return found, "", nil
		}
	}
}

func (a *registryHandler) matches(item *search.Item, q searchQuery) bool {
	if a.own != nil && item.Entry.Name == installationName {
		return false
	}
	named := q.Text == "" || inName(strings.ToLower(a.namespace), item.Entry.Name, q.Text) ||
		strings.Contains(strings.ToLower(item.View.Author.Name), q.Text)
	return named && indexOf(item, q.version) >= 0 && !item.Entry.Changed().Before(q.since)
}

// inName reports whether a text is a part of namespace/name, without joining
// the two for each of many recipes.
func inName(namespace, name, text string) bool {
	if strings.Contains(name, text) || strings.Contains(namespace, text) {
		return true
	}
	before, after, ok := strings.Cut(text, "/")
	return ok && strings.HasSuffix(namespace, before) && strings.HasPrefix(name, after)
}

// indexOf returns the index of a recipe's version; empty means the latest. It
// returns -1 for a missing and for a withdrawn one.
func indexOf(item *search.Item, version string) int {
	for i, v := range item.Entry.Versions {
		if v.Withdrawn {
			continue
		}
		if version == "" || version == latest || v.Version == version {
			return i
		}
	}
	return -1
}

// isOwn reports whether the server of the path is the installation itself.
func (a *registryHandler) isOwn(c httpapi.Call) bool {
	return a.own != nil && strings.EqualFold(c.Param("name"), a.namespace+"%2F"+installationName)
}

// server returns the recipe of the path. Target has accepted only the namespace
// and the name, with the slash encoded.
func (a *registryHandler) server(c httpapi.Call) (*search.Snapshot, *search.Item, error) {
	snapshot, err := a.snapshot()
	if err != nil {
		return nil, nil, err
	}
	if _, err := versionParameters.read(c.Request().URL.RawQuery); err != nil {
		return nil, nil, err
	}
	const slash = len("%2F")
	name := c.Param("name")
	if len(name) < len(a.namespace)+slash {
		return nil, nil, errNoRecipe
	}
	item, ok := snapshot.Get(name[len(a.namespace)+slash:])
	if !ok {
		return nil, nil, errNoRecipe
	}
	return snapshot, item, nil
}

// registryVersions answers with the versions of a server, the newest first.
func (a *registryHandler) registryVersions(c httpapi.Call) error {
	if a.isOwn(c) {
		return listOf(c, [][]byte{a.own.entry}, "", a.own.tag())
	}
	snapshot, item, err := a.server(c)
	if err != nil {
		return err
	}
	var entries [][]byte
	for i, v := range item.Entry.Versions {
		if v.Withdrawn {
			continue
		}
		entry, err := a.encodings.entry(snapshot, item, i)
		if err != nil {
			return err
		}
		entries = append(entries, entry)
	}
	return listOf(c, entries, "", item.ETag)
}

// registryVersion answers with one version of a server.
func (a *registryHandler) registryVersion(c httpapi.Call) error {
	if a.isOwn(c) {
		if !a.own.has(versionIn(c)) {
			return errNoVersion
		}
		return pageOf(a.own.entry, a.own.tag()).write(c)
	}
	snapshot, item, err := a.server(c)
	if err != nil {
		return err
	}
	i := indexOf(item, versionIn(c))
	if i < 0 {
		return errNoVersion
	}
	b, err := a.encodings.entry(snapshot, item, i)
	if err != nil {
		return err
	}
	// The latest of a recipe has the ETag of the recipe, and each version its own.
	etag := item.ETag
	if i > 0 {
		etag = `"` + item.Entry.Revision + "-" + strconv.Itoa(i) + `"`
	}
	return pageOf(b, etag).write(c)
}
