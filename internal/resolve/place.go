// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"net/url"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/mcpserver"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

// placeOf returns where a server gets its secrets, and where its user logs in for
// it: the origins of its URLs, or the package that is its program, in whatever
// version, with the origins of all URLs that it is told. A host that it is told
// without a scheme is not seen.
func placeOf(said mcpserver.Server, i *recipe.Install) string {
	if said.Program != nil {
		return i.Method + " " + i.Package + told(toldOrigins(said.Program))
	}
	place := origin(said.URL)
	if said.OAuth == nil {
		return place
	}
	tokens := origin(said.OAuth.TokenURL)
	if tokens != place {
		place += " with tokens of " + tokens
	}
	// Most authorization servers do both in one place.
	if page := said.OAuth.AuthorizationURL; page != "" && origin(page) != tokens {
		place += " and logins at " + origin(page)
	}
	return place
}

// placeBesidePage returns the place of a status without the login page, if it
// was written by an operator that did not know such pages: there is no page
// that this one could differ from. It is empty otherwise.
func placeBesidePage(before string, status v1alpha1.RecipeStatus) string {
	was, errBefore := plan.ReadSource(before)
	is, err := plan.ReadSource(status.Source)
	if errBefore != nil || err != nil || !byLogin(was) || was.OAuth.AuthorizationURL != "" || !byLogin(is) {
		return ""
	}
	is.OAuth.AuthorizationURL = ""
	return placeOf(is, nil)
}

func byLogin(s mcpserver.Server) bool {
	return s.OAuth != nil && s.OAuth.Grant == mcpserver.AuthorizationCode
}

// shownLimit is how much of a place a message shows, in bytes, so that there is
// room for what to do.
const shownLimit = 200

// shown returns a place without its middle, if it is long.
func shown(place string) string {
	if len(place) <= shownLimit {
		return place
	}
	const gap = "…"
	half := (shownLimit - len(gap)) / 2
	return strings.ToValidUTF8(place[:half], "") + gap + strings.ToValidUTF8(place[len(place)-half:], "")
}

// standardPorts are left out of an origin, as in most URLs.
var standardPorts = map[string]string{"http": "80", "https": "443"}

// origin returns a URL's scheme, host and port in one spelling.
func origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return raw
	}
	scheme := strings.ToLower(u.Scheme)
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != standardPorts[scheme] {
		host += ":" + port
	}
	return scheme + "://" + host
}
