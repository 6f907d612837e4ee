// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostShapes bounds how many sets of fields are kept to be shared. The sets of
// bridges differ by their servers over stdio and by the resources that they
// name, so most bridges have one of a few sets. A bridge with a set of its own
// keeps that set itself.
const mostShapes = 1024

var shapes = struct {
	sync.Mutex
	of map[string]*metav1.FieldsV1
}{of: map[string]*metav1.FieldsV1{}}

// shared returns the set of fields without the UID of the owner, which only one
// bridge's objects have. All equal sets then share one copy in memory;
// otherwise each bridge takes some kilobytes for them.
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
