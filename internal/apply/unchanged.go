// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// mark annotates c with a digest of its content, if Object can find its kind
// unchanged, and returns the digest. It need not resist an attacker: a user who
// controls the content of one bridge's objects can only keep that bridge's own
// from being updated.
func mark(c configuration) (string, error) {
	encoded, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", describe(c), err)
	}
	h := fnv.New128a()
	_, _ = h.Write(encoded)
	digest := fmt.Sprintf("%x", h.Sum(nil))
	annotations := map[string]string{v1alpha1.AnnotationApplied: digest}
	switch c := c.(type) {
	case *corev1ac.ServiceAccountApplyConfiguration:
		c.WithAnnotations(annotations)
	case *corev1ac.ConfigMapApplyConfiguration:
		c.WithAnnotations(annotations)
	case *appsv1ac.DeploymentApplyConfiguration:
		c.WithAnnotations(annotations)
	case *corev1ac.PersistentVolumeClaimApplyConfiguration:
		c.WithAnnotations(annotations)
	default:
		return "", nil
	}
	return digest, nil
}

// unchanged reports whether an object has everything in c, which carries the
// digest: it was applied with this content, and nobody has changed or removed
// one of those fields since, as that would have ended our ownership of the
// field. Only admission changes a field that stays ours: a mutating webhook's
// change stays until something else changes, or the annotation is removed. When
// in doubt it returns false; the cost is an apply that changes nothing.
func (a *Applier) unchanged(existing metav1.Object, c configuration, digest string) bool {
	if digest == "" || existing == nil || existing.GetAnnotations()[v1alpha1.AnnotationApplied] != digest {
		return false
	}
	for _, e := range existing.GetManagedFields() {
		if !ownEntry(e, string(a.FieldOwner)) {
			continue
		}
		var owned map[string]any
		if json.Unmarshal(e.FieldsV1.GetRawBytes(), &owned) != nil {
			return false
		}
		encoded, err := json.Marshal(c)
		if err != nil {
			return false
		}
		var said map[string]any
		return json.Unmarshal(encoded, &said) == nil && ownsObject(owned, said)
	}
	return false
}

// Written returns when an owner's fields of an object were last changed, by the
// API server's clock; zero if that is not known.
func Written(o metav1.Object, owner string) time.Time {
	for _, e := range o.GetManagedFields() {
		if ownEntry(e, owner) && e.Time != nil {
			return e.Time.Time
		}
	}
	return time.Time{}
}

func ownEntry(e metav1.ManagedFieldsEntry, owner string) bool {
	return e.Manager == owner && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" && e.FieldsV1 != nil
}

// ownsObject is owns for a whole object: its name and kind have no owner. The
// owner references are checked separately.
func ownsObject(owned, said map[string]any) bool {
	for name, value := range said {
		switch name {
		case "apiVersion", "kind", "status":
			continue
		case "metadata":
			fields, ok := value.(map[string]any)
			if !ok {
				return false
			}
			for _, unowned := range []string{"name", "namespace", "ownerReferences"} {
				delete(fields, unowned)
			}
		}
		if !ownsField(owned, name, value) {
			return false
		}
	}
	return true
}

func ownsField(owned map[string]any, name string, value any) bool {
	inner, ok := owned["f:"+name].(map[string]any)
	return ok && owns(inner, value)
}

// owns reports whether all of a value is among the fields below one. A field
// without fields below it is owned as a whole.
func owns(owned map[string]any, value any) bool {
	if len(owned) == 0 {
		return true
	}
	switch v := value.(type) {
	case map[string]any:
		for name, value := range v {
			if !ownsField(owned, name, value) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !ownsItem(owned, item) {
				return false
			}
		}
	}
	return true
}

// ownsItem is owns for an item of a list, which is identified by its value or
// by its key fields. A missing part of the key has a default.
func ownsItem(owned map[string]any, item any) bool {
	fields, ok := item.(map[string]any)
	if !ok {
		encoded, err := json.Marshal(item)
		_, found := owned["v:"+string(encoded)]
		return err == nil && found
	}
	for name, inner := range owned {
		key, isKey := strings.CutPrefix(name, "k:")
		if !isKey || !hasKey(fields, key) {
			continue
		}
		below, ok := inner.(map[string]any)
		return ok && owns(below, fields)
	}
	return false
}

func hasKey(fields map[string]any, encoded string) bool {
	var key map[string]any
	if json.Unmarshal([]byte(encoded), &key) != nil {
		return false
	}
	for name, value := range key {
		if said, ok := fields[name]; ok && said != value {
			return false
		}
	}
	return true
}
