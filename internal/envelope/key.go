// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package envelope is the format in which a user's secrets are stored: each is
// encrypted under a key of its own, which is encrypted under a key derived for
// that user from the installation's master key. docs/spec/envelope.md gives
// the format byte by byte. The package is pure; no error holds a key or a
// plaintext.
package envelope

import (
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
)

const (
	// KeySize is the size of master keys, user keys and data keys in bytes:
	// that of AES-256.
	KeySize = 32
	// SaltSize is the size of a user's salt in bytes, that of HKDF-SHA256's
	// output. It is random, so that a user's key is gone with it.
	SaltSize = 32

	// userKeyPurpose separates the keys of this package from all others that
	// are derived from a master key.
	userKeyPurpose = "hosted-bridge/envelope/v1/user-key"
)

// Errors of a key ring. They are about versions, so that a caller can say which
// key is missing.
var (
	// ErrUnknownKeyVersion: the ring has no master key of that version.
	ErrUnknownKeyVersion = errors.New("no master key of that version")
	// ErrRetiredKeyVersion: the ring has the key and is told not to use it.
	ErrRetiredKeyVersion = errors.New("master key of that version is retired")
)

// Keyring holds the master keys by version. The highest version seals; every
// version from the minimum on opens.
type Keyring struct {
	masters map[uint32][KeySize]byte
	current uint32
	minimum uint32
}

// NewKeyring returns a ring of these master keys. Versions begin at 1; minimum
// is the lowest version that may still open, 0 for all.
func NewKeyring(masters map[uint32][KeySize]byte, minimum uint32) (*Keyring, error) {
	if len(masters) == 0 {
		return nil, errors.New("key ring: there is no master key")
	}
	if _, ok := masters[0]; ok {
		return nil, errors.New("key ring: version 0: versions begin at 1")
	}
	current := slices.Max(slices.Collect(maps.Keys(masters)))
	if minimum > current {
		return nil, fmt.Errorf("key ring: minimum version %d is above the newest, %d", minimum, current)
	}
	for version, key := range masters {
		if key == ([KeySize]byte{}) {
			return nil, fmt.Errorf("key ring: version %d: the key is all zeroes", version)
		}
	}
	return &Keyring{masters: maps.Clone(masters), current: current, minimum: minimum}, nil
}

// Current returns the version that seals.
func (r *Keyring) Current() uint32 { return r.current }

// UserRing seals and opens one user's secrets in one installation.
type UserRing struct {
	ring    *Keyring
	cluster string
	userUID string
	salt    [SaltSize]byte
}

// User returns the ring of the user with that UID and salt. The cluster names
// the installation: an envelope that is carried to another does not open there.
func (r *Keyring) User(cluster, userUID string, salt []byte) (*UserRing, error) {
	if cluster == "" || userUID == "" {
		return nil, errors.New("user ring: the cluster or the user's UID is empty")
	}
	if len(salt) != SaltSize {
		return nil, fmt.Errorf("user ring: the salt has %d bytes, it must have %d", len(salt), SaltSize)
	}
	u := &UserRing{ring: r, cluster: cluster, userUID: userUID}
	copy(u.salt[:], salt)
	return u, nil
}

// key derives the user's key of a version.
func (u *UserRing) key(version uint32) ([]byte, error) {
	master, ok := u.ring.masters[version]
	if !ok {
		return nil, fmt.Errorf("key version %d: %w", version, ErrUnknownKeyVersion)
	}
	if version < u.ring.minimum {
		return nil, fmt.Errorf("key version %d: %w", version, ErrRetiredKeyVersion)
	}
	info := string(appendFields(nil, []byte(userKeyPurpose), []byte(u.userUID)))
	key, err := hkdf.Key(sha256.New, master[:], u.salt[:], info, KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive the user's key: %w", err)
	}
	return key, nil
}
