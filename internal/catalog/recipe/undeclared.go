// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

import (
	"maps"
	"slices"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
)

// Undeclared returns the variables outside of the transports that auth.envVars
// does not name, each as its path and its name: auth.envVars tells users which
// secrets the recipe gets. Validate checks the transports.
func Undeclared(r Recipe) jsondoc.Ordered[string] {
	var declared, bound []string
	if a := r.Auth; a != nil {
		declared = a.EnvVars
		if a.OAuth2 != nil && a.OAuth2.EnvBinding != "" {
			bound = []string{a.OAuth2.EnvBinding}
		}
	}
	var found jsondoc.Ordered[string]
	add := func(path string, names []string) {
		for _, name := range names {
			if !slices.Contains(declared, name) {
				found = append(found, jsondoc.Entry[string]{Name: path, Value: name})
			}
		}
	}
	add("auth.oauth2.envBinding", bound)
	if r.Install == nil || len(declared) > maxVariables {
		return found // Validate refuses a list that is so long.
	}
	for _, system := range slices.Sorted(maps.Keys(r.Install.Platforms)) {
		p := r.Install.Platforms[system]
		for _, text := range TextsOf(Transport{Command: p.Command, Args: p.Args, Env: p.Env}) {
			add("install.platforms."+system+"."+text.Name, appendVariables(nil, text.Value))
		}
	}
	return found
}
