// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// View is what readers get of an entry. As JSON its members are those of the
// recipe, with those of the overlay beside them, and both apart as recipe and
// quality. No member of the overlay has the name of a member of the recipe, so
// the author's text, which may be signed, never changes.
type View struct {
	recipe.Recipe
	Overlay
	// Listing is what the catalog itself adds.
	Listing Listing `json:"catalog"`
	// Author is the recipe and Quality the overlay, each by itself.
	Author  recipe.Recipe `json:"recipe"`
	Quality *Overlay      `json:"quality,omitempty"`
}

// Listing is what the catalog itself says of a recipe.
type Listing struct {
	Name      string    `json:"name"`
	Owner     string    `json:"owner,omitempty"`
	Version   string    `json:"version"`
	Revision  string    `json:"revision"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	// HostedSafe means that a hosted bridge may run the server.
	HostedSafe bool `json:"hostedSafe"`
	// Here says whether bridges of this installation can run the server.
	Here *Here `json:"here,omitempty"`
	// AuditOutdated means that the overlay is for another version of the recipe
	// or the package than the one that is served now, or does not say for
	// which.
	AuditOutdated bool         `json:"auditOutdated,omitempty"`
	Deprecated    *Deprecation `json:"deprecated,omitempty"`
}

// Merge adds an entry's overlay to its recipe. A verification of one version
// does not count for another.
func Merge(e Entry) View {
	v := View{
		Recipe: e.Recipe,
		Listing: Listing{
			Name: e.Name, Owner: e.Owner, Version: currentVersion(e), Revision: e.Revision,
			CreatedAt: e.Created.UTC(), UpdatedAt: e.Updated.UTC(),
			HostedSafe: HostedSafe(e.Recipe), Here: e.Here, Deprecated: e.Deprecated,
		},
		Author:  e.Recipe,
		Quality: e.Quality,
	}
	if e.Quality == nil {
		return v
	}
	v.Overlay = *e.Quality
	if outdated(e) {
		v.Listing.AuditOutdated = true
		if v.Verified != nil {
			v.Verified = new(false)
		}
	}
	return v
}

// outdated reports whether the overlay is for another recipe than the one that
// is served. The version of the package alone does not show that: a remote
// server has none, and a publisher may name another program of the same
// version.
func outdated(e Entry) bool {
	q := e.Quality
	if i := e.Recipe.Install; i != nil && q.AuditedVersion != "" && i.Version != q.AuditedVersion {
		return true
	}
	switch {
	case q.RecipeDigest != "":
		return q.RecipeDigest != e.RecipeDigest()
	case q.Verified == nil || !*q.Verified:
		return false // It says nothing of the quality.
	case e.Owner == "":
		return false // The administrator who applied the recipe applies the overlay too.
	default:
		return q.VerifiedAt == nil || q.VerifiedAt.Before(e.Updated.Truncate(time.Second))
	}
}

func currentVersion(e Entry) string {
	if len(e.Versions) > 0 {
		return e.Versions[0].Version
	}
	return e.Recipe.RecipeVersion
}

// HostedSafe reports whether a hosted bridge may run the recipe's server: the
// author has not limited it to personal machines, and a pod can have one of its
// transports.
func HostedSafe(r recipe.Recipe) bool {
	return !r.LocalOnly.All && slices.ContainsFunc(r.Transports, func(t recipe.Transport) bool { return Hostable(r, t) == nil })
}

// Hostable returns why a pod cannot have one of the recipe's transports, nil if
// it can. It cannot have images, builds and downloads.
func Hostable(r recipe.Recipe, t recipe.Transport) error {
	if t.Type == recipe.Stdio {
		if r.Install == nil || r.Install.Method != "npx" && r.Install.Method != "uvx" {
			return errors.New("only programs that npx or uvx run are hosted")
		}
		return nil
	}
	u, err := url.Parse(t.URL)
	switch {
	case strings.Contains(t.URL, "${"):
		return errors.New("its URL names a variable, which only a bridge on the user's own machine fills in")
	case err != nil || u.Host == "":
		return errors.New("its URL is not one with a host")
	case isOwnMachine(u.Hostname()):
		return errors.New("its URL leads to the user's own machine")
	case u.Scheme == "https", u.Scheme == "http" && r.Metadata.SelfHosted:
		return hostableLogin(t.Auth)
	default:
		return errors.New("its URL is not https")
	}
}

// hostableLogin returns why a pod cannot get the token of a transport, nil if it
// can.
func hostableLogin(a *recipe.TransportAuth) error {
	switch {
	case a == nil || a.Type != "oauth2":
		return nil
	case recipe.Discovers(*a):
		return errors.New("its authorization server is found by a login, which only a bridge on the user's own machine does")
	case a.GrantType == "authorization_code" && a.ClientID == "", strings.Contains(a.ClientID+a.TokenURL+a.AuthorizationURL, "${"):
		return errors.New("auth.clientId, auth.tokenUrl or auth.authorizationUrl names a variable, which only a bridge on the user's own machine fills in")
	}
	return nil
}

func isOwnMachine(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && (a.Unmap().IsLoopback() || a.IsUnspecified())
}
