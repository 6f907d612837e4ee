// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// EachPage lists objects, each page into an empty list, and calls do for each page. It ends with
// the first error of the API server or of do. A page has as many objects as client.Limit among
// the options says.
func EachPage[L client.ObjectList](ctx context.Context, c client.Reader, empty func() L, do func(L) error, options ...client.ListOption) error {
	for token := ""; ; {
		page := empty()
		if err := c.List(ctx, page, append(slices.Clone(options), client.Continue(token))...); err != nil {
			return err
		}
		if err := do(page); err != nil {
			return err
		}
		if token = page.GetContinue(); token == "" {
			return nil
		}
	}
}
