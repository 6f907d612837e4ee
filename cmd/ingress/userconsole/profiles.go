// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package userconsole

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/console/admin"
	"github.com/hostedbridge/hostedbridge/internal/profile"
	tenants "github.com/hostedbridge/hostedbridge/internal/tenant/bridgestore"
	"github.com/hostedbridge/hostedbridge/internal/tenant/profilediff"
)

// errCatalogUnknown is that no recipe can be looked up yet.
var errCatalogUnknown = errors.New("the catalog is not known yet")

// profiles are the BridgeProfiles of the installation, as administrators see and try them.
type profiles struct {
	parts    *AdministratorParts
	stored   *tenants.Profiles
	previews *profilediff.Previews
}

func openProfiles(p *AdministratorParts) *profiles {
	source := profilediff.Source{Client: p.Cluster, Namespace: p.Namespace, Watched: p.Watched}
	return &profiles{p, &tenants.Profiles{Client: p.Cluster, Namespace: p.Namespace}, profilediff.NewPreviews(source, p.Tiers, time.Now)}
}

// List implements admin.Profiles.
func (p *profiles) List(ctx context.Context) ([]v1alpha1.BridgeProfile, error) {
	found, err := p.stored.List(ctx)
	return found, readable(err)
}

// Preview implements admin.Profiles.
func (p *profiles) Preview(ctx context.Context, given v1alpha1.BridgeProfile, again bool) (profile.Preview, time.Time, error) {
	found, at, err := p.previews.Of(ctx, given, again)
	return found, at, readable(err)
}

// Refuses implements admin.Profiles, by the catalog as it is in memory.
func (p *profiles) Refuses(ctx context.Context, spec *v1alpha1.BridgeProfileSpec) (string, error) {
	known := profile.Known{Namespace: p.parts.Namespace, Tiers: p.parts.Tiers(), Versions: p.versions}
	if (profile.Profile{Spec: *spec}).Names("") {
		var shared v1alpha1.SharedServerList
		if err := p.parts.Cluster.List(ctx, &shared, client.InNamespace(p.parts.Namespace)); err != nil {
			return "", readable(fmt.Errorf("list SharedServers: %w", err))
		}
		known.Shared = shared.Items
	}
	f, err := known.Refuses(spec)
	return f.Message, err
}

// versions returns the versions of a recipe. While the catalog is not known, no recipe is.
func (p *profiles) versions(name string) ([]v1alpha1.RecipeVersion, bool, error) {
	if !p.parts.Catalog.Synced() {
		return nil, false, errCatalogUnknown
	}
	entries := p.parts.Catalog.Current().Entries()
	at := slices.IndexFunc(entries, func(e catalog.Entry) bool { return e.Name == name })
	if at < 0 {
		return nil, false, nil
	}
	var versions []v1alpha1.RecipeVersion
	for _, v := range entries[at].Versions {
		versions = append(versions, v1alpha1.RecipeVersion{Version: v.Version, Withdrawn: v.Withdrawn})
	}
	return versions, true, nil
}

// readable returns an error that wraps admin.ErrMayNotRead where the API server refuses a read.
func readable(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: %w", admin.ErrMayNotRead, err)
	}
	return err
}
