// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// versionOfNothing is a version that no object has. The API server accepts an
// apply with it if there is no object, and refuses it otherwise: so of two
// writers that create a recipe only one succeeds.
const versionOfNothing = "0"

// write is one apply of a part of a recipe.
type write struct {
	Name string
	// Manager is the owner of the part.
	Manager string
	Spec    v1alpha1.CatalogRecipeSpec
	// On is the object that was read, nil if there was none.
	On     *v1alpha1.CatalogRecipe
	DryRun bool
}

// appliedRecipe is an object of an apply: from its metadata only the identity
// of the object, and no status.
type appliedRecipe struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Metadata   appliedMetadata            `json:"metadata"`
	Spec       v1alpha1.CatalogRecipeSpec `json:"spec,omitzero"`
}

type appliedMetadata struct {
	Name            string    `json:"name"`
	Namespace       string    `json:"namespace"`
	UID             types.UID `json:"uid,omitempty"`
	ResourceVersion string    `json:"resourceVersion"`
}

// apply writes, and returns the result. Fields that the manager held before and
// does not apply now are removed.
func (s *Writer) apply(ctx context.Context, w write) (*v1alpha1.CatalogRecipe, error) {
	what := appliedRecipe{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "CatalogRecipe", Spec: w.Spec,
		Metadata: appliedMetadata{Name: w.Name, Namespace: s.namespace, ResourceVersion: versionOfNothing},
	}
	if w.On != nil {
		what.Metadata.UID, what.Metadata.ResourceVersion = w.On.UID, w.On.ResourceVersion
	}
	patch, err := json.Marshal(what)
	if err != nil {
		return nil, fmt.Errorf("encode patch: %w", err)
	}
	o := &v1alpha1.CatalogRecipe{}
	o.Namespace, o.Name = s.namespace, w.Name
	options := append(dryRunOption[client.PatchOption](w.DryRun), client.FieldOwner(w.Manager))
	if err := s.client.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, patch), options...); err != nil {
		switch {
		case w.On == nil && isTaken(err):
			return nil, errTaken
		case isConflict(err):
			return nil, err
		}
		return nil, catalogError(err, "apply CatalogRecipe")
	}
	return o, nil
}

// dryRunOption returns the option for a dry run.
func dryRunOption[O any](dryRun bool) []O {
	option, ok := any(client.DryRunAll).(O)
	if !dryRun || !ok {
		return nil
	}
	return []O{option}
}

// specOf returns the part of an object that belongs to its writer.
func specOf(d catalog.Draft) v1alpha1.CatalogRecipeSpec {
	spec := v1alpha1.CatalogRecipeSpec{Recipe: &v1alpha1.Recipe{Recipe: d.Recipe}, Owner: d.Owner, Deprecated: catalog.DeprecationObject(d.Deprecated)}
	if d.Recipe.Signature != nil {
		spec.Source = d.Source
	}
	return spec
}

// CreateRecipe writes a recipe under a free name, or one that its owner
// deleted. An overlay that waits for its recipe is no recipe. Its errors are
// catalog.ErrExists, ErrTakenBack, *catalog.ManagedError,
// *catalog.InvalidError, those of the draft and the API server's.
func (s *Writer) CreateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		w := write{Name: r.Name, Manager: managerOf(r.Owner), DryRun: r.DryRun}
		var live catalog.Entry
		on, err := s.getRecipe(ctx, r.Name)
		switch {
		case errors.Is(err, catalog.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			w.On = on
			if live, err = mayCreate(on, r.Owner); err != nil {
				return nil, err
			}
		}
		d, err := r.Draft(live)
		if err != nil {
			return nil, err
		}
		w.Spec = specOf(d)
		if live.Deleted != nil {
			return s.replace(ctx, w)
		}
		return s.apply(ctx, w)
	})
}

// mayCreate returns the remaining entry of a recipe that the owner may create.
func mayCreate(on *v1alpha1.CatalogRecipe, owner string) (catalog.Entry, error) {
	switch {
	case vacant(on), retired(on) && on.Spec.Owner == owner:
		return catalog.EntryOf(on)
	case takenBack(on) && on.Spec.Owner == owner:
		return catalog.Entry{}, catalog.ErrTakenBack
	}
	return catalog.Entry{}, catalog.ErrExists
}

// vacant reports whether the name has no owner, and never had one.
func vacant(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Owner == "" && len(o.Status.Versions) == 0 && o.DeletionTimestamp == nil
}

// takenBack reports whether an administrator removed the recipe: there is
// neither a recipe nor the owner's mark that it is deleted.
func takenBack(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Deleted == nil && !vacant(o)
}

// retired reports whether the owner deleted the recipe, and keeps only the
// name.
func retired(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Deleted != nil && o.DeletionTimestamp == nil
}

// UpdateRecipe replaces a recipe of the owner. Its errors are
// catalog.ErrNotFound, ErrNotOwner, ErrTakenBack, ErrChanged,
// *catalog.ManagedError, *catalog.InvalidError, those of the draft and the API
// server's.
func (s *Writer) UpdateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.readOwned(ctx, r.Name, r.Owner)
		if err != nil {
			return nil, err
		}
		if !live.Matches(r.IfMatch) {
			return nil, catalog.ErrChanged
		}
		d, err := r.Draft(live)
		if err != nil {
			return nil, err
		}
		return s.replace(ctx, write{Name: r.Name, Manager: managerOf(r.Owner), Spec: specOf(d), On: on, DryRun: r.DryRun})
	})
}

// RetireRecipe deletes a recipe of the owner from the catalog. The owner keeps
// the name, and the accepted versions stay stored: a later recipe of this name
// must follow them. ifMatch is as with catalog.Replacement, and the errors are
// as with UpdateRecipe.
func (s *Writer) RetireRecipe(ctx context.Context, name, owner, ifMatch string, dryRun bool) error {
	_, err := s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.readOwned(ctx, name, owner)
		if err != nil {
			return nil, err
		}
		if !live.Matches(ifMatch) {
			return nil, catalog.ErrChanged
		}
		left := v1alpha1.CatalogRecipeSpec{Owner: owner, Deleted: new(metav1.NewTime(s.now().UTC().Truncate(time.Second)))}
		return s.replace(ctx, write{Name: name, Manager: managerOf(owner), Spec: left, On: on, DryRun: dryRun})
	})
	return err
}

// replace applies the whole part of a writer, which no other manager may hold.
func (s *Writer) replace(ctx context.Context, w write) (*v1alpha1.CatalogRecipe, error) {
	by, err := foreignFields(w.On.ManagedFields, w.Manager)
	if err != nil {
		return nil, err
	}
	if len(by) > 0 {
		return nil, &catalog.ManagedError{By: by}
	}
	return s.apply(ctx, w)
}

// readOwned reads a recipe that must belong to the owner; empty accepts any.
func (s *Writer) readOwned(ctx context.Context, name, owner string) (*v1alpha1.CatalogRecipe, catalog.Entry, error) {
	o, err := s.getRecipe(ctx, name)
	if err != nil {
		return nil, catalog.Entry{}, err
	}
	switch {
	case vacant(o), retired(o):
		return nil, catalog.Entry{}, catalog.ErrNotFound
	case owner != "" && o.Spec.Owner != owner:
		return nil, catalog.Entry{}, catalog.ErrNotOwner
	case owner != "" && takenBack(o):
		return nil, catalog.Entry{}, catalog.ErrTakenBack
	}
	live, err := catalog.EntryOf(o)
	return o, live, err
}

// changeRecipe makes one change, retries while other writers are first, and
// returns the resulting recipe.
func (s *Writer) changeRecipe(ctx context.Context, change func(context.Context) (*v1alpha1.CatalogRecipe, error)) (catalog.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var e catalog.Entry
	err := retryConflict(ctx, func() error {
		o, err := change(ctx)
		if err != nil {
			return err
		}
		e, err = catalog.EntryOf(o)
		return err
	})
	return e, err
}

// DeleteRecipe removes a recipe, its versions and its overlay, even if its
// owner deleted it before: the name is free then. ifMatch is as with
// catalog.Replacement; empty means any. Its errors are catalog.ErrNotFound,
// ErrChanged and the API server's.
func (s *Writer) DeleteRecipe(ctx context.Context, name, ifMatch string, dryRun bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return retryConflict(ctx, func() error {
		o, err := s.getRecipe(ctx, name)
		switch {
		case err != nil:
			return err
		case vacant(o):
			return catalog.ErrNotFound
		}
		if err := sameRevision(o, ifMatch); err != nil {
			return err
		}
		options := append(dryRunOption[client.DeleteOption](dryRun), client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion})
		err = s.client.Delete(ctx, o, options...)
		if apierrors.IsConflict(err) {
			return err
		}
		return catalogError(err, "delete CatalogRecipe")
	})
}

// sameRevision returns catalog.ErrChanged for another revision. If any revision
// is accepted the object is not parsed: it may be invalid.
func sameRevision(o *v1alpha1.CatalogRecipe, ifMatch string) error {
	if ifMatch == "" || ifMatch == catalog.AnyRevision {
		return nil
	}
	e, err := catalog.EntryOf(o)
	if err == nil && !e.Matches(ifMatch) {
		err = catalog.ErrChanged
	}
	return err
}
