// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Indexed reads by a controller's field indexes as its cache would, by looking
// through everything.
type Indexed struct {
	client.WithWatch
	// Values returns what the index of that field has for the object.
	Values func(o client.Object, field string) []string
}

// List implements client.Reader.
func (c Indexed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	selector := o.FieldSelector
	o.FieldSelector = nil
	if err := c.WithWatch.List(ctx, list, &o); err != nil || selector == nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	wanted := selector.Requirements()[0]
	var kept []runtime.Object
	for _, item := range items {
		if slices.Contains(c.Values(item.(client.Object), wanted.Field), wanted.Value) {
			kept = append(kept, item)
		}
	}
	return meta.SetList(list, kept)
}
