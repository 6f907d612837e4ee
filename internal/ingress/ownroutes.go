// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
)

// OwnRoutes returns the methods and paths that the ingress serves beside those of its
// features, with everything that can be configured. A test compares them with their
// description.
func OwnRoutes() []httpapi.Route {
	var routes []httpapi.Route
	t := &router{config: &Config{LegacySSE: true}, access: &access{oauth: &authn.OAuth{}}, bounds: &bounds{}, auditor: &auditor{}, observer: &observer{}}
	add := func(method, path string, _ ...step) {
		if method != http.MethodOptions {
			routes = append(routes, httpapi.Route{Method: method, Path: path})
		}
	}
	t.userRoutes(add)
	t.oauthRoutes(add)
	return routes
}
