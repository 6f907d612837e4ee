// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// Server is a server of a bridge as its pod runs it, whether the spec or a recipe
// says how it is reached.
type Server struct {
	bridgeconfig.Server
	// Index is the server's place in spec.servers.
	Index int
	// Args is how many of the last words of the program's command are its args.
	Args int
	// Image is that of the program's container. Empty means the installation's
	// image for Method.
	Image  string
	Method v1alpha1.InstallMethod
	// Resources are those of the program's container.
	Resources *corev1.ResourceRequirements
	// Storage is the volume of the program, nil for none.
	Storage *Storage
}

// Servers returns the bridge's servers that are in service: a server whose
// recipe cannot be used is not. The content of recipes is read from
// status.recipes.
func Servers(b *effective.Bridge) []Server {
	var servers []Server
	for i, server := range b.Spec.Servers {
		s := inline(server.Server)
		if server.Recipe != nil {
			status := RecipeOf(b, server.Name)
			recipe, err := ReadSource(status.Source)
			if err != nil || status.Recipe != server.Recipe.Name || recipe.URL == "" && recipe.Program == nil {
				continue
			}
			s = FromRecipe(server.Server, recipe, status.Secrets)
		}
		s.Index, s.Shared = i, server.Shared
		servers = append(servers, s)
	}
	return servers
}

// inline returns a server whose transport is in the spec.
func inline(server v1alpha1.Server) Server {
	s := Server{Server: Upstream(server)}
	if p := server.Transport.Stdio; p != nil {
		s.Args, s.Image, s.Resources = len(p.Args), p.Image, p.Resources
		s.Storage = storageOf(p.Storage)
		if p.Install != nil {
			s.Method = p.Install.Method
		}
	}
	return s
}

// FromRecipe returns the server of a spec that the recipe describes. It may use
// the secrets.
func FromRecipe(server v1alpha1.Server, recipe bridgeconfig.Server, secrets []string) Server {
	s := Server{Server: Upstream(server).Over(recipe)}
	s.Secrets = slices.Sorted(slices.Values(secrets))
	if s.Program != nil {
		program := *s.Program
		program.Socket = socket(server.Name)
		s.Storage, program.Storage = recipeStorage(program.Storage, server.Recipe.Storage), nil
		s.Program, s.Resources = &program, server.Recipe.Resources
		if len(program.Command) > 0 {
			s.Method = v1alpha1.InstallMethod(program.Command[0]) // No other program is hosted.
		}
	}
	return s
}

// ReadSource returns the server in the source of a RecipeStatus. It lacks the
// name and the secrets: the spec and the status have them.
func ReadSource(source string) (bridgeconfig.Server, error) {
	var s bridgeconfig.Server
	if err := json.Unmarshal([]byte(source), &s); err != nil {
		return bridgeconfig.Server{}, fmt.Errorf("read what the recipe says: %w", err)
	}
	return s, nil
}
