// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
)

// SaltSize is the size of a user's salt in bytes, that of SHA-256's output.
// The salt is random, so that without it the user's keys are gone.
const SaltSize = sha256.Size

// UserRing seals and opens one user's secrets in one installation. It never
// changes, so it may be shared.
type UserRing struct {
	ring    *Keyring
	cluster string
	userUID string
	salt    hidden
}

// User returns the ring of the user with that UID and salt. The cluster names
// the installation: an envelope that is carried to another does not open
// there. The UID is one that nobody gets again, so that who takes over a
// user's name does not take over the secrets.
func (r *Keyring) User(cluster, userUID string, salt []byte) (*UserRing, error) {
	if !bindable(cluster) || !bindable(userUID) {
		return nil, fmt.Errorf("user ring: %w", ErrBinding)
	}
	if len(salt) != SaltSize {
		return nil, fmt.Errorf("user ring: the salt has %d bytes, it must have %d", len(salt), SaltSize)
	}
	if [SaltSize]byte(salt) == ([SaltSize]byte{}) {
		return nil, errors.New("user ring: the salt is all zeroes")
	}
	return &UserRing{ring: r, cluster: cluster, userUID: userUID, salt: hide([SaltSize]byte(salt))}, nil
}

// wrapper returns the cipher that wraps this user's data keys under a version
// of the master key.
func (u *UserRing) wrapper(version uint32) (cipher.AEAD, error) {
	master, err := u.ring.master(version)
	if err != nil {
		return nil, err
	}
	key, err := deriveUserKey(master, u.salt, u.userUID)
	if err != nil {
		return nil, err
	}
	defer clear(key)
	return newGCM(key)
}

// deriveUserKey is HKDF-SHA256. The UID is in the info as well as the salt
// being the user's own, so that a salt used twice by mistake still gives two
// users two keys.
func deriveUserKey(master, salt hidden, userUID string) ([]byte, error) {
	info := appendFields(nil, []byte(purposeUserKey), []byte(userUID))
	key, err := hkdf.Key(sha256.New, master()[:], salt()[:], string(info), KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive the user's key: %w", err)
	}
	return key, nil
}

// newGCM returns AES-256-GCM with its usual nonce of 12 and tag of 16 bytes.
// It is not the variant that draws nonces itself, because randomness is an
// argument here: without that there could be no test vectors.
func newGCM(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("use a key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("use a key: %w", err)
	}
	return aead, nil
}
