// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestore

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// Profiles reads the BridgeProfiles of the installation.
type Profiles struct {
	Client client.Client
	// Namespace is the installation's.
	Namespace string
}

// List returns all of them.
func (p *Profiles) List(ctx context.Context) ([]v1alpha1.BridgeProfile, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var profiles v1alpha1.BridgeProfileList
	if err := p.Client.List(ctx, &profiles, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list BridgeProfiles: %w", err)
	}
	return profiles.Items, nil
}
