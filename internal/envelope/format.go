// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The layout: magic, algorithm, key version, nonce and ciphertext of the data
// key, nonce and ciphertext of the secret. All but the last have fixed sizes
// and the last takes the rest, so that no two encodings mean the same.
const (
	// magic names the format and its version.
	magic = "HBE1"
	// algorithmAESGCM is AES-256-GCM for both layers.
	algorithmAESGCM = 1

	// nonceSize and tagSize are GCM's own, in bytes.
	nonceSize   = 12
	tagSize     = 16
	wrappedSize = KeySize + tagSize

	versionAt   = len(magic) + 1
	wrapNonceAt = versionAt + 4
	wrappedAt   = wrapNonceAt + nonceSize
	dataNonceAt = wrappedAt + wrappedSize
	dataAt      = dataNonceAt + nonceSize

	// Overhead is how many bytes an envelope is longer than its secret.
	Overhead = dataAt + tagSize

	// MaxPlaintext is the size of the largest secret in bytes. A Kubernetes
	// Secret holds 1 MiB in all.
	MaxPlaintext = 64 << 10
)

var (
	// ErrMalformed: the bytes are not an envelope.
	ErrMalformed = errors.New("not an envelope of a known format")
	// ErrTooLong: the secret is larger than MaxPlaintext.
	ErrTooLong = errors.New("secret is too long")
	// ErrRefused: the envelope was not sealed for this cluster, user and name
	// with this key, or it was changed since. Which of these it is cannot be
	// known.
	ErrRefused = errors.New("envelope does not open: it is damaged, or belongs to another cluster, user or name")
)

// parsed is an envelope's parts, as slices of it.
type parsed struct {
	version                               uint32
	wrapNonce, wrapped, dataNonce, sealed []byte
}

func parse(envelope []byte) (parsed, error) {
	if len(envelope) < Overhead || len(envelope) > Overhead+MaxPlaintext ||
		string(envelope[:len(magic)]) != magic || envelope[len(magic)] != algorithmAESGCM {
		return parsed{}, ErrMalformed
	}
	return parsed{
		version:   binary.BigEndian.Uint32(envelope[versionAt:]),
		wrapNonce: envelope[wrapNonceAt:wrappedAt],
		wrapped:   envelope[wrappedAt:dataNonceAt],
		dataNonce: envelope[dataNonceAt:dataAt],
		sealed:    envelope[dataAt:],
	}, nil
}

// header begins a new envelope of that key version.
func header(version uint32, size int) []byte {
	b := make([]byte, 0, size)
	b = append(append(b, magic...), algorithmAESGCM)
	return binary.BigEndian.AppendUint32(b, version)
}

// KeyVersion returns the version of the master key under which the envelope is
// sealed. It is only what the envelope says: Open proves it.
func KeyVersion(envelope []byte) (uint32, error) {
	p, err := parse(envelope)
	if err != nil {
		return 0, fmt.Errorf("read the key version: %w", err)
	}
	return p.version, nil
}
