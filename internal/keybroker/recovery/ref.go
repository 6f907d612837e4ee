// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/keybroker/secretstore"
)

// Bridge is the part of a HostedBridge that its secrets depend on.
type Bridge struct {
	secretstore.Bridge

	UserID string
	// Deleting means that it is being deleted.
	Deleting bool
}

// Ref is how reports name a HostedBridge.
type Ref struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func (r Ref) String() string { return r.Namespace + "/" + r.Name }

func (r Ref) compare(other Ref) int { return strings.Compare(r.String(), other.String()) }

func refOf(b secretstore.Bridge) Ref { return Ref{b.Namespace, b.Name} }

// SecretRef is how reports name a user's secret.
type SecretRef struct {
	Ref

	Secret string `json:"secret"`
}

func (r SecretRef) String() string { return r.Ref.String() + "/" + r.Secret }
