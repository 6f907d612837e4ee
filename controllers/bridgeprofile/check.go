// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeprofile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/profile"
)

// verdict is why a spec is not accepted; the zero verdict accepts it.
type verdict = bridgestate.Finding

// check says whether every bridge that the profile selects could have it.
func (r *Reconciler) check(ctx context.Context, p *v1alpha1.BridgeProfile) (verdict, error) {
	known := profile.Known{Namespace: r.Namespace, Tiers: r.Tiers, Versions: func(name string) ([]v1alpha1.RecipeVersion, bool, error) {
		o := &v1alpha1.CatalogRecipe{}
		err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.CatalogNamespace, Name: name}, o)
		if apierrors.IsNotFound(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("get CatalogRecipe %s: %w", name, err)
		}
		return o.Status.Versions, true, nil
	}}
	if (profile.Profile{Spec: p.Spec}).Names("") {
		var shared v1alpha1.SharedServerList
		if err := r.Client.List(ctx, &shared, client.InNamespace(r.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return verdict{}, fmt.Errorf("list SharedServers: %w", err)
		}
		known.Shared = shared.Items
	}
	return known.Refuses(&p.Spec)
}
