// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// Keys are the keys of a bridge, without the keys themselves.
type Keys struct {
	Keys []userkey.Info `json:"keys"`
	// Limit is how many keys a bridge may have.
	Limit int `json:"limit"`
	// Partial means that the API server is away: who holds the keys, and when they were
	// made, is not known.
	Partial bool `json:"partial,omitempty"`
}

// KnownKeys returns the keys of a bridge whose field managers are not known.
func KnownKeys(b *v1alpha1.HostedBridge) Keys {
	infos := userkey.Infos(b)
	for i := range infos {
		infos[i].ManagedBy, infos[i].CreatedAt = nil, nil
	}
	return Keys{Keys: infos, Limit: userkey.MaxKeys, Partial: true}
}

// CreatedKey is the one and only view of a key.
type CreatedKey struct {
	Key       string     `json:"key"`
	ID        string     `json:"id"`
	Name      string     `json:"name,omitempty"`
	CreatedAt time.Time  `json:"createdAt"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// CreatedKeyOf returns the view of a key that was made now.
func CreatedKeyOf(m *userkey.Minted, name string, now time.Time) CreatedKey {
	created := CreatedKey{Key: m.Key, ID: m.ID, Name: name, CreatedAt: now.UTC().Truncate(time.Second)}
	if !m.ExpiresAt.IsZero() {
		created.ExpiresAt = &m.ExpiresAt
	}
	return created
}
