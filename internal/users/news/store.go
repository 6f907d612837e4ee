// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package news

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// ErrChanged says that the HostedBridge was changed since it was read.
var ErrChanged = errors.New("the HostedBridge was changed meanwhile")

// Kept is what a HostedBridge has of its user's visits and keys.
type Kept struct {
	// Visits is nil before the first one.
	Visits *v1alpha1.Visits
	Keys   []keys.Info
	// Version is that of the HostedBridge.
	Version string
}

// Cluster keeps visits in the status of HostedBridges, so that all replicas have the same. Its
// errors are keys.ErrNoBridge, ErrChanged or the API server's.
type Cluster struct{ Client client.Client }

// Read returns what there is of a user's visits.
func (s *Cluster) Read(ctx context.Context, of route.Backend) (Kept, error) {
	b, err := keys.ReadBridge(ctx, s.Client, of)
	if err != nil {
		return Kept{}, err
	}
	return Kept{Visits: b.Status.Visits, Keys: keys.InfosOf(b), Version: b.ResourceVersion}, nil
}

// Write replaces the visits, unless the HostedBridge was changed since it was read: by another
// replica's visit, or by somebody else.
func (s *Cluster) Write(ctx context.Context, of route.Backend, before Kept, visits v1alpha1.Visits) error {
	// A merge keeps what a patch leaves out.
	visit := func(v *v1alpha1.Visit) any {
		if v == nil {
			return nil
		}
		return map[string]any{"time": v.Time, "servers": append([]v1alpha1.SeenServer{}, v.Servers...)}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": before.Version},
		"status":   map[string]any{"visits": map[string]any{"last": visit(&visits.Last), "before": visit(visits.Before)}},
	})
	if err != nil {
		return fmt.Errorf("encode visits: %w", err)
	}
	b := &v1alpha1.HostedBridge{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	err = s.Client.Status().Patch(ctx, b, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldOwnerIngress))
	switch {
	case apierrors.IsConflict(err):
		return ErrChanged
	case apierrors.IsNotFound(err):
		return keys.ErrNoBridge
	case err != nil:
		return fmt.Errorf("patch the status of the HostedBridge: %w", err)
	}
	return nil
}
