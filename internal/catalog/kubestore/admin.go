// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// SetQuality replaces what the administrators say of a recipe: of the version
// that is served, unless the overlay names another one. ifMatch is the revision
// that must be there, or catalog.AnyRevision; empty is any. It must be the same
// in both halves: who says something of a recipe has seen what is served. created
// says that nothing was said before.
// Its errors are catalog.ErrNotFound, ErrChanged, *catalog.ManagedError,
// *catalog.InvalidError and the API server's.
func (s *Store) SetQuality(ctx context.Context, name string, o catalog.Overlay, ifMatch string, dryRun bool) (e catalog.Entry, created bool, err error) {
	if ifMatch == "" {
		ifMatch = catalog.AnyRevision
	}
	e, err = s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.expect(ctx, name, "")
		switch {
		case err != nil:
			return nil, err
		case !live.Shows(ifMatch):
			return nil, catalog.ErrChanged
		}
		if err := overlayIsOurs(on); err != nil {
			return nil, err
		}
		created = on.Spec.Quality == nil
		spec := v1alpha1.CatalogRecipeSpec{Quality: catalog.OverlayObject(o.Of(live))}
		return s.apply(ctx, write{Name: name, Manager: v1alpha1.FieldOwnerAdmin, Spec: spec, On: on, DryRun: dryRun})
	})
	return e, created, err
}

// ClearQuality removes what the administrators say of a recipe, also where that
// is nothing. Its errors are as with SetQuality.
func (s *Store) ClearQuality(ctx context.Context, name string) error {
	_, err := s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.recipe(ctx, name)
		if err != nil || on.Spec.Quality == nil {
			return on, err
		}
		if err := overlayIsOurs(on); err != nil {
			return nil, err
		}
		return s.apply(ctx, write{Name: name, Manager: v1alpha1.FieldOwnerAdmin, On: on})
	})
	return err
}

// overlayIsOurs returns a *catalog.ManagedError where somebody else holds the
// overlay: what they hold would stay.
func overlayIsOurs(o *v1alpha1.CatalogRecipe) error {
	by, err := holders(o.ManagedFields, []string{"f:quality"}, func(entry metav1.ManagedFieldsEntry) bool {
		return applied(entry, v1alpha1.FieldOwnerAdmin)
	})
	if err == nil && len(by) > 0 {
		err = &catalog.ManagedError{By: by}
	}
	return err
}

// SetOwner gives a recipe to a publisher, or to catalog.SeedOwner. Whoever wrote
// it before holds nothing of it then, so that the new owner's next write
// replaces all of it. Its errors are catalog.ErrNotFound, ErrNoPublisher and the
// API server's.
func (s *Store) SetOwner(ctx context.Context, name, owner string) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.recipe(ctx, name)
		if err != nil {
			return nil, err
		}
		if on.Spec.Recipe == nil {
			return nil, catalog.ErrNotFound
		}
		if err := s.mayOwn(ctx, owner); err != nil {
			return nil, err
		}
		return s.transfer(ctx, on, owner)
	})
}

func (s *Store) mayOwn(ctx context.Context, owner string) error {
	if owner == catalog.SeedOwner {
		return nil
	}
	if len(catalog.CheckPublisher(catalog.Publisher{ID: owner})) > 0 {
		return catalog.ErrNoPublisher
	}
	_, err := s.publisher(ctx, owner)
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.ErrNoPublisher
	}
	return err
}

// transfer writes the owner, and in the same request who holds which fields: at
// no moment do two writers hold the recipe, or none.
func (s *Store) transfer(ctx context.Context, on *v1alpha1.CatalogRecipe, owner string) (*v1alpha1.CatalogRecipe, error) {
	fields, err := handOver(on.ManagedFields, managerOf(owner), s.now())
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": on.UID, "resourceVersion": on.ResourceVersion, "managedFields": fields},
		"spec":     map[string]any{"owner": owner},
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	o := &v1alpha1.CatalogRecipe{}
	o.Namespace, o.Name = s.namespace, on.Name
	err = s.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldOwnerAdmin))
	if raced(err) {
		return nil, err
	}
	return o, refusal(err, "patch CatalogRecipe")
}
