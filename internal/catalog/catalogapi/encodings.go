// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"sync"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	official "github.com/hostedbridge/hostedbridge/internal/catalog/registry"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
)

// encodings has the entries of a snapshot in the form of the official registry. Each is
// encoded once, and all answers share it: an answer that its client does not read takes no
// memory for it.
type encodings struct {
	namespace string

	mu      sync.Mutex
	of      *search.Snapshot
	entries map[itemVersion][]byte
}

// itemVersion is one version of a recipe, by its index.
type itemVersion struct {
	item    *search.Item
	version int
}

// entry returns the entry of a version of a recipe in a snapshot.
func (e *encodings) entry(of *search.Snapshot, item *search.Item, version int) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.of != of {
		e.of, e.entries = of, map[itemVersion][]byte{}
	}
	key := itemVersion{item, version}
	if b, ok := e.entries[key]; ok {
		return b, nil
	}
	b, err := jsondoc.Marshal(official.Of(item, version, e.namespace))
	if err != nil {
		return nil, err
	}
	e.entries[key] = b
	return b, nil
}
