// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// profilesPage lists the profiles.
type profilesPage struct {
	frame

	Profiles []v1alpha1.BridgeProfile
	// Closed is whether the ingress may not read them, and Command what lists them then.
	Closed  bool
	Command string
}

// profiles is the page of the profiles.
func (k *catalogPages) profiles(v *visit) error {
	page := &profilesPage{frame: frame{Title: "Profiles", Path: pathProfiles}, Command: "kubectl get bridgeprofiles --namespace " + k.Namespace}
	found, err := k.Profiles(v.Request().Context())
	switch {
	case errors.Is(err, ErrMayNotRead):
		page.Closed = true
	case err != nil:
		page.Trouble = k.troubleOf(v, "The profiles", err)
	}
	slices.SortFunc(found, func(a, b v1alpha1.BridgeProfile) int {
		if a.Spec.Priority != b.Spec.Priority {
			return int(b.Spec.Priority) - int(a.Spec.Priority)
		}
		return strings.Compare(a.Name, b.Name)
	})
	page.Profiles = found
	if err := v.Audit(httpapi.Act{Name: "profiles.list"}); err != nil {
		return err
	}
	return k.show(v, "profiles", http.StatusOK, page)
}

// profilePage is one profile.
type profilePage struct {
	frame

	Profile v1alpha1.BridgeProfile
	// Spec is what it says, as YAML.
	Spec string
	// People is the list of those whom it selects, and the commands edit it, and show
	// before that what would change.
	People, Diff, Kubectl string
}

// profile is the page of one profile.
func (k *catalogPages) profile(v *visit) error {
	found, err := k.Profiles(v.Request().Context())
	switch {
	case errors.Is(err, ErrMayNotRead):
		return console.ErrNotFound
	case err != nil:
		return fmt.Errorf("%w: %w", errProfiles, err)
	}
	at := slices.IndexFunc(found, func(p v1alpha1.BridgeProfile) bool { return p.Name == v.Param("profile") })
	if at < 0 {
		return console.ErrNotFound
	}
	p := found[at]
	if err := v.Audit(httpapi.Act{Name: "profiles.get", Target: p.Name}); err != nil {
		return err
	}
	spec, err := specOf(p)
	if err != nil {
		return err
	}
	return k.show(v, "profile", http.StatusOK, &profilePage{
		frame: frame{Title: p.Name, Path: pathProfiles}, Profile: p, Spec: spec,
		People:  pathPeople + "?profile=" + p.Name,
		Diff:    diffCommand("FILE", k.Namespace),
		Kubectl: "kubectl get bridgeprofile --namespace " + k.Namespace + " " + p.Name + " -o yaml",
	})
}

// errProfiles is that the profiles cannot be read now.
var errProfiles = httpapi.New(http.StatusServiceUnavailable, "cluster_unavailable", "The API server does not answer. Running bridges go on. Try again in a minute.")

// specOf returns the spec of a profile as YAML.
func specOf(p v1alpha1.BridgeProfile) (string, error) {
	text, err := json.Marshal(p.Spec)
	if err != nil {
		return "", fmt.Errorf("write a profile: %w", err)
	}
	spec, err := yaml.JSONToYAML(text)
	if err != nil {
		return "", fmt.Errorf("write a profile: %w", err)
	}
	return string(spec), nil
}

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
	// More is how many recipes are not shown.
	More int
	Now  time.Time
}

// recipeRow is a recipe in a list.
type recipeRow struct {
	Name, Owner, Version, Description string
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
}

// publisherRow is a publisher in a list.
type publisherRow struct {
	catalog.Publisher

	// Valid is how many keys work, and Used when one was last used.
	Valid int
	Used  *time.Time
}

// maxRecipes is how many recipes without trouble a page has. A search finds the others.
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
		list := &page.Others
		if r.Look.Class != "ok" {
			list = &page.Troubled
		}
		if len(*list) == maxRecipes {
			page.More++
			continue
		}
		if e.Accepted {
			r.Program = k.Catalog.Program(e.Recipe)
		}
		*list = append(*list, r)
	}
	for _, p := range k.Catalog.Publishers() {
		page.Publishers = append(page.Publishers, publisherOf(p, v.Now()))
	}
	if err := v.Audit(httpapi.Act{Name: "catalog.list"}); err != nil {
		return err
	}
	return k.show(v, "catalog", http.StatusOK, page)
}

func matches(e catalog.Entry, query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || strings.Contains(e.Name, query) || strings.Contains(strings.ToLower(e.Owner), query) || strings.Contains(strings.ToLower(e.Recipe.Description), query)
}

// rowOf returns a recipe as the list has it: what is wrong with it first.
func rowOf(e catalog.Entry) recipeRow {
	r := recipeRow{Name: e.Name, Owner: e.Owner, Description: e.Recipe.Description, Updated: e.Updated, Look: state{"ok", "works", "Accepted"}}
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
