// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"net/http"
	"sync"
)

// secretBody is a request's body with a secret in it. It has memory of its own,
// which it clears when the transport closes it. The transport may read the body
// long after the answer has arrived, so it cannot use the caller's memory,
// which the caller clears.
type secretBody struct {
	mu     sync.Mutex
	value  []byte
	reader *bytes.Reader
}

func newSecretBody(value []byte) *secretBody {
	value = bytes.Clone(value)
	return &secretBody{value: value, reader: bytes.NewReader(value)}
}

// Read implements io.Reader.
func (b *secretBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.value == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.reader.Read(p)
}

// Close implements io.Closer.
func (b *secretBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.value)
	b.value = nil
	return nil
}
