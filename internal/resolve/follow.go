// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
)

// asBefore reports whether the spec asks for what the server ran last, or for
// the latest version. Another pinned version is the user's explicit choice,
// whoever wrote it.
func (d decision) asBefore() bool {
	wanted := d.server.Recipe.Version
	return d.last.Version != "" && (wanted == "" || wanted == d.last.Version)
}

// estranged says why a recipe is not the one that the server ran, though it has
// its name. Otherwise any publisher could take over the users of a deleted
// recipe. An owner who creates their own recipe again is no stranger. Only
// somebody with the right to write objects can create one without an owner
// again, as from a backup.
func (d decision) estranged(o *v1alpha1.CatalogRecipe) bridgestate.Finding {
	if o == nil || !d.asBefore() || d.last.UID == "" || d.last.UID == string(o.UID) {
		return bridgestate.Finding{}
	}
	if o.Spec.Owner == d.last.Owner {
		return bridgestate.Finding{}
	}
	return notAccepted("recipe %s was deleted and created again, by %s, and may be another one; to take it, name a version that the server did not run, or give the server another name",
		o.Name, ownerName(o.Spec.Owner))
}

// replaced says why a version that is pinned is not the one that the server ran.
func (d decision) replaced(v v1alpha1.RecipeVersion) bridgestate.Finding {
	if d.server.Recipe.Version == "" || !d.asBefore() || v.Digest == d.last.Digest {
		return bridgestate.Finding{}
	}
	return notAccepted("version %s of recipe %s is not what it was; to take it all the same give the server another name", v.Version, d.server.Recipe.Name)
}

func ownerName(owner string) string {
	if owner == "" {
		return "nobody who is known"
	}
	return "publisher " + owner
}

// strays says why a server that follows the latest version does not follow it
// to this one: the user trusted a place, and agreed to send secrets there.
func (d decision) strays(latest hosted) bridgestate.Finding {
	if d.server.Recipe.Version != "" || d.last.Version == "" || d.last.Digest == latest.Digest {
		return bridgestate.Finding{}
	}
	if d.moved(latest) {
		return bridgestate.Finding{Reason: v1alpha1.ReasonRecipeMoved, Message: fmt.Sprintf(
			"version %s of recipe %s runs at another place than version %s: %s, and not %s; to take it set spec.servers[].recipe.version to %s",
			latest.Version, latest.Recipe, d.last.Version, shown(latest.Place), shown(d.last.Place), latest.Version)}
	}
	bound := d.last.Secrets
	if len(d.server.Secrets) > 0 {
		bound = bridgestate.SecretNames(d.server.Secrets)
	}
	if others := beyond(latest.Secrets, bound); len(others) > 0 {
		return bridgestate.Finding{Reason: v1alpha1.ReasonRecipeSecretsAdded, Message: fmt.Sprintf(
			"version %s of recipe %s names secrets that the server may not use: %s; to take it list all its secrets in spec.servers[].secrets: %s",
			latest.Version, latest.Recipe, strings.Join(others, ", "), strings.Join(latest.Secrets, ", "))}
	}
	return bridgestate.Finding{}
}

// moved reports whether a version runs at another place than the one that ran
// last.
func (d decision) moved(latest hosted) bool {
	return d.last.Place != "" && d.last.Place != latest.Place
}

// behind keeps the server at the version that it runs, if it may run that.
func (d decision) behind(o *v1alpha1.CatalogRecipe, f bridgestate.Finding) v1alpha1.RecipeStatus {
	for _, v := range o.Status.Versions {
		if v.Digest == d.last.Digest && v.Withdrawn {
			gone := withdrawn(o, v)
			gone.Message += "; and " + f.Message
			return d.lost(gone)
		}
	}
	if d.last.Source == "" {
		return d.lost(f)
	}
	return d.stays(f.Reason, f.Message)
}

// crowded is for a version that does not fit beside the bridge's other recipes.
// The server keeps its version, for which there is room, if the spec asks for
// that.
func (d decision) crowded() v1alpha1.RecipeStatus {
	f := bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
		"with recipe %s the recipes of this bridge say more than %d bytes of their servers, which is as much as a bridge holds", d.server.Recipe.Name, bridgeLimit)}
	if !d.asBefore() || d.last.Source == "" {
		return d.paused(f)
	}
	f.Reason = v1alpha1.ReasonRecipeKept
	return d.behind(d.catalog.Recipes[d.server.Recipe.Name], f)
}

// kept keeps the server's version, if the spec asks for that. Otherwise the
// spec may be corrected.
func (d decision) kept(f bridgestate.Finding) v1alpha1.RecipeStatus {
	if !d.asBefore() || d.last.Source == "" {
		return d.paused(f)
	}
	return d.stays(v1alpha1.ReasonRecipeKept, f.Message)
}

// stays returns the server's earlier state. The installation and the spec may
// have changed since that was decided.
func (d decision) stays(reason, why string) v1alpha1.RecipeStatus {
	last := d.last
	status := v1alpha1.RecipeStatus{
		Server: d.server.Name, Recipe: d.server.Recipe.Name, Reason: reason,
		Message: bounded(fmt.Sprintf("%s; the server stays what version %s says", why, last.Version)),
		Version: last.Version, Digest: last.Digest, UID: last.UID, Owner: last.Owner, Place: last.Place,
		Secrets: last.Secrets, TokenSecret: last.TokenSecret, CredentialsURL: last.CredentialsURL, Source: last.Source,
	}
	said, err := bridgestate.ReadSource(last.Source)
	if err == nil {
		err = d.catalog.runs(bridgestate.FromRecipe(d.server, said, last.Secrets))
	}
	if err != nil {
		return d.paused(bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
			"%s; and what version %s says cannot be hosted here any more: %v", why, last.Version, err)})
	}
	return d.granted(status)
}

// lost takes the server out of service because of its recipe; it does not
// return by itself. Its last version is remembered to compare later versions
// with: an author could otherwise change everything by two versions.
func (d decision) lost(f bridgestate.Finding) v1alpha1.RecipeStatus {
	d.last.Source = ""
	return d.paused(f)
}

// paused takes the server out of service until the spec, or the installation, is
// corrected.
func (d decision) paused(f bridgestate.Finding) v1alpha1.RecipeStatus {
	status := v1alpha1.RecipeStatus{Server: d.server.Name, Recipe: d.server.Recipe.Name, Reason: f.Reason, Message: bounded(f.Message)}
	if d.last.Version != "" {
		status.Last = d.last.DeepCopy()
	}
	return status
}

// lastOf returns the server's state by that recipe, or the one before it went
// out of service.
func lastOf(s v1alpha1.RecipeStatus, recipe string) v1alpha1.LastRecipe {
	if s.Recipe != recipe {
		return v1alpha1.LastRecipe{}
	}
	last := v1alpha1.LastRecipe{
		Version: s.Version, Digest: s.Digest, UID: s.UID, Owner: s.Owner, Place: s.Place,
		Secrets: s.Secrets, TokenSecret: s.TokenSecret, CredentialsURL: s.CredentialsURL, Source: s.Source,
	}
	if s.Last != nil {
		last = *s.Last
	}
	last.Source = renewed(last.Source)
	return last
}

// renewed returns a source in the current form. An unreadable one stays as it
// was.
func renewed(source string) string {
	said, err := bridgestate.ReadSource(source)
	if err != nil {
		return source
	}
	b, err := json.Marshal(said)
	if err != nil {
		return source
	}
	return string(b)
}
