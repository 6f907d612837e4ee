// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

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

// versionOfNothing is a version that no object has. The API server takes an
// apply with it where there is no object, and refuses it where there is one: so
// of two who create a recipe one does.
const versionOfNothing = "0"

// write is one apply of a part of a recipe.
type write struct {
	Name string
	// Manager is whose part it is.
	Manager string
	Spec    v1alpha1.CatalogRecipeSpec
	// On is the object that was read, nil where there was none.
	On     *v1alpha1.CatalogRecipe
	DryRun bool
}

// appliedRecipe is an object of an apply: of its metadata only what says which object
// is meant, and no status.
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

// apply writes, and returns what is there then. What the manager held before and
// does not apply now is removed.
func (s *Store) apply(ctx context.Context, w write) (*v1alpha1.CatalogRecipe, error) {
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
	options := append(dry[client.PatchOption](w.DryRun), client.FieldOwner(w.Manager))
	if err := s.client.Patch(ctx, o, client.RawPatch(types.ApplyPatchType, patch), options...); err != nil {
		switch {
		case w.On == nil && taken(err):
			return nil, errTaken
		case raced(err):
			return nil, err
		}
		return nil, refusal(err, "apply CatalogRecipe")
	}
	return o, nil
}

// dry returns the option of a write that only says what it would do.
func dry[O any](dryRun bool) []O {
	option, ok := any(client.DryRunAll).(O)
	if !dryRun || !ok {
		return nil
	}
	return []O{option}
}

// specOf returns the part of an object that its writer has.
func specOf(d catalog.Draft) v1alpha1.CatalogRecipeSpec {
	spec := v1alpha1.CatalogRecipeSpec{Recipe: catalog.ToObject(d.Recipe), Owner: d.Owner, Deprecated: catalog.DeprecationObject(d.Deprecated)}
	if d.Recipe.Signature != nil {
		spec.Source = d.Source
	}
	return spec
}

// CreateRecipe writes a recipe of a name that nobody has, or that its owner
// deleted. An overlay that waits for its recipe is no recipe. Its errors are
// catalog.ErrExists, ErrTakenBack, *catalog.ManagedError, *catalog.InvalidError,
// those of the draft and the API server's.
func (s *Store) CreateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		w := write{Name: r.Name, Manager: managerOf(r.Owner), DryRun: r.DryRun}
		var live catalog.Entry
		on, err := s.recipe(ctx, r.Name)
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

// mayCreate returns what is there of a recipe that the owner may create.
func mayCreate(on *v1alpha1.CatalogRecipe, owner string) (catalog.Entry, error) {
	switch {
	case vacant(on), retired(on) && on.Spec.Owner == owner:
		return catalog.EntryOf(on)
	case takenBack(on) && on.Spec.Owner == owner:
		return catalog.Entry{}, catalog.ErrTakenBack
	}
	return catalog.Entry{}, catalog.ErrExists
}

// vacant reports whether nobody has the name, and nobody had it.
func vacant(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Owner == "" && len(o.Status.Versions) == 0 && o.DeletionTimestamp == nil
}

// takenBack reports whether an administrator took the recipe from those who run
// it: there is neither a recipe nor its owner's word that it is deleted.
func takenBack(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Deleted == nil && !vacant(o)
}

// retired reports whether the owner deleted the recipe, and has the name alone.
func retired(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Deleted != nil && o.DeletionTimestamp == nil
}

// UpdateRecipe replaces a recipe of the owner's. Its errors are
// catalog.ErrNotFound, ErrNotOwner, ErrTakenBack, ErrChanged, *catalog.ManagedError,
// *catalog.InvalidError, those of the draft and the API server's.
func (s *Store) UpdateRecipe(ctx context.Context, r catalog.Replacement) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.expect(ctx, r.Name, r.Owner)
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

// RetireRecipe takes a recipe of the owner's out of the catalog. The name stays
// the owner's, and the versions that were accepted stay there: whoever publishes
// under it again goes on after them. ifMatch is as with catalog.Replacement, and the
// errors are as with UpdateRecipe.
func (s *Store) RetireRecipe(ctx context.Context, name, owner, ifMatch string, dryRun bool) error {
	_, err := s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, live, err := s.expect(ctx, name, owner)
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

// replace applies the whole of a writer's part, which nobody else may hold.
func (s *Store) replace(ctx context.Context, w write) (*v1alpha1.CatalogRecipe, error) {
	by, err := strangers(w.On.ManagedFields, w.Manager)
	if err != nil {
		return nil, err
	}
	if len(by) > 0 {
		return nil, &catalog.ManagedError{By: by}
	}
	return s.apply(ctx, w)
}

// expect reads a recipe that must be of the owner, empty for anyone's.
func (s *Store) expect(ctx context.Context, name, owner string) (*v1alpha1.CatalogRecipe, catalog.Entry, error) {
	o, err := s.recipe(ctx, name)
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

// changeRecipe makes one change, anew while others are quicker, and returns the
// recipe as it is then.
func (s *Store) changeRecipe(ctx context.Context, change func(context.Context) (*v1alpha1.CatalogRecipe, error)) (catalog.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var e catalog.Entry
	err := s.again(ctx, func() error {
		o, err := change(ctx)
		if err != nil {
			return err
		}
		e, err = catalog.EntryOf(o)
		return err
	})
	return e, err
}

// DeleteRecipe removes a recipe, its versions and its overlay, also one that its
// owner deleted: the name is free then. ifMatch is as with catalog.Replacement; empty
// is any. Its errors are catalog.ErrNotFound, ErrChanged and the API server's.
func (s *Store) DeleteRecipe(ctx context.Context, name, ifMatch string, dryRun bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.again(ctx, func() error {
		o, err := s.recipe(ctx, name)
		switch {
		case err != nil:
			return err
		case vacant(o):
			return catalog.ErrNotFound
		}
		if err := sameRevision(o, ifMatch); err != nil {
			return err
		}
		options := append(dry[client.DeleteOption](dryRun), client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion})
		err = s.client.Delete(ctx, o, options...)
		if apierrors.IsConflict(err) {
			return err
		}
		return refusal(err, "delete CatalogRecipe")
	})
}

// sameRevision returns catalog.ErrChanged for another revision. Where any will
// do the object is not read: it may be one that cannot be.
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
