// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package masterkey

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/envelope"
)

// keyType is the type whose ciphertext is a nonce of 12 bytes, as many bytes as
// the plaintext has, and a tag of 16: the space that an envelope has.
const keyType = "aes256-gcm96"

// errBinding is the result of a failed prove.
var errBinding = errors.New("the server decrypts with another context or other associated data than it encrypted with: " +
	"it is too old, or it is not what it seems to be")

// transitKey is the key of a transit engine as it was last read. Nil means that
// it was not read yet.
type transitKey struct {
	client   *transitClient
	versions []uint32
	current  uint32
	minimum  uint32
}

func (t *transitKey) same(other *transitKey) bool {
	if t == nil || other == nil {
		return t == other
	}
	return t.current == other.current && t.minimum == other.minimum && slices.Equal(t.versions, other.versions)
}

func (t *transitKey) status() Status {
	if t == nil {
		return Status{Provider: ProviderTransit, Versions: []uint32{}}
	}
	return Status{ProviderTransit, t.versions, t.current, t.minimum}
}

// provider is what wraps and unwraps by the key.
func (t *transitKey) provider() envelope.Provider {
	if t == nil {
		return unreachedKey{}
	}
	return t
}

// KeyID names the latest version that was seen.
func (t *transitKey) KeyID() envelope.KeyID {
	return envelope.KeyID{Algorithm: envelope.AlgorithmTransit, Version: t.current}
}

// Minimum is the key's min_decryption_version.
func (t *transitKey) Minimum() uint32 { return t.minimum }

// Wrap has the server encrypt a data key. The server draws the nonce.
func (t *transitKey) Wrap(ctx context.Context, _ io.Reader, w envelope.Wrapping, dataKey []byte) (envelope.Wrapped, error) {
	bound := w.Context()
	ciphertext, err := t.client.encrypt(ctx, encryption{dataKey, bound[:], w.AAD(t.current), t.current})
	if err != nil {
		return envelope.Wrapped{}, fmt.Errorf("transit: encrypt: %w", err)
	}
	wrapped, err := parseCiphertext(ciphertext)
	if err != nil {
		return envelope.Wrapped{}, fmt.Errorf("transit: encrypt: %w: %w", envelope.ErrUnavailable, err)
	}
	return wrapped, nil
}

// Unwrap has the server decrypt a data key.
func (t *transitKey) Unwrap(ctx context.Context, w envelope.Wrapping, k envelope.Wrapped) ([]byte, error) {
	bound := w.Context()
	dataKey, err := t.client.decrypt(ctx, decryption{formatCiphertext(k), bound[:], w.AAD(k.Version)})
	if err != nil {
		return nil, fmt.Errorf("transit: decrypt: %w", err)
	}
	return dataKey, nil
}

// unreachedKey stands for the key of a transit engine that was not reached
// since the start. It never says that an envelope does not open.
type unreachedKey struct{}

var errUnreached = errors.New("transit: the server was not reached since the start")

// KeyID names no version, since the versions are not known.
func (unreachedKey) KeyID() envelope.KeyID {
	return envelope.KeyID{Algorithm: envelope.AlgorithmTransit}
}

// Minimum retires nothing.
func (unreachedKey) Minimum() uint32 { return 1 }

// Wrap implements envelope.Provider.
func (unreachedKey) Wrap(context.Context, io.Reader, envelope.Wrapping, []byte) (envelope.Wrapped, error) {
	return envelope.Wrapped{}, unavailable(errUnreached)
}

// Unwrap implements envelope.Provider.
func (unreachedKey) Unwrap(context.Context, envelope.Wrapping, envelope.Wrapped) ([]byte, error) {
	return nil, unavailable(errUnreached)
}

// prove checks that the server does what envelopes rely on, with bytes of no
// user. A server ignores parameters that it does not know.
func (t *transitKey) prove(ctx context.Context) error {
	probe := encryption{make([]byte, envelope.KeySize), []byte("hosted-bridge probe"), []byte("one"), t.current}
	ciphertext, err := t.client.encrypt(ctx, probe)
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	if _, err := parseCiphertext(ciphertext); err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	got, err := t.client.decrypt(ctx, decryption{ciphertext, probe.Context, probe.AssociatedData})
	if err != nil {
		return fmt.Errorf("decrypt: %w", err)
	}
	if !bytes.Equal(got, probe.Plaintext) {
		return errBinding
	}
	for _, other := range []decryption{
		{ciphertext, probe.Context, []byte("another")},
		{ciphertext, probe.Context, nil},
		{ciphertext, []byte("another probe"), probe.AssociatedData},
	} {
		_, err := t.client.decrypt(ctx, other)
		if err == nil {
			return errBinding
		}
		if !errors.Is(err, envelope.ErrRefused) {
			return fmt.Errorf("decrypt: %w", err)
		}
	}
	return nil
}

// parseCiphertext takes "vault:v3:" and base64 apart.
func parseCiphertext(s string) (w envelope.Wrapped, err error) {
	errForm := errors.New("the ciphertext is not of the expected form")
	version, encoded, found := strings.Cut(strings.TrimPrefix(s, "vault:v"), ":")
	if !found || !strings.HasPrefix(s, "vault:v") {
		return w, errForm
	}
	if w.Version, err = parseVersion(version); err != nil {
		return w, errForm
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(decoded) != len(w.Nonce)+len(w.Key) {
		return w, errForm
	}
	copy(w.Key[:], decoded[copy(w.Nonce[:], decoded):])
	return w, nil
}

func formatCiphertext(w envelope.Wrapped) string {
	return fmt.Sprintf("vault:v%d:%s", w.Version, base64.StdEncoding.EncodeToString(slices.Concat(w.Nonce[:], w.Key[:])))
}

// encryption and decryption are the bodies of requests; bytes are written as
// base64.
type encryption struct {
	Plaintext      []byte `json:"plaintext"`
	Context        []byte `json:"context"`
	AssociatedData []byte `json:"associated_data"`
	KeyVersion     uint32 `json:"key_version"`
}

type decryption struct {
	Ciphertext     string `json:"ciphertext"`
	Context        []byte `json:"context"`
	AssociatedData []byte `json:"associated_data,omitempty"`
}

func (c *transitClient) encrypt(ctx context.Context, e encryption) (string, error) {
	var answer struct {
		Ciphertext string `json:"ciphertext"`
	}
	err := c.call(ctx, http.MethodPost, "encrypt", e, &answer)
	return answer.Ciphertext, err
}

func (c *transitClient) decrypt(ctx context.Context, d decryption) ([]byte, error) {
	var answer struct {
		Plaintext []byte `json:"plaintext"`
	}
	err := c.call(ctx, http.MethodPost, "decrypt", d, &answer)
	return answer.Plaintext, err
}

func (c *transitClient) rotate(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "rotate", struct{}{}, nil)
}

// key reads the key.
func (c *transitClient) key(ctx context.Context) (*transitKey, error) {
	var answer struct {
		Type       string             `json:"type"`
		Derived    bool               `json:"derived"`
		Convergent bool               `json:"convergent_encryption"`
		Latest     uint32             `json:"latest_version"`
		Minimum    uint32             `json:"min_decryption_version"`
		Keys       map[string]anyJSON `json:"keys"`
	}
	if err := c.call(ctx, http.MethodGet, "keys", nil, &answer); err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	switch {
	case answer.Type != keyType:
		return nil, fmt.Errorf("the key is not of type %s", keyType)
	case !answer.Derived:
		return nil, errors.New("the key is not derived: make one with derived=true, or users share a key")
	case answer.Convergent:
		return nil, errors.New("the key is for convergent encryption, whose nonces are not random")
	case answer.Latest < 1 || answer.Latest > math.MaxInt32 || answer.Minimum > answer.Latest:
		return nil, fmt.Errorf("%w: its versions cannot be", envelope.ErrUnavailable)
	}
	t := &transitKey{client: c, current: answer.Latest, minimum: max(answer.Minimum, 1)}
	for name := range maps.Keys(answer.Keys) {
		version, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%w: its versions cannot be", envelope.ErrUnavailable)
		}
		t.versions = append(t.versions, uint32(version))
	}
	slices.Sort(t.versions)
	return t, nil
}

// anyJSON is a value that is not read.
type anyJSON struct{}

// UnmarshalJSON accepts everything.
func (anyJSON) UnmarshalJSON([]byte) error { return nil }
