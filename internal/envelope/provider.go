// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
)

// Algorithm is how an envelope's data key is wrapped. The data are encrypted
// by AES-256-GCM with all of them.
type Algorithm byte

const (
	// AlgorithmLocal wraps by AES-256-GCM under a key that HKDF-SHA256 derives
	// for the user from a master key of this process, see Keyring.
	AlgorithmLocal Algorithm = 1
	// AlgorithmTransit wraps by AES-256-GCM under a key that the transit engine
	// of Vault or OpenBao derives for the user and never hands out.
	AlgorithmTransit Algorithm = 2
)

func (a Algorithm) known() bool { return a == AlgorithmLocal || a == AlgorithmTransit }

// String names the algorithm as metrics and statuses do.
func (a Algorithm) String() string {
	switch a {
	case AlgorithmLocal:
		return "local"
	case AlgorithmTransit:
		return "transit"
	default:
		return fmt.Sprintf("algorithm-%d", byte(a))
	}
}

// KeyID names a version of a master key. The zero value names no key.
type KeyID struct {
	Algorithm Algorithm
	Version   uint32
}

// String returns for example "local:2", and "none" for the zero value.
func (k KeyID) String() string {
	if k == (KeyID{}) {
		return "none"
	}
	return fmt.Sprintf("%s:%d", k.Algorithm, k.Version)
}

// Provider holds the versions of one master key and wraps data keys under them.
// It never changes: another version needs another provider. It may be used from
// several goroutines.
//
// What one version wraps for a user must not open for another user, under
// another version, or with other associated data. An error of Wrap or Unwrap
// that is not one of this package's counts as ErrUnavailable.
type Provider interface {
	// KeyID is what Wrap wraps under. With AlgorithmTransit the version is 0 as
	// long as it is not known: until then Wrap and Unwrap are ErrUnavailable.
	KeyID() KeyID
	// Minimum is the lowest version that may still unwrap, at least 1.
	Minimum() uint32
	// Wrap encrypts a data key of KeySize bytes under the version of KeyID.
	// A provider that draws nonces elsewhere does not read random.
	Wrap(ctx context.Context, random io.Reader, w Wrapping, dataKey []byte) (Wrapped, error)
	// Unwrap returns the KeySize bytes that Wrap encrypted; the caller clears
	// them. The error is ErrRefused if they do not authenticate, and
	// ErrUnknownKeyVersion or ErrRetiredKeyVersion if there is no such key.
	Unwrap(ctx context.Context, w Wrapping, k Wrapped) ([]byte, error)
}

// Wrapped is a data key as the envelope holds it.
type Wrapped struct {
	Version uint32
	Nonce   [nonceSize]byte
	Key     [wrappedSize]byte // The tag is at its end.
}

// Wrapping identifies the secret that a data key is wrapped for. Only this
// package makes one, so that none is without its names and salt.
type Wrapping struct {
	Cluster string
	UserUID string
	Secret  string

	algorithm Algorithm
	salt      hidden
}

// AAD is what the wrapped data key is bound to. The key version is in it, so
// that a changed header fails even where two versions had the same key.
func (w Wrapping) AAD(version uint32) []byte {
	return appendFields(w.aad(purposeWrap), binary.BigEndian.AppendUint32(nil, version))
}

// Context stands for the user, salt included, if the provider derives the
// user's key itself. It reveals nothing of the salt, and without the salt
// nobody can compute the context again.
func (w Wrapping) Context() [sha256.Size]byte {
	return sha256.Sum256(appendFields(nil, []byte(purposeTransit), w.salt()[:], []byte(w.Cluster), []byte(w.UserUID)))
}

// dataAAD is what the encrypted secret is bound to. The key version is not in
// it: a rotation wraps the data key again and does not change the data. Nothing
// is lost by that, since the data key opens these data alone and its wrap is
// bound to the version.
func (w Wrapping) dataAAD() []byte { return w.aad(purposeData) }

func (w Wrapping) aad(purpose string) []byte {
	return appendFields(nil, []byte(purpose), []byte{format}, []byte{byte(w.algorithm)},
		[]byte(w.Cluster), []byte(w.UserUID), []byte(w.Secret))
}
