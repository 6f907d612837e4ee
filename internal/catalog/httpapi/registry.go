// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package httpapi

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	official "github.com/hostedbridge/hostedbridge/internal/catalog/registry"
	"github.com/hostedbridge/hostedbridge/internal/surface"
)

// DefaultNamespace is what stands before the names of recipes where the official
// registry's API names servers, which it does by reversed domain.
const DefaultNamespace = "dev.hostedbridge.catalog"

// latest is the version of a server that is served.
const latest = "latest"

// namespaces are of the form that the official registry allows.
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
	"search": func(q *search, v string) error { q.Text = strings.ToLower(v); return nil },
	"cursor": func(q *search, v string) error { q.Cursor = v; return nil },
	"limit":  setLimit,
	"version": func(q *search, v string) error {
		q.version = v
		return nil
	},
	"updated_since": func(q *search, v string) error {
		at, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return errors.New("must be a time such as 2026-03-01T12:00:00Z")
		}
		q.since = at
		return nil
	},
	// What was deleted or withdrawn is not served, so that there is nothing to
	// include.
	"include_deleted": func(_ *search, v string) error {
		var included *bool
		return setChoice(&included, v)
	},
}

// versionParameters are those of the versions of one server.
var versionParameters = parameters{"include_deleted": registryParameters["include_deleted"]}

// registryList answers with servers by name. What they are searched for is a part
// of their name or title, as in the official registry.
func (a *API) registryList(c surface.Call) error {
	snapshot, err := a.snapshot()
	if err != nil {
		return err
	}
	q, err := registryParameters.read(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	if q.Limit == 0 {
		q.Limit = catalog.DefaultLimit
	}
	found, next, err := a.servers(snapshot, q)
	if err != nil {
		return queryProblem(err)
	}
	list := official.List{Servers: []official.Response{}, Metadata: official.Metadata{NextCursor: next, Count: len(found)}}
	for _, item := range found {
		list.Servers = append(list.Servers, official.Of(item, indexOf(item, q.version), a.namespace))
	}
	return a.listOf(c, list, tagOf("servers "+q.version, catalog.Page{Items: found, Next: next}))
}

func (a *API) listOf(c surface.Call, list official.List, etag string) error {
	b, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return page{b, etag}.write(c)
}

// servers returns the recipes of a page, and the cursor of the next one.
func (a *API) servers(snapshot *catalog.Snapshot, q search) (found []*catalog.Item, next string, err error) {
	all := catalog.Query{Sort: catalog.SortName, Limit: catalog.MaxLimit, Cursor: q.Cursor}
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
				return found, catalog.CursorAfter(found[q.Limit-1].Entry.Name), nil
			}
			found = append(found, item)
		}
		if all.Cursor = part.Next; all.Cursor == "" {
			return found, "", nil
		}
	}
}

func (a *API) matches(item *catalog.Item, q search) bool {
	named := q.Text == "" || inName(strings.ToLower(a.namespace), item.Entry.Name, q.Text) ||
		strings.Contains(strings.ToLower(item.View.Author.Name), q.Text)
	return named && indexOf(item, q.version) >= 0 && !item.Entry.Changed().Before(q.since)
}

// inName reports whether a text is a part of namespace/name, without putting the
// two together for each of many recipes.
func inName(namespace, name, text string) bool {
	if strings.Contains(name, text) || strings.Contains(namespace, text) {
		return true
	}
	before, after, ok := strings.Cut(text, "/")
	return ok && strings.HasSuffix(namespace, before) && strings.HasPrefix(name, after)
}

// indexOf returns which of a recipe's versions is meant, empty for the latest, or
// -1 for none and for one that is withdrawn.
func indexOf(item *catalog.Item, version string) int {
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

// server returns the recipe of the path. Target has let only the namespace and
// the name pass, with the slash encoded.
func (a *API) server(c surface.Call) (*catalog.Item, error) {
	snapshot, err := a.snapshot()
	if err != nil {
		return nil, err
	}
	if _, err := versionParameters.read(c.Request().URL.RawQuery); err != nil {
		return nil, err
	}
	const slash = len("%2F")
	name := c.Param("name")
	if len(name) < len(a.namespace)+slash {
		return nil, errNoRecipe
	}
	item, ok := snapshot.Get(name[len(a.namespace)+slash:])
	if !ok {
		return nil, errNoRecipe
	}
	return item, nil
}

// registryVersions answers with the versions of a server, the newest first.
func (a *API) registryVersions(c surface.Call) error {
	item, err := a.server(c)
	if err != nil {
		return err
	}
	list := official.List{}
	for i, v := range item.Entry.Versions {
		if !v.Withdrawn {
			list.Servers = append(list.Servers, official.Of(item, i, a.namespace))
		}
	}
	list.Metadata.Count = len(list.Servers)
	return a.listOf(c, list, item.ETag)
}

// registryVersion answers with one version of a server.
func (a *API) registryVersion(c surface.Call) error {
	item, err := a.server(c)
	if err != nil {
		return err
	}
	i := indexOf(item, versionIn(c))
	if i < 0 {
		return errNoVersion
	}
	b, err := json.Marshal(official.Of(item, i, a.namespace))
	if err != nil {
		return err
	}
	// The latest of a recipe has the ETag of the recipe, and each version its own.
	etag := item.ETag
	if i > 0 {
		etag = `"` + item.Entry.Revision + "-" + strconv.Itoa(i) + `"`
	}
	return page{b, etag}.write(c)
}
