// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve decides what the recipes that a HostedBridge names come to:
// for each of its servers the version of the recipe, and what a pod runs by it,
// as if that stood in the spec.
//
// A recipe never takes more than its own server out of service, and what runs
// is not taken down because the catalog does not have a recipe anymore.
//
// The package is pure.
package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
)

const (
	// serverLimit is how much one recipe may say of a server, in bytes of JSON.
	// The API takes as much, and recipes are some hundred bytes of it.
	serverLimit = 128 << 10
	// bridgeLimit is for all of a bridge's servers together. What they say is in
	// its status, and an object holds 1.5 MiB.
	bridgeLimit = 512 << 10
	// messageLimit is half of what the API takes.
	messageLimit = 1024
)

// Catalog is what is known of the recipes that a bridge names.
type Catalog struct {
	// Recipes are by name; one that there is not is nil.
	Recipes map[string]*v1alpha1.CatalogRecipe
	// Lacking are the methods of install for which the installation has no image.
	Lacking []v1alpha1.InstallMethod
}

// Names returns the recipes that the bridge names.
func Names(b *v1alpha1.HostedBridge) []string {
	var names []string
	for _, s := range b.Spec.Servers {
		if s.Recipe != nil && !slices.Contains(names, s.Recipe.Name) {
			names = append(names, s.Recipe.Name)
		}
	}
	return names
}

// Bridge returns the bridge as it is to be: with status.recipes anew, and with
// its servers as their recipes say. A server without a transport is out of
// service. Of b itself nothing is changed.
func Bridge(b *v1alpha1.HostedBridge, c Catalog) *v1alpha1.HostedBridge {
	if len(Names(b)) == 0 && len(b.Status.Recipes) == 0 {
		return b
	}
	out := b.DeepCopy()
	out.Status.Recipes = nil
	size := 0
	for _, server := range b.Spec.Servers {
		if server.Recipe == nil {
			continue
		}
		status := c.server(server, plan.RecipeOf(b, server.Name))
		if size += len(status.Source); size > bridgeLimit {
			size -= len(status.Source)
			status = lost(server, plan.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
				"with recipe %s the recipes of this bridge say more than %d bytes of their servers, which is as much as a bridge holds", server.Recipe.Name, bridgeLimit)})
		}
		out.Status.Recipes = append(out.Status.Recipes, status)
	}
	out.Spec.Servers = plan.Servers(out)
	return out
}

// server returns what a server's recipe comes to. before is what it was.
func (c Catalog) server(server v1alpha1.Server, before v1alpha1.RecipeStatus) v1alpha1.RecipeStatus {
	ref := server.Recipe
	o := c.Recipes[ref.Name]
	version, f, gone := versionOf(o, *ref)
	if f != (plan.Finding{}) {
		if gone && keeps(before, *ref) {
			return granted(server, kept(before, f))
		}
		return lost(server, f)
	}
	status, f := c.host(server, version)
	if f != (plan.Finding{}) {
		return lost(server, f)
	}
	if d := o.Spec.Deprecated; d != nil {
		status.Reason, status.Message = v1alpha1.ReasonRecipeDeprecated, deprecated(ref.Name, *d)
	}
	return granted(server, status)
}

// keeps reports whether the server ran what is asked for. A pin counts from the
// version that runs, be it that the server followed the latest until now.
func keeps(before v1alpha1.RecipeStatus, ref v1alpha1.RecipeReference) bool {
	return before.Source != "" && before.Recipe == ref.Name && (ref.Version == "" || ref.Version == before.Version)
}

func kept(before v1alpha1.RecipeStatus, why plan.Finding) v1alpha1.RecipeStatus {
	status := *before.DeepCopy()
	status.Reason = v1alpha1.ReasonRecipeKept
	status.Message = bounded(fmt.Sprintf("%s; the server stays what version %s says", why.Message, before.Version))
	return status
}

func lost(server v1alpha1.Server, f plan.Finding) v1alpha1.RecipeStatus {
	return v1alpha1.RecipeStatus{Server: server.Name, Recipe: server.Recipe.Name, Reason: f.Reason, Message: bounded(f.Message)}
}

// granted takes a server out of service whose recipe names more secrets than
// the spec lets it use: the author of a recipe that its users follow could
// otherwise have any of their secrets by naming it.
func granted(server v1alpha1.Server, status v1alpha1.RecipeStatus) v1alpha1.RecipeStatus {
	if len(server.Secrets) == 0 {
		return status
	}
	var others []string
	for _, name := range status.Secrets {
		if !slices.Contains(server.Secrets, v1alpha1.SecretName(name)) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return status
	}
	return lost(server, plan.Finding{Reason: v1alpha1.ReasonRecipeSecretNotGranted, Message: fmt.Sprintf(
		"version %s of recipe %s names secrets that spec.servers[].secrets of the server does not have: %s; add them there if the server is to get them, or pin a version that names no others",
		status.Version, status.Recipe, strings.Join(others, ", "))})
}

func deprecated(name string, d v1alpha1.RecipeDeprecation) string {
	said := fmt.Sprintf("recipe %s is deprecated since %s", name, d.Since.UTC().Format("2006-01-02"))
	if d.Reason != "" {
		said += ": " + d.Reason
	}
	if d.ReplacedBy != "" {
		said += "; use recipe " + d.ReplacedBy + " instead"
	}
	return bounded(said)
}

func bounded(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	return strings.ToValidUTF8(message[:messageLimit], "") + "…"
}
