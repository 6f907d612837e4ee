// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
	"github.com/hostedbridge/hostedbridge/internal/keybroker/store"
)

// Census is how many envelopes there are under which key. The zero KeyID
// stands for what does not say its key, because it is no envelope.
type Census map[envelope.KeyID]int

// Count counts the envelopes of all HostedBridges by what they say of
// themselves; nothing is opened.
func Count(ctx context.Context, bridges BridgeLister, secrets SecretLister) (Census, error) {
	all, err := bridges.Bridges(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("count envelopes: %w", err)
	}
	listings := make([]Census, len(all))
	err = each(ctx, len(all), func(ctx context.Context, i int) error {
		listing, err := secrets.List(ctx, all[i])
		if errors.Is(err, store.ErrNotOwned) || errors.Is(err, store.ErrNotReady) {
			return nil // What is there opens for no HostedBridge under any key.
		}
		listings[i] = censusOf(listing)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count envelopes: %w", err)
	}
	c := Census{}
	for _, listing := range listings {
		c.add(listing)
	}
	return c, nil
}

func censusOf(l store.Listing) Census {
	c := Census{}
	for _, entry := range l.Entries {
		c[entry.Key]++
	}
	return c
}

func (c Census) add(other Census) {
	for key, n := range other {
		c[key] += n
	}
}

// total is how many envelopes there are.
func (c Census) total() int {
	n := 0
	for _, some := range c {
		n += some
	}
	return n
}

// other is how many envelopes are neither under this version nor a later one
// of the same provider. What does not say its key counts: to be on the safe
// side, it is under an old one.
func (c Census) other(current envelope.KeyID) int {
	n := 0
	for key, some := range c {
		if key.Algorithm != current.Algorithm || key.Version < current.Version {
			n += some
		}
	}
	return n
}

// needing is how many envelopes may need a version of the provider below this
// one.
func (c Census) needing(a envelope.Algorithm, below uint32) int {
	n := 0
	for key, some := range c {
		if key == (envelope.KeyID{}) || key.Algorithm == a && key.Version < below {
			n += some
		}
	}
	return n
}

// keys returns the counts by the keys' names.
func (c Census) keys() map[string]int {
	m := map[string]int{}
	for key, n := range c {
		m[key.String()] = n
	}
	return m
}

// String returns for example "local:1 12, local:2 3".
func (c Census) String() string {
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

// keyName is a key's name for people.
func keyName(key envelope.KeyID) string {
	if key == (envelope.KeyID{}) {
		return "not an envelope"
	}
	return key.String()
}
