// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// SharedServers reads the SharedServers of the installation. It changes none.
type SharedServers struct {
	Client client.Reader
	// Namespace is the installation's.
	Namespace string
}

// OwnedBy returns the SharedServers of which one of the issuer's groups is an owner, by name.
func (s *SharedServers) OwnedBy(ctx context.Context, issuer string, groups []string) ([]flow.SharedServer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var list v1alpha1.SharedServerList
	if err := s.Client.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list SharedServers: %w", err)
	}
	var owned []flow.SharedServer
	in := oauth.NewGroupSet(groups)
	for i := range list.Items {
		o := &list.Items[i]
		if o.DeletionTimestamp == nil && slices.ContainsFunc(o.Spec.Owners, func(g v1alpha1.IssuerGroup) bool {
			return g.Issuer == issuer && in.Has(g.Value)
		}) {
			owned = append(owned, flow.SharedServer{Name: o.Name, UID: string(o.UID)})
		}
	}
	return owned, nil
}

// UID returns the UID of the SharedServer of that name, empty if it does not exist.
func (s *SharedServers) UID(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o := &v1alpha1.SharedServer{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get SharedServer: %w", err)
	}
	return string(o.UID), nil
}
