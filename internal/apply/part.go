// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Spec returns the patch that applies the fields of a spec which a field owner writes, and
// removes those that it wrote before and leaves out now: all of them if spec is nil. The patch
// creates an object that does not exist, unless the object has a UID, which only the API
// server may set on a new one.
func Spec(spec any) client.Patch { return part{Spec: spec} }

// Status is Spec for a status. With a resource version the API server refuses the patch if the
// object has changed since. The object gets the API server's answer: it must not be a cache's.
func Status(status any) client.Patch { return part{Status: status} }

// part is a part of an object of the API. JSON leaves out the fields that are zero and have
// omitempty. So a field of which zero says something has no omitempty, or is a pointer.
type part struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   any `json:"spec,omitempty"`
	Status any `json:"status,omitempty"`
}

// Type implements client.Patch.
func (p part) Type() types.PatchType { return types.ApplyPatchType }

// Data implements client.Patch.
func (p part) Data(o client.Object) ([]byte, error) {
	// A kind is registered under the name of its type.
	p.APIVersion, p.Kind = v1alpha1.GroupVersion.String(), reflect.TypeOf(o).Elem().Name()
	p.ObjectMeta = metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()}
	return json.Marshal(p)
}
