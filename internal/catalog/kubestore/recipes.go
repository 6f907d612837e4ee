// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package kubestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// CreateRecipe writes a recipe of a name that nobody has. An overlay that waits
// for its recipe is no recipe. Its errors are catalog.ErrExists,
// *catalog.InvalidError and the API server's.
func (s *Store) CreateRecipe(ctx context.Context, d catalog.Draft, dryRun bool) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.recipe(ctx, d.Name)
		switch {
		case err == nil && !vacant(on):
			return nil, catalog.ErrExists
		case err != nil && !errors.Is(err, catalog.ErrNotFound):
			return nil, err
		}
		return s.apply(ctx, write{Name: d.Name, Manager: managerOf(d.Owner), Spec: specOf(d), On: on, DryRun: dryRun})
	})
}

// vacant reports whether nobody has the name.
func vacant(o *v1alpha1.CatalogRecipe) bool {
	return o.Spec.Recipe == nil && o.Spec.Owner == "" && o.DeletionTimestamp == nil
}

// UpdateRecipe replaces a recipe of the draft's owner. ifMatch is the revision
// that must be there, or catalog.AnyRevision. Its errors are
// catalog.ErrNotFound, ErrNotOwner, ErrChanged, *catalog.ManagedError,
// *catalog.InvalidError and the API server's.
func (s *Store) UpdateRecipe(ctx context.Context, d catalog.Draft, ifMatch string, dryRun bool) (catalog.Entry, error) {
	return s.changeRecipe(ctx, func(ctx context.Context) (*v1alpha1.CatalogRecipe, error) {
		on, err := s.expect(ctx, d.Name, d.Owner, ifMatch)
		if err != nil {
			return nil, err
		}
		return s.replace(ctx, write{Name: d.Name, Manager: managerOf(d.Owner), Spec: specOf(d), On: on, DryRun: dryRun})
	})
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

// expect reads a recipe that must be of the owner, empty for anyone's, and of
// the revision.
func (s *Store) expect(ctx context.Context, name, owner, ifMatch string) (*v1alpha1.CatalogRecipe, error) {
	o, err := s.recipe(ctx, name)
	if err != nil {
		return nil, err
	}
	switch {
	case vacant(o):
		return nil, catalog.ErrNotFound
	case owner != "" && o.Spec.Owner != owner:
		return nil, catalog.ErrNotOwner
	}
	return o, matches(o, ifMatch)
}

// matches returns catalog.ErrChanged for another revision.
func matches(o *v1alpha1.CatalogRecipe, ifMatch string) error {
	if ifMatch == catalog.AnyRevision {
		return nil
	}
	e, err := catalog.EntryOf(o)
	if err != nil {
		return err
	}
	if e.Revision != ifMatch {
		return catalog.ErrChanged
	}
	return nil
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

// DeleteRecipe removes a recipe, its versions and its overlay. owner is whose it
// must be, empty for anyone's; ifMatch is as with UpdateRecipe. Its errors are
// catalog.ErrNotFound, ErrNotOwner, ErrChanged and the API server's.
func (s *Store) DeleteRecipe(ctx context.Context, name, owner, ifMatch string, dryRun bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return s.again(ctx, func() error {
		o, err := s.expect(ctx, name, owner, ifMatch)
		if err != nil {
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
