// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package selfservice

import (
	"time"

	"github.com/hostedbridge/hostedbridge/internal/userkey"
)

// Keys are the keys of a bridge, without the keys themselves.
type Keys struct {
	Keys []userkey.Info `json:"keys"`
	// Limit is how many keys a bridge may have.
	Limit int `json:"limit"`
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
