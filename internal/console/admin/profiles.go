// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/overview"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	"github.com/hostedbridge/hostedbridge/internal/profile/manifest"
)

// profilesPage lists the profiles.
type profilesPage struct {
	frame

	Profiles []profileRow
	// Closed is whether the ingress may not read them, and Command what lists them then.
	Closed  bool
	Command string
}

// profileRow is a profile in a list.
type profileRow struct {
	v1alpha1.BridgeProfile

	// Who is the people whom the profile selects, in words, and Gives the servers that they get.
	Who   string
	Gives []string
}

// list is the page of the profiles.
func (r *profilePages) list(v *visit) error {
	page := &profilesPage{frame: frame{Title: "Profiles", Path: pathProfiles}}
	page.Command = "kubectl get bridgeprofiles --namespace " + shell(r.Namespace)
	found, err := r.Profiles.List(v.Request().Context())
	switch {
	case errors.Is(err, ErrMayNotRead):
		page.Closed = true
	case err != nil:
		page.Trouble = r.troubleOf(v, "The profiles", err)
	}
	slices.SortFunc(found, func(a, b v1alpha1.BridgeProfile) int {
		return cmp.Or(cmp.Compare(b.Spec.Priority, a.Spec.Priority), strings.Compare(a.Name, b.Name))
	})
	for _, p := range found {
		page.Profiles = append(page.Profiles, profileRow{p, whoOf(p.Spec.Who), givesOf(p.Spec.Servers)})
	}
	if err := v.Audit(httpapi.Act{Name: "profiles.list"}); err != nil {
		return err
	}
	return r.show(v, "profiles", http.StatusOK, page)
}

// profilePage is one profile.
type profilePage struct {
	frame

	Profile v1alpha1.BridgeProfile
	Who     string
	Servers []profileServer
	// People are those who have it. The list is not known now if PeopleTrouble is set.
	People        overview.Page
	PeopleTrouble string
	NextURL       string
	// Text is its manifest, for the form that tries a change, unless it is TooLong for that. The
	// commands show and try it outside of the console.
	Text          string
	TooLong       bool
	Diff, Kubectl string
	// Closed is whether the ingress may not read it.
	Closed bool
	Now    time.Time
}

// profileServer is a server that a profile gives.
type profileServer struct {
	Name, Use string
	// From is where it comes from, if that is no recipe.
	From    string
	Recipe  string
	Version string
	// URL is where the recipe is shown, empty for one that the catalog does not have.
	URL string
	// Look and Why are how the recipe is, empty where nothing is wrong with it.
	Look state
	Why  string
	Deny []string
}

// profile is the page of one profile.
func (r *profilePages) profile(v *visit) error {
	name := v.Param("profile")
	page := &profilePage{frame: frame{Title: name, Path: pathProfiles}, Now: v.Now()}
	page.Diff = diffCommand("FILE", r.Namespace)
	page.Kubectl = "kubectl get bridgeprofile --namespace " + shell(r.Namespace) + " " + shell(name) + " -o yaml"
	found, err := r.Profiles.List(v.Request().Context())
	at := slices.IndexFunc(found, func(p v1alpha1.BridgeProfile) bool { return p.Name == name })
	switch {
	case errors.Is(err, ErrMayNotRead):
		page.Closed = true
		return r.show(v, "profile", http.StatusOK, page)
	case err != nil:
		return fmt.Errorf("%w: %w", errProfiles, err)
	case at < 0:
		return console.ErrNotFound
	}
	page.Profile = found[at]
	if err := v.Audit(httpapi.Act{Name: "profiles.get", Target: name}); err != nil {
		return err
	}
	if page.Text, err = manifest.Text(page.Profile); err != nil {
		return err
	}
	page.TooLong = len(page.Text) > manifest.MaxSize
	page.Who, page.Servers = whoOf(page.Profile.Spec.Who), r.serversOf(page.Profile.Spec.Servers)
	query := url.Values{"profile": {name}}
	if cursor := v.query("cursor"); cursor != "" {
		query.Set("cursor", cursor)
	}
	if page.People, err = r.People.Users(v, query.Encode()); err != nil {
		page.PeopleTrouble = r.troubleOf(v, "The people", err)
	}
	if next := page.People.Next; next != "" {
		page.NextURL = pathProfiles + "/" + name + "?cursor=" + url.QueryEscape(string(next)) + "#people"
	}
	return r.show(v, "profile", http.StatusOK, page)
}

// errProfiles is that the profiles cannot be read now.
var errProfiles = httpapi.New(http.StatusServiceUnavailable, "cluster_unavailable", "The API server does not answer. Running bridges go on. Try again in a minute.")

// serversOf returns the servers of a profile, with their recipes as the catalog has them.
func (r *profilePages) serversOf(servers []v1alpha1.ProfileServer) []profileServer {
	entries, known := r.Catalog.Entries()
	var rows []profileServer
	for _, s := range servers {
		row := profileServer{Name: s.Name, Use: useTexts[cmp.Or(s.Use, v1alpha1.ServerDefault)]}
		if s.Tools != nil {
			row.Deny = s.Tools.Deny
		}
		if s.Recipe == nil {
			row.From = profile.Sharing{}.Offered(s)
			rows = append(rows, row)
			continue
		}
		row.Recipe, row.Version = s.Recipe.Name, s.Recipe.Version
		at := slices.IndexFunc(entries, func(e catalog.Entry) bool { return e.Name == row.Recipe && e.Deleted == nil })
		switch {
		case at >= 0:
			row.URL = pathCatalog + "?search=" + url.QueryEscape(row.Recipe)
			if of := rowOf(entries[at]); of.Look.Class != "ok" {
				row.Look, row.Why = of.Look, of.Why
			}
		case known:
			row.Look, row.Why = state{"bad", "broken", "No such recipe"}, "The catalog does not have it. Bridges that have the server keep it as it is."
		}
		rows = append(rows, row)
	}
	return rows
}

// useTexts say whether people have a server.
var useTexts = map[v1alpha1.ServerUse]string{
	v1alpha1.ServerRequired:  "Required: always on",
	v1alpha1.ServerDefault:   "On until a person turns it off",
	v1alpha1.ServerOptional:  "Off until a person turns it on",
	v1alpha1.ServerOnRequest: "Off until a request is approved and the person turns it on",
}

// givesOf returns the servers of a profile by their use, in words.
func givesOf(servers []v1alpha1.ProfileServer) []string {
	var list []string
	for _, by := range []struct {
		use  v1alpha1.ServerUse
		word string
	}{
		{v1alpha1.ServerRequired, "Requires "}, {v1alpha1.ServerDefault, "On by default: "},
		{v1alpha1.ServerOptional, "Offers "}, {v1alpha1.ServerOnRequest, "On request: "},
	} {
		var names []string
		for _, s := range servers {
			if cmp.Or(s.Use, v1alpha1.ServerDefault) == by.use {
				names = append(names, s.Name)
			}
		}
		if len(names) > 0 {
			list = append(list, by.word+some(names)+".")
		}
	}
	return list
}

// whoOf returns whom a profile selects, in words.
func whoOf(w v1alpha1.ProfileSubjects) string {
	where := "all namespaces"
	if !slices.Contains(w.Namespaces, "*") {
		where = "the namespace " + some(w.Namespaces)
		if len(w.Namespaces) > 1 {
			where = "the namespaces " + some(w.Namespaces)
		}
	}
	if w.Everyone {
		return "Everyone in " + where
	}
	var names []string
	for _, u := range w.Users {
		names = append(names, string(u))
	}
	var groups []string
	for _, g := range w.Groups {
		if g.Issuer != "" {
			groups = append(groups, g.Value+" at "+g.Issuer)
		} else {
			groups = append(groups, g.Value+" of HostedBridges in "+g.FromNamespace)
		}
	}
	switch {
	case len(groups) == 1:
		names = append(names, "the group "+groups[0])
	case len(groups) > 1:
		names = append(names, "the groups "+some(groups))
	}
	return some(names) + ", in " + where
}

// some returns a few names as a sentence has them, and how many others there are.
func some(names []string) string {
	const most = 6
	others := len(names) - most
	switch {
	case others > 1:
		return strings.Join(names[:most], ", ") + " and " + number(others) + " others"
	case len(names) > 1:
		last := len(names) - 1
		return strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return strings.Join(names, "")
}
