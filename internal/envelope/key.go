// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
)

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
