// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

const (
	// KeySize is the size of master keys, user keys and data keys in bytes:
	// that of AES-256.
	KeySize = 32

	// maxKeyVersion is the highest version of a master key: the API shows it
	// as an int32.
	maxKeyVersion = math.MaxInt32
)

// usable reports whether an envelope can name the version.
func usable(version uint32) bool { return version >= 1 && version <= maxKeyVersion }

// Keyring is the provider that holds the master keys in this process, by
// version. The current version wraps; every version from the minimum on
// unwraps. It never changes, so it may be shared.
type Keyring struct {
	masters map[uint32]hidden
	current uint32
	minimum uint32
}

// NewKeyring returns a ring of these master keys; the highest version is
// current. Versions begin at 1; minimum is the lowest that may still open, 0
// for all. Keys that are obviously wrong are refused: none, one of all zeroes,
// the same one under two versions.
func NewKeyring(masters map[uint32][KeySize]byte, minimum uint32) (*Keyring, error) {
	if len(masters) == 0 {
		return nil, errors.New("key ring: there is no master key")
	}
	r := &Keyring{masters: make(map[uint32]hidden, len(masters)), minimum: max(minimum, 1)}
	seen := map[[KeySize]byte]uint32{{}: 0}
	for _, version := range slices.Sorted(maps.Keys(masters)) {
		if !usable(version) {
			return nil, fmt.Errorf("key ring: version %d is not between 1 and %d", version, maxKeyVersion)
		}
		key := masters[version]
		if other, found := seen[key]; found && other == 0 {
			return nil, fmt.Errorf("key ring: version %d: the key is all zeroes", version)
		} else if found {
			return nil, fmt.Errorf("key ring: versions %d and %d are the same key", other, version)
		}
		seen[key] = version
		r.masters[version] = hide(key)
		r.current = version
	}
	if r.minimum > r.current {
		return nil, fmt.Errorf("key ring: minimum version %d is above the newest, %d", r.minimum, r.current)
	}
	return r, nil
}

// WithCurrent returns the ring with another version as the one that wraps. A
// rotation needs it if several processes share the envelopes: each must be able
// to read the new version before any of them writes it.
func (r *Keyring) WithCurrent(version uint32) (*Keyring, error) {
	if _, err := r.master(version); err != nil {
		return nil, fmt.Errorf("key ring: current version: %w", err)
	}
	return &Keyring{masters: r.masters, current: version, minimum: r.minimum}, nil
}

// KeyID names the version that wraps.
func (r *Keyring) KeyID() KeyID { return KeyID{AlgorithmLocal, r.current} }

// Minimum returns the lowest version that unwraps, at least 1.
func (r *Keyring) Minimum() uint32 { return r.minimum }

// Versions returns the versions whose keys the ring has, retired ones too, the
// lowest first.
func (r *Keyring) Versions() []uint32 { return slices.Sorted(maps.Keys(r.masters)) }

// Wrap encrypts a data key under the user's key of the current version. It
// reads 12 bytes of randomness, the nonce. GCM allows 2^32 random nonces for a
// key: one user's secrets would have to be written every second for 136 years.
func (r *Keyring) Wrap(_ context.Context, random io.Reader, w Wrapping, dataKey []byte) (Wrapped, error) {
	if len(dataKey) != KeySize {
		return Wrapped{}, fmt.Errorf("the data key has %d bytes, it must have %d", len(dataKey), KeySize)
	}
	aead, err := r.cipher(w, r.current)
	if err != nil {
		return Wrapped{}, err
	}
	wrapped := Wrapped{Version: r.current}
	if _, err := io.ReadFull(random, wrapped.Nonce[:]); err != nil {
		return Wrapped{}, fmt.Errorf("read randomness: %w", err)
	}
	aead.Seal(wrapped.Key[:0], wrapped.Nonce[:], dataKey, w.AAD(r.current))
	return wrapped, nil
}

// Unwrap decrypts a data key.
func (r *Keyring) Unwrap(_ context.Context, w Wrapping, k Wrapped) ([]byte, error) {
	aead, err := r.cipher(w, k.Version)
	if err != nil {
		return nil, err
	}
	dataKey, err := aead.Open(nil, k.Nonce[:], k.Key[:], w.AAD(k.Version))
	if err != nil {
		return nil, ErrRefused
	}
	return dataKey, nil
}

// cipher returns the one that wraps the user's data keys under a version of
// the master key.
func (r *Keyring) cipher(w Wrapping, version uint32) (cipher.AEAD, error) {
	master, err := r.master(version)
	if err != nil {
		return nil, err
	}
	key, err := deriveUserKey(master, w.salt, w.UserUID)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return newGCM(key)
}

// master returns the master key of a version that may be used.
func (r *Keyring) master(version uint32) (hidden, error) {
	if version < r.minimum {
		return nil, fmt.Errorf("key version %d: %w", version, ErrRetiredKeyVersion)
	}
	key, found := r.masters[version]
	if !found {
		return nil, fmt.Errorf("key version %d: %w", version, ErrUnknownKeyVersion)
	}
	return key, nil
}
