// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RemoveStatus removes the members of an object's status that are nil in fields, which may be
// nested, whoever holds them too: an apply leaves a field that another writer holds. It writes
// nothing if there are none. The object needs no more than its name and namespace.
func RemoveStatus(ctx context.Context, c client.Client, object client.Object, owner string, fields map[string]any) error {
	if len(fields) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": fields})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	return c.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(owner))
}
