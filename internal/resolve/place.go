// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// placeOf returns where a server gets its secrets, and where its user logs in for
// it: the origins of its URLs, or the package that is its program, in whatever
// version, with the origins of all URLs that it is told. A host that it is told
// without a scheme is not seen.
func placeOf(said bridgeconfig.Server, i *recipe.Install) string {
	if said.Program != nil {
		return i.Method + " " + i.Package + told(toldOrigins(said.Program))
	}
	place := oauth.Origin(said.URL)
	if said.OAuth == nil {
		return place
	}
	tokens := oauth.Origin(said.OAuth.TokenURL)
	if tokens != place {
		place += " with tokens of " + tokens
	}
	// Most authorization servers do both in one place.
	if page := said.OAuth.AuthorizationURL; page != "" && oauth.Origin(page) != tokens {
		place += " and logins at " + oauth.Origin(page)
	}
	return place
}

// shownLimit is how much of a place a message shows, in bytes, which leaves room for
// what to do.
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
