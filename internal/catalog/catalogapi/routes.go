// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// The sizes of bodies, in bytes.
const (
	maxRecipe = 256 << 10
	maxSmall  = 16 << 10
)

const (
	// maxPath holds the longest name and version of a recipe in percent encoding.
	maxPath = 512
	// maxQuery holds every parameter once, a long search included.
	maxQuery = 2048
)

// Feature returns the catalog as a feature of the surface, without rate limits.
func (a *API) Feature() httpapi.Feature {
	return httpapi.Feature{Name: "catalog", Routes: a.Routes(), Target: a.Target, MaxPath: maxPath, MaxQuery: maxQuery}
}

// Routes returns what the catalog serves.
func (a *API) Routes() []httpapi.Route {
	get, post, put, del := http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	routes := []httpapi.Route{
		{Method: get, Path: "/recipes", Handle: a.list},
		{Method: get, Path: "/search", Handle: a.search},
		{Method: get, Path: "/recipes/:name", Handle: a.get},
		{Method: get, Path: "/recipes/:name/versions", Handle: a.versions},
		{Method: get, Path: "/recipes/:name/versions/:version", Handle: a.version},
		{Method: get, Path: "/recipes/:name/program", Handle: a.programOf},
		{Method: get, Path: "/openapi.json", Handle: a.document.serve},
		{Method: get, Path: "/catalog-key", Handle: a.catalogKey},

		{Method: get, Path: "/api/recipes", Handle: a.listForMCPBridge},
		{Method: get, Path: "/api/search", Handle: a.searchForMCPBridge},
		{Method: get, Path: "/api/recipes/:name", Handle: a.get},
		{Method: get, Path: "/api/recipes/:name/download", Handle: a.download},

		{Method: get, Path: "/v0.1/servers", Handle: a.registryList},
		{Method: get, Path: "/v0.1/servers/:name/versions", Handle: a.registryVersions},
		{Method: get, Path: "/v0.1/servers/:name/versions/:version", Handle: a.registryVersion},
	}
	for _, r := range []httpapi.Route{
		{Method: post, Path: "/recipes", MaxBody: maxRecipe, Handle: a.publishing(publication.create)},
		{Method: put, Path: "/recipes/:name", MaxBody: maxRecipe, Handle: a.publishing(publication.update)},
		{Method: del, Path: "/recipes/:name", Handle: a.publishing(publication.remove)},
		{Method: put, Path: "/recipes/:name/deprecation", MaxBody: maxSmall, Handle: a.publishing(publication.deprecate)},
		{Method: del, Path: "/recipes/:name/deprecation", Handle: a.publishing(publication.undeprecate)},
	} {
		r.Access = httpapi.Keyed
		routes = append(routes, r)
	}
	for _, r := range []httpapi.Route{
		{Method: put, Path: "/admin/recipes/:name/quality", MaxBody: maxSmall, Handle: a.setQuality},
		{Method: del, Path: "/admin/recipes/:name/quality", Handle: a.clearQuality},
		{Method: del, Path: "/admin/recipes/:name", Handle: a.free},
		{Method: put, Path: "/admin/recipes/:name/owner", MaxBody: maxSmall, Handle: a.setOwner},
		{Method: get, Path: "/admin/publishers", Handle: a.listPublishers},
		{Method: post, Path: "/admin/publishers", MaxBody: maxSmall, Handle: a.createPublisher},
		{Method: get, Path: "/admin/publishers/:id", Handle: a.getPublisher},
		{Method: put, Path: "/admin/publishers/:id", MaxBody: maxSmall, Handle: a.updatePublisher},
		{Method: post, Path: "/admin/publishers/:id/keys", MaxBody: maxSmall, Handle: a.addKey},
		{Method: del, Path: "/admin/publishers/:id/keys/:keyId", Handle: a.revokeKey},
		{Method: post, Path: "/admin/seed", Handle: a.seed},
	} {
		r.Access, r.Roles = httpapi.Admin, []oauth.Role{oauth.RoleCurator}
		if r.Method == get {
			r.Roles = append(r.Roles, oauth.RoleAuditor)
		}
		routes = append(routes, r)
	}
	return routes
}

// The parts of paths, as they come over the wire. No part needs decoding,
// except for the slash and the plus sign in the official registry's paths.
const (
	recipeName    = `[a-z0-9][a-z0-9-]{0,62}[a-z0-9]`
	publisherName = `[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?`
	keyName       = `[0-9A-Za-z]{8,32}`
	versionName   = `[0-9A-Za-z]([0-9A-Za-z._+-]|%2[Bb]){0,63}`
)

// readQuery is the form of a query of reads, and dryQuery that of writes. They
// refuse every query that two parsers could split differently.
var (
	readQuery = regexp.MustCompile(`^` + parameter + `(&` + parameter + `)*$`)
	dryQuery  = regexp.MustCompile(`^dryRun=[A-Za-z]*$`)
)

// parameter accepts, of the characters that some clients do not encode, those
// without a meaning in a query.
const parameter = `[A-Za-z][A-Za-z_]*=([A-Za-z0-9_.:~+!*'()@/,-]|%[0-9A-Fa-f]{2})*`

// paths are the forms of all paths.
type paths struct {
	lists, plain, dry *regexp.Regexp
}

func newPaths(namespace string) paths {
	of := func(alternatives ...string) *regexp.Regexp {
		return regexp.MustCompile(`^/(` + strings.Join(alternatives, "|") + `)$`)
	}
	server := `v0\.1/servers/` + regexp.QuoteMeta(namespace) + `%2[Ff]` + recipeName + `/versions`
	return paths{
		lists: of(`search`, `api/recipes`, `api/search`, `v0\.1/servers`, server+`(/`+versionName+`)?`),
		plain: of(`openapi\.json`, `catalog-key`,
			`recipes/`+recipeName+`/versions(/`+versionName+`)?`,
			`recipes/`+recipeName+`/program`,
			`api/recipes/`+recipeName+`(/download)?`,
			`admin/recipes/`+recipeName+`/owner`,
			`admin/publishers(/`+publisherName+`(/keys(/`+keyName+`)?)?)?`),
		dry: of(`recipes/`+recipeName+`(/deprecation)?`, `admin/recipes/`+recipeName+`(/quality)?`, `admin/seed`),
	}
}

// Target reports whether a path belongs to the catalog, and which form its
// query has. The list of recipes is the only path whose GET and POST accept
// different queries.
func (a *API) Target(path string) (query *regexp.Regexp, ok bool) {
	switch {
	case path == "/recipes", a.paths.lists.MatchString(path):
		return readQuery, true
	case a.paths.dry.MatchString(path):
		return dryQuery, true
	default:
		return nil, a.paths.plain.MatchString(path)
	}
}
