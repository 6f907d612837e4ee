// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipestore

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
)

// fieldSet is a set of fields in the form of managedFields: a tree whose keys
// are the fields, so that the union of two sets is that of their keys.
type fieldSet map[string]fieldSet

const (
	keySpec = "f:spec"
	// keySelf is the object itself in which the other fields are.
	keySelf = "."
)

// The fields that belong to the writer of a recipe: all of them go to a new
// writer.
var contentKeys = []string{"f:recipe", "f:source", "f:owner", "f:deprecated", "f:deleted"}

// The fields that no other manager may hold when a recipe is written: they
// would stay behind. Administrators may hold owner, from a transfer, and anyone
// may hold deprecated.
var heldKeys = []string{"f:recipe", "f:source", "f:owner", "f:deleted"}

func readFields(entry metav1.ManagedFieldsEntry) (fieldSet, error) {
	var set fieldSet
	if entry.FieldsV1 == nil {
		return set, nil
	}
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &set); err != nil {
		return nil, fmt.Errorf("read the fields of manager %s: %w", entry.Manager, err)
	}
	return set, nil
}

// union adds the fields of other.
func (f fieldSet) union(other fieldSet) {
	for key, below := range other {
		if f[key] == nil {
			f[key] = fieldSet{}
		}
		f[key].union(below)
	}
}

// cut removes the fields of the spec from the set.
func (f fieldSet) cut(keys []string) fieldSet {
	spec, taken := f[keySpec], fieldSet{}
	for _, key := range keys {
		if below, held := spec[key]; held {
			taken[key] = below
			delete(spec, key)
		}
	}
	if _, self := spec[keySelf]; len(spec) == 0 || self && len(spec) == 1 {
		delete(f, keySpec)
	}
	return taken
}

// managerOf returns the field manager of a recipe's owner.
func managerOf(owner string) string {
	if owner == catalog.SeedOwner {
		return v1alpha1.FieldOwnerSeeder
	}
	return v1alpha1.FieldOwnerPublisher
}

// applied reports whether the entry is an apply of the manager.
func applied(entry metav1.ManagedFieldsEntry, manager string) bool {
	return entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
}

// foreignFields returns the other holders of fields that the writer of a recipe
// writes. Applying the recipe would not remove what they hold.
func foreignFields(entries []metav1.ManagedFieldsEntry, own string) ([]string, error) {
	return holders(entries, heldKeys, func(entry metav1.ManagedFieldsEntry) bool {
		return applied(entry, own) || entry.Manager == v1alpha1.FieldOwnerAdmin
	})
}

// holders returns the managers that hold one of those fields of the spec,
// except the given ones.
func holders(entries []metav1.ManagedFieldsEntry, keys []string, without func(metav1.ManagedFieldsEntry) bool) ([]string, error) {
	found := map[string]bool{}
	for _, entry := range entries {
		if entry.Subresource != "" || without(entry) {
			continue
		}
		set, err := readFields(entry)
		if err != nil {
			return nil, err
		}
		if len(set.cut(keys)) > 0 {
			found[entry.Manager] = true
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// handOver returns the entries after everything that a recipe's writers hold
// became an apply of the manager. So its next write replaces the whole recipe,
// and causes no conflict with former writers.
func handOver(entries []metav1.ManagedFieldsEntry, manager string, now time.Time) ([]metav1.ManagedFieldsEntry, error) {
	own, content := fieldSet{}, fieldSet{}
	var kept []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.Subresource != "" {
			kept = append(kept, entry)
			continue
		}
		set, err := readFields(entry)
		if err != nil {
			return nil, err
		}
		content.union(set.cut(contentKeys))
		switch {
		case applied(entry, manager):
			own.union(set)
		case len(set) > 0:
			if entry.FieldsV1, err = set.encode(); err != nil {
				return nil, err
			}
			kept = append(kept, entry)
		}
	}
	own.union(fieldSet{keySpec: content})
	encoded, err := own.encode()
	if err != nil {
		return nil, err
	}
	return append(kept, metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1alpha1.GroupVersion.String(),
		Time: new(metav1.NewTime(now)), FieldsType: "FieldsV1", FieldsV1: encoded,
	}), nil
}

func (f fieldSet) encode() (*metav1.FieldsV1, error) {
	b, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("encode the fields: %w", err)
	}
	return metav1.NewFieldsV1(string(b)), nil
}
