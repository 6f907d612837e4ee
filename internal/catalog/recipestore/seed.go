// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// seeders is how many recipes are written at a time. A write takes the API
// server some milliseconds, and for most of them it waits for its disk.
const seeders = 16

// ApplySeed makes the changes of a seed. It does not write what is already as
// it should be, so several replicas may seed at once. A failed change does not
// stop the others; the error is a catalog.ChangeErrors, by name, whose errors
// are those of UpdateRecipe.
func (s *Writer) ApplySeed(ctx context.Context, changes []catalog.Change, dryRun bool) error {
	var mu sync.Mutex
	var failed catalog.ChangeErrors
	var group errgroup.Group
	group.SetLimit(seeders)
	for _, c := range changes {
		if c.Kind == catalog.None {
			continue
		}
		group.Go(func() error {
			if err := s.applySeedChange(ctx, c, dryRun); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, &catalog.ChangeError{Name: c.Name, Err: err})
			}
			return nil
		})
	}
	_ = group.Wait() // Each failure is noted.
	if len(failed) == 0 {
		return nil
	}
	slices.SortFunc(failed, func(a, b *catalog.ChangeError) int { return cmp.Compare(a.Name, b.Name) })
	return failed
}

// applySeedChange makes one change.
func (s *Writer) applySeedChange(ctx context.Context, c catalog.Change, dryRun bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w := write{Name: c.Name, Manager: v1alpha1.FieldOwnerSeeder, DryRun: dryRun}
	if c.Kind != catalog.Deprecate {
		w.Spec = specOf(catalog.Draft{Owner: catalog.SeedOwner, Recipe: c.Recipe, Source: c.Source})
	}
	if c.Kind == catalog.Create {
		// Usually the name is free, and then one request is enough.
		_, err := s.apply(ctx, w)
		if !errors.Is(err, errTaken) {
			return err
		}
	}
	return retryConflict(ctx, func() error {
		on, err := s.getRecipe(ctx, c.Name)
		if errors.Is(err, catalog.ErrNotFound) {
			if c.Kind == catalog.Deprecate {
				return nil
			}
			_, err = s.apply(ctx, w)
			return err
		}
		if err != nil {
			return err
		}
		return s.updateSeeded(ctx, on, c, w)
	})
}

// updateSeeded makes a change of an existing recipe.
func (s *Writer) updateSeeded(ctx context.Context, on *v1alpha1.CatalogRecipe, c catalog.Change, w write) error {
	switch {
	case vacant(on) && c.Kind == catalog.Deprecate:
		return nil
	case !vacant(on) && on.Spec.Owner != catalog.SeedOwner:
		return catalog.ErrNotOwner
	}
	if c.Kind == catalog.Deprecate {
		if on.Spec.Deprecated != nil || on.Spec.Recipe == nil {
			return nil
		}
		w.Spec = v1alpha1.CatalogRecipeSpec{
			Recipe: on.Spec.Recipe, Source: on.Spec.Source, Owner: on.Spec.Owner,
			Deprecated: catalog.DeprecationObject(&catalog.Deprecation{Since: s.now(), Reason: c.Reason}),
		}
	} else if seeded(on, c) {
		return nil
	}
	w.On = on
	_, err := s.replace(ctx, w)
	return err
}

// seeded reports whether the object is as the change would make it.
func seeded(on *v1alpha1.CatalogRecipe, c catalog.Change) bool {
	if on.Spec.Recipe == nil || on.Spec.Deprecated != nil && on.Spec.Deprecated.Reason == catalog.ReasonVanished {
		return false
	}
	return catalog.Same(on.Spec.Recipe.Recipe, c.Recipe)
}
