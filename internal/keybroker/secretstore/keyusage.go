// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package secretstore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// KeyUsage is the number of envelopes under each key. The zero KeyID stands for
// content that does not say its key, because it is no envelope.
type KeyUsage map[envelope.KeyID]int

// CountKeys counts the envelopes of all HostedBridges by the key that each
// names; nothing is opened.
func CountKeys(ctx context.Context, bridges BridgeLister, secrets SecretLister) (KeyUsage, error) {
	all, err := bridges.Bridges(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("count envelopes: %w", err)
	}
	listings := make([]KeyUsage, len(all))
	err = ForEach(ctx, len(all), func(ctx context.Context, i int) error {
		listing, err := secrets.List(ctx, all[i])
		if errors.Is(err, ErrNotOwned) || errors.Is(err, ErrNotReady) {
			return nil // A Secret of another owner opens for no HostedBridge.
		}
		listings[i] = KeyUsageOf(listing)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count envelopes: %w", err)
	}
	c := KeyUsage{}
	for _, listing := range listings {
		c.Add(listing)
	}
	return c, nil
}

// KeyUsageOf counts the envelopes of one HostedBridge.
func KeyUsageOf(l Listing) KeyUsage {
	c := KeyUsage{}
	for _, entry := range l.Entries {
		c[entry.Key]++
	}
	return c
}

// Add adds the counts of other.
func (c KeyUsage) Add(other KeyUsage) {
	for key, n := range other {
		c[key] += n
	}
}

// Total is the number of envelopes.
func (c KeyUsage) Total() int {
	n := 0
	for _, some := range c {
		n += some
	}
	return n
}

// NotUnder is how many envelopes are neither under this version nor under a
// later one of the same provider. Content that does not say its key counts too,
// as if it were under an old one.
func (c KeyUsage) NotUnder(current envelope.KeyID) int {
	n := 0
	for key, some := range c {
		if key.Algorithm != current.Algorithm || key.Version < current.Version {
			n += some
		}
	}
	return n
}

// Needing is how many envelopes may need a version of the provider below this
// one.
func (c KeyUsage) Needing(a envelope.Algorithm, below uint32) int {
	n := 0
	for key, some := range c {
		if key == (envelope.KeyID{}) || key.Algorithm == a && key.Version < below {
			n += some
		}
	}
	return n
}

// ByName returns the counts by the keys' names.
func (c KeyUsage) ByName() map[string]int {
	m := map[string]int{}
	for key, n := range c {
		m[key.String()] = n
	}
	return m
}

// String returns for example "local:1 12, local:2 3".
func (c KeyUsage) String() string {
	if len(c) == 0 {
		return "none"
	}
	keys := slices.SortedFunc(maps.Keys(c), func(a, b envelope.KeyID) int {
		if a.Algorithm != b.Algorithm {
			return int(a.Algorithm) - int(b.Algorithm)
		}
		return int(a.Version) - int(b.Version)
	})
	parts := make([]string, 0, len(keys))
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%s %d", keyName(key), c[key]))
	}
	return strings.Join(parts, ", ")
}

// keyName is a key's name as it is printed.
func keyName(key envelope.KeyID) string {
	if key == (envelope.KeyID{}) {
		return "not an envelope"
	}
	return key.String()
}
