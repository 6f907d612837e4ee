// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"encoding/binary"
	"fmt"
)

const (
	// magic and format begin every envelope, "HBE1" together. A later format
	// has another digit and may have another layout behind it.
	magic  = "HBE"
	format = '1'

	// nonceSize and tagSize are GCM's own, in bytes.
	nonceSize   = 12
	tagSize     = 16
	wrappedSize = KeySize + tagSize

	// Where each part begins. All sizes but the last part's are fixed, and
	// that is written before it, so that an envelope has one encoding and ends
	// where it says.
	formatAt    = len(magic)
	algorithmAt = formatAt + 1
	versionAt   = algorithmAt + 1
	sizeAt      = versionAt + 4
	wrapNonceAt = sizeAt + 4
	wrappedAt   = wrapNonceAt + nonceSize
	dataNonceAt = wrappedAt + wrappedSize
	dataAt      = dataNonceAt + nonceSize

	// Overhead is how many bytes an envelope is longer than its secret.
	Overhead = dataAt + tagSize

	// MaxPlaintext is the size of the largest secret in bytes. One Secret of
	// Kubernetes, 1 MiB, has room for a dozen of them in base64.
	MaxPlaintext = 64 << 10
)

// Header is what an envelope says of itself to readers without a key. Only Open
// proves it.
type Header struct {
	// Key names the key under which it is sealed.
	Key KeyID
	// PlaintextSize is the length of the secret in bytes.
	PlaintextSize int
}

// Inspect reads an envelope's header and checks its whole form. The error is
// ErrMalformed, ErrUnknownFormat or ErrUnknownAlgorithm.
func Inspect(envelope []byte) (Header, error) {
	p, err := parse(envelope)
	if err != nil {
		return Header{}, fmt.Errorf("inspect: %w", err)
	}
	return Header{Key: p.key, PlaintextSize: len(p.data) - tagSize}, nil
}

// Body returns the part of the envelope that a rotation leaves as it is: the
// encrypted secret and its nonce. It is a part of the envelope's own bytes.
// Errors are those of Inspect.
func Body(envelope []byte) ([]byte, error) {
	if _, err := parse(envelope); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	return envelope[dataNonceAt:], nil
}

// parsed is an envelope's parts; the slices are parts of it, the tags are
// still on them.
type parsed struct {
	key       KeyID
	wrapNonce []byte
	wrapped   []byte
	dataNonce []byte
	data      []byte
}

// parse accepts exactly what encode returns.
func parse(b []byte) (parsed, error) {
	if len(b) <= formatAt || string(b[:formatAt]) != magic {
		return parsed{}, ErrMalformed
	}
	if b[formatAt] != format {
		return parsed{}, ErrUnknownFormat
	}
	if len(b) < Overhead {
		return parsed{}, ErrMalformed
	}
	key := KeyID{Algorithm(b[algorithmAt]), binary.BigEndian.Uint32(b[versionAt:])}
	if !key.Algorithm.known() {
		return parsed{}, ErrUnknownAlgorithm
	}
	size := binary.BigEndian.Uint32(b[sizeAt:])
	// The sum cannot overflow: the size is checked first.
	if !usable(key.Version) || size > MaxPlaintext || len(b) != Overhead+int(size) {
		return parsed{}, ErrMalformed
	}
	return parsed{
		key:       key,
		wrapNonce: b[wrapNonceAt:wrappedAt],
		wrapped:   b[wrappedAt:dataNonceAt],
		dataNonce: b[dataNonceAt:dataAt],
		data:      b[dataAt:],
	}, nil
}

// encode returns the one encoding of these parts.
func (p parsed) encode() []byte {
	b := make([]byte, 0, dataAt+len(p.data))
	b = append(append(b, magic...), format, byte(p.key.Algorithm))
	b = binary.BigEndian.AppendUint32(b, p.key.Version)
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.data)-tagSize)) //nolint:gosec // At most MaxPlaintext.
	for _, part := range [][]byte{p.wrapNonce, p.wrapped, p.dataNonce, p.data} {
		b = append(b, part...)
	}
	return b
}
