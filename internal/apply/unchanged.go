// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/jsonscan"
)

// mark annotates c with a digest of its content, if Object can find its kind
// unchanged, and returns the content and the digest. The digest need not resist an
// attacker: a user who controls the content of one bridge's objects can only keep
// that bridge's own from being updated.
func mark(c configuration) (content []byte, digest string, err error) {
	content, err = json.Marshal(c)
	if err != nil {
		return nil, "", fmt.Errorf("encode %s: %w", describe(c), err)
	}
	h := fnv.New128a()
	_, _ = h.Write(content)
	digest = hex.EncodeToString(h.Sum(nil))
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
		return nil, "", nil
	}
	return content, digest, nil
}

// unchanged reports whether an object has everything in content, whose digest it
// carries: it was applied with this content, and nobody has changed or removed
// one of those fields since, as that would have ended our ownership of the
// field. Only admission changes a field that stays ours: a mutating webhook's
// change stays until something else changes, or the annotation is removed. When
// in doubt it returns false; the cost is an apply that changes nothing.
func (a *Applier) unchanged(existing metav1.Object, content []byte, digest string) bool {
	if digest == "" || existing == nil || existing.GetAnnotations()[v1alpha1.AnnotationApplied] != digest {
		return false
	}
	for _, e := range existing.GetManagedFields() {
		if !ownEntry(e, string(a.FieldOwner)) {
			continue
		}
		return fieldsOf(e.FieldsV1).ownsObject(content)
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

// fields is a set of fields as managedFields has it: the sets below each field and
// item. A field without fields below it is owned as a whole.
type fields map[string]fields

// mostSets bounds how many sets are kept. The objects of most bridges have one of a
// few; the set of an object that was not read from the cache has its owner's UID, and
// is of no use for another.
const mostSets = 128

var sets = struct {
	sync.Mutex
	of map[string]fields
}{of: map[string]fields{}}

// fieldsOf returns the set of an entry, empty if it cannot be read. Equal sets are
// decoded once, so nobody may change them.
func fieldsOf(v1 *metav1.FieldsV1) fields {
	encoded := v1.GetRawBytes()
	sets.Lock()
	defer sets.Unlock()
	if known, ok := sets.of[string(encoded)]; ok {
		return known
	}
	var made fields
	if json.Unmarshal(encoded, &made) != nil {
		return nil
	}
	if len(sets.of) == mostSets {
		clear(sets.of)
	}
	sets.of[string(encoded)] = made
	return made
}

// ownsObject is owns for a whole object: its name and kind have no owner. The
// owner references are checked separately.
func (f fields) ownsObject(content []byte) bool {
	metadata := f["f:metadata"]
	if _, marked := metadata["f:annotations"]["f:"+v1alpha1.AnnotationApplied]; !marked {
		return false
	}
	object := jsonscan.Open(content)
	defer object.Close()
	for name := range object.Members() {
		switch string(name) {
		case "apiVersion", "kind", "status":
		case "metadata":
			if !metadata.ownsMembers(object, "name", "namespace", "ownerReferences") {
				return false
			}
		default:
			if !f.ownsMember(name, object) {
				return false
			}
		}
	}
	return true
}

// ownsMembers is owns for an object, except for some of its members.
func (f fields) ownsMembers(object *jsonscan.Reader, except ...string) bool {
	for name := range object.Members() {
		if !slices.Contains(except, string(name)) && !f.ownsMember(name, object) {
			return false
		}
	}
	return true
}

// ownsMember is owns for the value of a member of an object.
func (f fields) ownsMember(name []byte, value *jsonscan.Reader) bool {
	below := f["f:"+string(name)]
	return below != nil && below.owns(value)
}

// owns reports whether all of a value is among the fields. It does not read a value
// that is owned as a whole.
func (f fields) owns(value *jsonscan.Reader) bool {
	if len(f) == 0 {
		return true
	}
	if value.IsObject() {
		return f.ownsMembers(value)
	}
	for range value.Items() {
		if !f.ownsItem(value.Raw()) {
			return false
		}
	}
	return true
}

// ownsItem is owns for an item of a list, which is identified by its value or
// by its key fields. A missing part of the key has a default.
func (f fields) ownsItem(item []byte) bool {
	if !bytes.HasPrefix(item, []byte("{")) {
		_, ok := f["v:"+string(item)]
		return ok
	}
	for name, below := range f {
		if key, isKey := strings.CutPrefix(name, "k:"); isKey && hasKey(item, []byte(key)) {
			value := jsonscan.Open(item)
			defer value.Close()
			return below != nil && below.owns(value)
		}
	}
	return false
}

// hasKey reports whether an object has no other value for any part of the key.
func hasKey(object, key []byte) bool {
	parts := jsonscan.Open(key)
	defer parts.Close()
	for name := range parts.Members() {
		if value := member(object, name); value != nil && !sameScalar(value, parts.Raw()) {
			return false
		}
	}
	return parts.Valid()
}

// member returns the value of a member of an object, nil if it has none.
func member(object, name []byte) []byte {
	members := jsonscan.Open(object)
	defer members.Close()
	for each := range members.Members() {
		if bytes.Equal(each, name) {
			return members.Raw()
		}
	}
	return nil
}

// sameScalar compares two scalars. The same string can be escaped in two ways.
func sameScalar(a, b []byte) bool {
	return bytes.Equal(a, b) || a[0] == '"' && b[0] == '"' && jsonscan.Text(a) == jsonscan.Text(b)
}
