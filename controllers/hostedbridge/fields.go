// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostShapes bounds how many sets of fields are kept to be shared. Bridges differ
// in theirs by their servers over stdio and by what resources they name, so that
// a few sets are those of most; a bridge with one of its own keeps it itself.
const mostShapes = 1024

var shapes = struct {
	sync.Mutex
	of map[string]*metav1.FieldsV1
}{of: map[string]*metav1.FieldsV1{}}

// shared returns the set of fields without what only one bridge's objects have,
// the UID of their owner, and so that all equal ones are one in memory. They are
// some kilobytes for each bridge otherwise.
func shared(fields *metav1.FieldsV1, owners []metav1.OwnerReference) *metav1.FieldsV1 {
	if fields == nil {
		return nil
	}
	text := fields.GetRawString()
	for _, o := range owners {
		text = strings.ReplaceAll(text, string(o.UID), "")
	}
	shapes.Lock()
	defer shapes.Unlock()
	if known, ok := shapes.of[text]; ok {
		return known
	}
	made := metav1.NewFieldsV1(text)
	if len(shapes.of) < mostShapes {
		shapes.of[text] = made
	}
	return made
}
