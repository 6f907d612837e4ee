// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resolve resolves the recipes that a HostedBridge names: for each of
// its servers the version of the recipe, and what a pod runs by it.
//
// A recipe never takes more than its own server out of service, and a running
// server is not stopped because the catalog no longer has its recipe. A server
// that follows a recipe's latest version follows its author, but not to another
// place or to more of the user's secrets.
//
// The package is pure.
package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

const (
	// serverLimit bounds one recipe's server, in bytes of JSON. The
	// installation's recipes have at most 600 bytes, which are in the status of
	// each bridge that follows them and in its configuration.
	serverLimit = 8 << 10
	// bridgeLimit is for all of a bridge's servers together.
	bridgeLimit = 64 << 10
	// secretLimit is how many secrets one recipe may name, which is how many the
	// spec can grant to a server.
	secretLimit = 32
	// placeLimit is for the name of the place where a server is, in bytes. The API
	// takes more.
	placeLimit = 2048
	// messageLimit is half of what the API takes, in bytes.
	messageLimit = 1024
)

// Catalog is the part of the catalog that a bridge names.
type Catalog struct {
	// Recipes are by name; a missing one is nil.
	Recipes map[string]*v1alpha1.CatalogRecipe
	// Lacking are the methods of install for which the installation has no image.
	Lacking []v1alpha1.InstallMethod
	// Tiers are the installation's, and Claims the PersistentVolumeClaims of the
	// bridge's servers: together they bound the storage that recipes get.
	Tiers  quota.Tiers
	Claims []bridgestate.Claim
}

// Names returns the recipes that the bridge names.
func Names(b *effective.Bridge) []string {
	var names []string
	for _, s := range b.Spec.Servers {
		if s.Recipe != nil && !slices.Contains(names, s.Recipe.Name) {
			names = append(names, s.Recipe.Name)
		}
	}
	return names
}

// Bridge returns the bridge with its new status.recipes, from which
// bridgestate.Servers returns its servers. It does not change b.
func Bridge(b *effective.Bridge, c Catalog) *effective.Bridge {
	if len(Names(b)) == 0 && len(b.Status.Recipes) == 0 {
		return b
	}
	var decisions []decision
	for _, server := range b.Spec.Servers {
		if server.Recipe != nil {
			decisions = append(decisions, decision{catalog: c, server: server.Server, last: lastOf(bridgestate.RecipeOf(b, server.Name), server.Recipe.Name)})
		}
	}
	status := b.Status
	status.Recipes = together(decisions)
	out := b.WithStatus(status)
	housed(out, c, decisions)
	return out
}

// housed takes the servers out of service whose recipes ask for more storage than
// the tier allows. The storage in the spec comes first.
func housed(b *effective.Bridge, c Catalog, decisions []decision) {
	room := bridgestate.NewRoom(b, c.Tiers, c.Claims)
	servers := bridgestate.Servers(b)
	for _, s := range servers {
		if b.Spec.Servers[s.Index].Recipe == nil {
			_ = room.Take(s) // The whole spec is refused for it later.
		}
	}
	for _, s := range servers {
		if b.Spec.Servers[s.Index].Recipe == nil {
			continue
		}
		f := room.Take(s)
		i := slices.IndexFunc(decisions, func(d decision) bool { return d.server.Name == s.Name })
		if f == (bridgestate.Finding{}) || i < 0 {
			continue
		}
		f = bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
			"recipe %s asks for storage that the server cannot have: %s", decisions[i].server.Recipe.Name, f.Message)}
		if b.Status.Recipes[i] = decisions[i].roomless(c, f); !fits(b, room, s.Name) {
			b.Status.Recipes[i] = decisions[i].paused(f)
		}
	}
}

// roomless keeps the server's version if the spec asks for that and the latest one
// asks for too much storage.
func (d decision) roomless(c Catalog, f bridgestate.Finding) v1alpha1.RecipeStatus {
	if o := c.Recipes[d.server.Recipe.Name]; o != nil && d.asBefore() && d.last.Source != "" {
		f.Reason = v1alpha1.ReasonRecipeKept
		return d.behind(o, f)
	}
	return d.paused(f)
}

// fits reports whether the server as it is resolved now can have its storage.
func fits(b *effective.Bridge, room *bridgestate.Room, name string) bool {
	for _, s := range bridgestate.Servers(b) {
		if s.Name == name {
			return room.Take(s) == (bridgestate.Finding{})
		}
	}
	return true
}

// together resolves the recipes within bridgeLimit. Existing servers keep their
// room; new ones get what is left, so that no recipe takes another one's server
// out of service by growing.
func together(decisions []decision) []v1alpha1.RecipeStatus {
	if len(decisions) == 0 {
		return nil
	}
	all := make([]v1alpha1.RecipeStatus, len(decisions))
	size := 0
	for i, d := range decisions {
		all[i] = d.decide()
		size += min(stored(all[i]), len(d.last.Source))
	}
	for i, d := range decisions {
		more := stored(all[i]) - len(d.last.Source)
		switch {
		case more <= 0:
		case size+more > bridgeLimit:
			all[i] = d.crowded()
		default:
			size += more
		}
	}
	return all
}

// stored is how much of what recipes say is in the status, in bytes.
func stored(s v1alpha1.RecipeStatus) int {
	if s.Last != nil {
		return len(s.Last.Source)
	}
	return len(s.Source)
}

// decision is about one server of a bridge.
type decision struct {
	catalog Catalog
	server  v1alpha1.Server
	// last is the server's current state by its recipe, or the one before it
	// went out of service. It is zero for a server that never ran.
	last v1alpha1.LastRecipe
}

// decide resolves the server's recipe.
func (d decision) decide() v1alpha1.RecipeStatus {
	ref := d.server.Recipe
	o := d.catalog.Recipes[ref.Name]
	if f := d.estranged(o); f != (bridgestate.Finding{}) {
		return d.kept(f)
	}
	version, f, gone := versionOf(o, *ref)
	if f == (bridgestate.Finding{}) {
		f = d.replaced(version)
		gone = f != (bridgestate.Finding{})
	}
	if gone {
		return d.kept(f)
	}
	if f != (bridgestate.Finding{}) {
		return d.lost(f)
	}
	h, f := d.catalog.host(d.server, version)
	if f != (bridgestate.Finding{}) {
		return d.lost(f)
	}
	if f := d.strays(h); f != (bridgestate.Finding{}) {
		return d.behind(o, f)
	}
	status := h.RecipeStatus
	status.UID, status.Owner = string(o.UID), o.Spec.Owner
	if deprecation := o.Spec.Deprecated; deprecation != nil {
		status.Reason, status.Message = v1alpha1.ReasonRecipeDeprecated, deprecated(ref.Name, *deprecation)
	}
	return d.granted(status)
}

// granted takes a server out of service if its recipe names more secrets than
// the spec grants: the author of a recipe could otherwise get any of the user's
// secrets by naming it.
func (d decision) granted(status v1alpha1.RecipeStatus) v1alpha1.RecipeStatus {
	if len(d.server.Secrets) == 0 {
		return status
	}
	others := beyond(status.Secrets, bridgestate.SecretNames(d.server.Secrets))
	if len(others) == 0 {
		return status
	}
	return d.paused(bridgestate.Finding{Reason: v1alpha1.ReasonRecipeSecretNotGranted, Message: fmt.Sprintf(
		"version %s of recipe %s names secrets that spec.servers[].secrets of the server does not have: %s; add them there if the server is to get them, or pin a version that names no others",
		status.Version, status.Recipe, strings.Join(others, ", "))})
}

// beyond returns the names that are not in bound.
func beyond(names, bound []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(bound, name) })
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
