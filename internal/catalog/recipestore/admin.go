// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

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

// SetQuality replaces the administrators' overlay of a recipe: for the version
// that is served, unless the overlay names another one. ifMatch is the revision
// that must be current, or catalog.AnyRevision; empty means any. Both of its
// halves must match: an administrator must have seen what is served. created
// means that there was no overlay before. Its errors are catalog.ErrNotFound,
// ErrChanged, *catalog.ManagedError, *catalog.InvalidError and the API
// server's.
func (s *Writer) SetQuality(ctx context.Context, name string, o catalog.Overlay, ifMatch string, dryRun bool) (e catalog.Entry, created bool, err error) {
	if ifMatch == "" {
		ifMatch = catalog.AnyRevision
	}
	e, err = s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.readOwned(ctx, name, "")
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

// ClearQuality removes the administrators' overlay of a recipe, if it has one.
// Its errors are as with SetQuality.
func (s *Writer) ClearQuality(ctx context.Context, name string) error {
	_, err := s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.getRecipe(ctx, name)
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

// overlayIsOurs returns a *catalog.ManagedError if another field manager holds
// the overlay: the fields that it holds would stay.
func overlayIsOurs(o *v1alpha1.CatalogRecipe) error {
	by, err := holders(o.ManagedFields, []string{"f:quality"}, func(entry metav1.ManagedFieldsEntry) bool {
		return applied(entry, v1alpha1.FieldOwnerAdmin)
	})
	if err == nil && len(by) > 0 {
		err = &catalog.ManagedError{By: by}
	}
	return err
}

// SetOwner gives a recipe to a publisher, or to catalog.SeedOwner. The former
// writer then holds no field of it, so that the new owner's next write replaces
// all of it. Its errors are catalog.ErrNotFound, ErrNoPublisher and the API
// server's.
func (s *Writer) SetOwner(ctx context.Context, name, owner string) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.getRecipe(ctx, name)
		if err != nil {
			return nil, err
		}
		if on.Spec.Recipe == nil {
			return nil, catalog.ErrNotFound
		}
		if err := s.checkOwner(ctx, owner); err != nil {
			return nil, err
		}
		return s.writeOwner(ctx, on, owner)
	})
}

func (s *Writer) checkOwner(ctx context.Context, owner string) error {
	if owner == catalog.SeedOwner {
		return nil
	}
	if len(catalog.CheckPublisher(catalog.Publisher{ID: owner})) > 0 {
		return catalog.ErrNoPublisher
	}
	_, err := s.getPublisher(ctx, owner)
	if errors.Is(err, catalog.ErrNotFound) {
		return catalog.ErrNoPublisher
	}
	return err
}

// writeOwner writes the owner, and in the same request the holders of the
// fields: at no moment do two writers hold the recipe, or none.
func (s *Writer) writeOwner(ctx context.Context, on *v1alpha1.CatalogRecipe, owner string) (*v1alpha1.CatalogRecipe, error) {
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
	if isConflict(err) {
		return nil, err
	}
	return o, catalogError(err, "patch CatalogRecipe")
}
