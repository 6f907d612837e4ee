// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/plan"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// verdict is why a spec is not accepted; the zero verdict accepts it.
type verdict = plan.Finding

// check says whether every bridge that the profile selects could have it.
func (r *Reconciler) check(ctx context.Context, p *v1alpha1.BridgeProfile) (verdict, error) {
	if _, known := r.Tiers[p.Spec.Tier]; p.Spec.Tier != "" && !known {
		return verdict{Reason: v1alpha1.ReasonUnknownTier, Message: fmt.Sprintf(
			"spec.tier: %q is not a tier of this installation; it must be one of: %s", p.Spec.Tier, strings.Join(r.Tiers.Names(), ", "))}, nil
	}
	for i, s := range p.Spec.Servers {
		if s.Shared != nil {
			f, err := r.checkShared(ctx, i, s.Shared.Name)
			if err != nil || f.Reason != "" {
				return f, err
			}
			continue
		}
		if s.Recipe == nil {
			if f := refused(profile.Fill(s.Server, p.Spec.Variables)); f.Reason != "" {
				f.Message = fmt.Sprintf("spec.servers[%d]: %s", i, f.Message)
				return f, nil
			}
			continue
		}
		f, err := r.checkRecipe(ctx, i, *s.Recipe)
		if err != nil || f.Reason != "" {
			return f, err
		}
	}
	return verdict{}, nil
}

// refused says why every bridge would refuse the server.
func refused(s v1alpha1.Server) verdict {
	b := &v1alpha1.HostedBridge{Spec: v1alpha1.HostedBridgeSpec{Servers: []v1alpha1.Server{s}}}
	return plan.Refuses(plan.Servers(b)[0])
}

// checkShared says whether there is such a SharedServer that the installation accepts.
func (r *Reconciler) checkShared(ctx context.Context, i int, name string) (verdict, error) {
	var all v1alpha1.SharedServerList
	if err := r.Client.List(ctx, &all, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return verdict{}, fmt.Errorf("list SharedServers: %w", err)
	}
	at := slices.IndexFunc(all.Items, func(s v1alpha1.SharedServer) bool { return s.Name == name && s.DeletionTimestamp == nil })
	if at < 0 {
		return verdict{Reason: v1alpha1.ReasonUnknownShared, Message: fmt.Sprintf("spec.servers[%d].shared: there is no SharedServer %s in namespace %s", i, name, r.Namespace)}, nil
	}
	if f := profile.RefusesShared(&all.Items[at], all.Items); f.Reason != "" {
		return verdict{Reason: v1alpha1.ReasonUnknownShared, Message: fmt.Sprintf("spec.servers[%d].shared: SharedServer %s is not accepted: %s", i, name, f.Message)}, nil
	}
	return verdict{}, nil
}

func (r *Reconciler) checkRecipe(ctx context.Context, i int, ref v1alpha1.RecipeReference) (verdict, error) {
	o := &v1alpha1.CatalogRecipe{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.CatalogNamespace, Name: ref.Name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return verdict{Reason: v1alpha1.ReasonUnknownRecipe, Message: fmt.Sprintf("spec.servers[%d].recipe: the catalog has no recipe %s", i, ref.Name)}, nil
	case err != nil:
		return verdict{}, fmt.Errorf("get CatalogRecipe %s: %w", ref.Name, err)
	case len(o.Status.Versions) == 0:
		return verdict{Reason: v1alpha1.ReasonUnknownRecipe, Message: fmt.Sprintf("spec.servers[%d].recipe: recipe %s has no version that was accepted", i, ref.Name)}, nil
	case ref.Version != "" && !slices.ContainsFunc(o.Status.Versions, func(v v1alpha1.RecipeVersion) bool { return v.Version == ref.Version && !v.Withdrawn }):
		return verdict{Reason: v1alpha1.ReasonUnknownRecipe, Message: fmt.Sprintf("spec.servers[%d].recipe: recipe %s has no version %s", i, ref.Name, ref.Version)}, nil
	}
	return verdict{}, nil
}
