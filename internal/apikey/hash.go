// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"strings"
)

// hashPrefix names the algorithm, so that another can stand beside it.
const hashPrefix = "sha256:"

var errBadHash = errors.New("not a key's hash: the form is sha256: and 64 lower-case hex digits")

// Hash is what is stored of a key. One round of SHA-256 is enough: the secret
// has 128 random bits, so that there is nothing to guess.
type Hash [sha256.Size]byte

// HashOf returns the hash of the whole key.
func HashOf(key string) Hash { return sha256.Sum256([]byte(key)) }

// ParseHash reads what String writes, and no other spelling of it.
func ParseHash(s string) (Hash, error) {
	digits, found := strings.CutPrefix(s, hashPrefix)
	if !found || len(digits) != hex.EncodedLen(sha256.Size) || strings.ToLower(digits) != digits {
		return Hash{}, errBadHash
	}
	var h Hash
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return Hash{}, errBadHash // The decoder's error would quote the input.
	}
	return h, nil
}

// String returns the hash as it is stored.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// Match returns the index of the hash that the presented key has. It compares
// with every hash, in the same time whichever one is equal or none.
func Match(presented string, hashes []Hash) (index int, ok bool) {
	sum := HashOf(presented)
	found := -1
	for i := range hashes {
		equal := subtle.ConstantTimeCompare(sum[:], hashes[i][:])
		found = subtle.ConstantTimeSelect(equal, i, found)
	}
	return found, found >= 0
}
