// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package sealing

import (
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridge/template"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

// missing returns, in order, the secrets without which a server of the bridge
// is out of service and which are not stored.
func missing(servers []v1alpha1.Server, stored []store.Entry) []string {
	names := map[string]bool{}
	for _, s := range servers {
		for _, name := range needed(s) {
			names[name] = true
		}
	}
	for _, e := range stored {
		delete(names, e.Name)
	}
	return slices.Sorted(maps.Keys(names))
}

// needed returns what the server is granted, without what its headers have a
// default for wherever they use it.
func needed(s v1alpha1.Server) []string {
	used, required := map[string]bool{}, map[string]bool{}
	for _, h := range s.Transport.Headers {
		t, err := template.Parse(h.Value)
		if err != nil {
			continue // The operator says so of the spec, and starts no pod with it.
		}
		for _, name := range t.Names() {
			used[name] = true
		}
		for _, name := range t.Required() {
			required[name] = true
		}
	}
	var names []string
	for _, name := range s.Secrets {
		if required[string(name)] || !used[string(name)] {
			names = append(names, string(name))
		}
	}
	return names
}
