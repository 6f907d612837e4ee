// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

// Known is what the specs of profiles name, as the installation has it.
type Known struct {
	// Namespace is the installation's.
	Namespace string
	Tiers     quota.Tiers
	Shared    []v1alpha1.SharedServer
	// Versions returns the versions of a recipe that were accepted, and whether there is such
	// a recipe.
	Versions func(recipe string) (versions []v1alpha1.RecipeVersion, known bool, err error)
}

// Refuses returns why the installation does not accept a profile, empty if every bridge that
// it selects could have it.
func (k Known) Refuses(spec *v1alpha1.BridgeProfileSpec) (bridgestate.Finding, error) {
	if _, known := k.Tiers[spec.Tier]; spec.Tier != "" && !known {
		return bridgestate.Finding{Reason: v1alpha1.ReasonUnknownTier, Message: fmt.Sprintf(
			"spec.tier: %q is not a tier of this installation; it must be one of: %s", spec.Tier, strings.Join(k.Tiers.Names(), ", "))}, nil
	}
	for i, s := range spec.Servers {
		var f bridgestate.Finding
		var err error
		switch at := fmt.Sprintf("spec.servers[%d]", i); {
		case s.Shared != nil:
			f = k.refusesShared(at, s.Shared.Name)
		case s.Recipe != nil:
			f, err = k.refusesRecipe(at, *s.Recipe)
		default:
			if f = refusesServer(Fill(s.Server, spec.Variables)); f.Reason != "" {
				f.Message = at + ": " + f.Message
			}
		}
		if err != nil || f.Reason != "" {
			return f, err
		}
	}
	return bridgestate.Finding{}, nil
}

// refusesServer returns why every bridge would refuse the server.
func refusesServer(s v1alpha1.Server) bridgestate.Finding {
	b := effective.Of(&v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{s}}})
	return bridgestate.Refuses(bridgestate.Servers(b)[0])
}

// refusesShared returns why there is no such SharedServer that the installation accepts.
func (k Known) refusesShared(field, name string) bridgestate.Finding {
	at := slices.IndexFunc(k.Shared, func(s v1alpha1.SharedServer) bool { return s.Name == name && s.DeletionTimestamp == nil })
	if at < 0 {
		return bridgestate.Finding{Reason: v1alpha1.ReasonUnknownShared, Message: fmt.Sprintf("%s.shared: there is no SharedServer %s in namespace %s", field, name, k.Namespace)}
	}
	if f := RefusesShared(&k.Shared[at], k.Shared); f.Reason != "" {
		return bridgestate.Finding{Reason: v1alpha1.ReasonUnknownShared, Message: fmt.Sprintf("%s.shared: SharedServer %s is not accepted: %s", field, name, f.Message)}
	}
	return bridgestate.Finding{}
}

func (k Known) refusesRecipe(field string, ref v1alpha1.RecipeReference) (bridgestate.Finding, error) {
	versions, known, err := k.Versions(ref.Name)
	if err != nil {
		return bridgestate.Finding{}, err
	}
	why := ""
	switch {
	case !known:
		why = "the catalog has no recipe " + ref.Name
	case len(versions) == 0:
		why = fmt.Sprintf("recipe %s has no version that was accepted", ref.Name)
	case ref.Version != "" && !slices.ContainsFunc(versions, func(v v1alpha1.RecipeVersion) bool { return v.Version == ref.Version && !v.Withdrawn }):
		why = fmt.Sprintf("recipe %s has no version %s", ref.Name, ref.Version)
	default:
		return bridgestate.Finding{}, nil
	}
	return bridgestate.Finding{Reason: v1alpha1.ReasonUnknownRecipe, Message: field + ".recipe: " + why}, nil
}
