// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// CreatePublisher writes a publisher with one key, which is returned and stored
// nowhere else; expires is nil for a key that does not expire. Its errors are
// catalog.ErrExists, *catalog.InvalidError and the API server's.
func (s *Writer) CreatePublisher(ctx context.Context, p catalog.Publisher, expires *time.Time) (catalog.Publisher, string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	entry, key, err := s.newKey(expires)
	if found := catalog.CheckPublisher(p); len(found) > 0 {
		err = &catalog.InvalidError{Problems: found}
	}
	if err != nil {
		return catalog.Publisher{}, "", err
	}
	o := &v1alpha1.CatalogPublisher{}
	o.Namespace, o.Name = s.namespace, p.ID
	describe(o, p)
	o.Spec.Keys = []v1alpha1.PublisherKey{entry}
	err = s.client.Create(ctx, o, client.FieldOwner(v1alpha1.FieldOwnerAdmin))
	if apierrors.IsAlreadyExists(err) {
		return catalog.Publisher{}, "", catalog.ErrExists
	}
	if err != nil {
		return catalog.Publisher{}, "", catalogError(err, "create CatalogPublisher")
	}
	return catalog.PublisherOf(o), key, nil
}

// describe writes the description of the publisher.
func describe(o *v1alpha1.CatalogPublisher, p catalog.Publisher) {
	o.Spec.DisplayName, o.Spec.Contact, o.Spec.Verified = p.DisplayName, p.Contact, p.Verified
	o.Spec.PublicKeys = slices.Clone(p.PublicKeys)
}

// newKey makes a key and its stored form.
func (s *Writer) newKey(expires *time.Time) (v1alpha1.PublisherKey, string, error) {
	// The API has whole seconds.
	now := s.now().UTC().Truncate(time.Second)
	if expires != nil && !expires.After(now) {
		return v1alpha1.PublisherKey{}, "", &catalog.InvalidError{Problems: []catalog.Problem{
			{Field: "expires", Code: catalog.CodeInvalid, Message: "must be in the future"},
		}}
	}
	key, id, err := apikey.Mint(s.random, apikey.KindPublisher)
	if err != nil {
		return v1alpha1.PublisherKey{}, "", fmt.Errorf("mint key: %w", err)
	}
	entry := v1alpha1.PublisherKey{ID: id, Hash: apikey.HashOf(key).String(), CreatedAt: new(metav1.NewTime(now))}
	if expires != nil {
		entry.ExpiresAt = new(metav1.NewTime(expires.UTC().Truncate(time.Second)))
	}
	return entry, key, nil
}

// UpdatePublisher replaces the publisher's description, and does not change
// their keys. ifMatch is the revision that must be current, or
// catalog.AnyRevision. Its errors are catalog.ErrNotFound, ErrChanged,
// *catalog.ManagedError, *catalog.InvalidError and the API server's.
func (s *Writer) UpdatePublisher(ctx context.Context, p catalog.Publisher, ifMatch string) (catalog.Publisher, error) {
	if found := catalog.CheckPublisher(p); len(found) > 0 {
		return catalog.Publisher{}, &catalog.InvalidError{Problems: found}
	}
	return s.changePublisher(ctx, p.ID, func(o *v1alpha1.CatalogPublisher) error {
		if ifMatch != catalog.AnyRevision && catalog.PublisherOf(o).Revision != ifMatch {
			return catalog.ErrChanged
		}
		before := o.Spec
		describe(o, p)
		by, err := holders(o.ManagedFields, changedKeys(before, o.Spec), func(entry metav1.ManagedFieldsEntry) bool {
			return entry.Manager == v1alpha1.FieldOwnerAdmin
		})
		if err == nil && len(by) > 0 {
			err = &catalog.ManagedError{By: by}
		}
		return err
	})
}

// changedKeys returns the fields that differ.
func changedKeys(a, b v1alpha1.CatalogPublisherSpec) []string {
	var keys []string
	for key, same := range map[string]bool{
		"f:displayName": a.DisplayName == b.DisplayName,
		"f:contact":     a.Contact == b.Contact,
		"f:verified":    a.Verified == b.Verified,
		"f:publicKeys":  slices.Equal(a.PublicKeys, b.PublicKeys),
	} {
		if !same {
			keys = append(keys, key)
		}
	}
	return keys
}

// AddPublisherKey adds a key, which is returned and stored nowhere else. It
// removes none, also none that does not work: the entry of a revoked key is what
// says that the key is revoked, and the ingress may not remove it. Its errors are
// catalog.ErrNotFound, ErrTooManyKeys, *catalog.InvalidError and the API server's.
func (s *Writer) AddPublisherKey(ctx context.Context, id string, expires *time.Time) (p catalog.Publisher, keyID, key string, err error) {
	entry, key, err := s.newKey(expires)
	if err != nil {
		return catalog.Publisher{}, "", "", err
	}
	p, err = s.changePublisher(ctx, id, func(o *v1alpha1.CatalogPublisher) error {
		if len(o.Spec.Keys) >= catalog.MaxPublisherKeys {
			return catalog.ErrTooManyKeys
		}
		o.Spec.Keys = append(o.Spec.Keys, entry)
		return nil
	})
	if err != nil {
		return catalog.Publisher{}, "", "", err
	}
	return p, entry.ID, key, nil
}

// RevokePublisherKey withdraws a key, even one that is withdrawn already. It is
// refused once the watches deliver the change, within a second. Its errors are
// catalog.ErrNotFound and the API server's.
func (s *Writer) RevokePublisherKey(ctx context.Context, id, keyID string) error {
	_, err := s.changePublisher(ctx, id, func(o *v1alpha1.CatalogPublisher) error {
		i := slices.IndexFunc(o.Spec.Keys, func(k v1alpha1.PublisherKey) bool { return k.ID == keyID })
		if i < 0 {
			return catalog.ErrNotFound
		}
		if o.Spec.Keys[i].RevokedAt == nil {
			o.Spec.Keys[i].RevokedAt = new(metav1.NewTime(s.now().UTC().Truncate(time.Second)))
		}
		return nil
	})
	return err
}

// changePublisher makes one change, and retries while other writers are first.
// It is a patch and no apply: an apply would also take over the fields of other
// writers, and a key that they remove would stay valid.
func (s *Writer) changePublisher(ctx context.Context, id string, change func(*v1alpha1.CatalogPublisher) error) (catalog.Publisher, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var p catalog.Publisher
	err := retryConflict(ctx, func() error {
		o, err := s.getPublisher(ctx, id)
		if err != nil {
			return err
		}
		before := o.DeepCopy()
		if err := change(o); err != nil {
			return err
		}
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		if err := s.client.Patch(ctx, o, patch, client.FieldOwner(v1alpha1.FieldOwnerAdmin)); err != nil {
			if isConflict(err) {
				return err
			}
			return catalogError(err, "patch CatalogPublisher")
		}
		p = catalog.PublisherOf(o)
		return nil
	})
	return p, err
}
