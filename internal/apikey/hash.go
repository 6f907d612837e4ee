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

// ErrBadHash says that a stored hash is not one. It does not quote it: people
// paste the key itself where its hash belongs.
var ErrBadHash = errors.New("not a key's hash: the form is sha256: and 64 lower-case hex digits")

// Hash is what is stored of a key. One round of SHA-256 is enough: the secret
// has more than 128 random bits, so that there is nothing to guess.
type Hash [sha256.Size]byte

// HashOf returns the hash of the whole key, kind and checksum included.
func HashOf(key string) Hash {
	var room [64]byte // A key has fewer characters.
	return sha256.Sum256(append(room[:0], key...))
}

// ParseHash reads what String writes, and no other spelling of it; otherwise
// the error is ErrBadHash.
func ParseHash(s string) (Hash, error) {
	digits, found := strings.CutPrefix(s, hashPrefix)
	if !found || len(digits) != hex.EncodedLen(sha256.Size) || strings.ToLower(digits) != digits {
		return Hash{}, ErrBadHash
	}
	var h Hash
	if _, err := hex.Decode(h[:], []byte(digits)); err != nil {
		return Hash{}, ErrBadHash // The decoder's error would quote the input.
	}
	return h, nil
}

// String returns the hash as it is stored.
func (h Hash) String() string { return hashPrefix + hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler, by String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, by ParseHash.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	*h = parsed
	return err
}

// Match returns the index of the hash that the presented key has, of several
// equal ones the last, or -1. It compares with every hash, so that the time
// tells how many there are and neither which one is equal nor how nearly.
func Match(presented string, hashes []Hash) (index int, ok bool) {
	sum := HashOf(presented)
	found := -1
	for i := range hashes {
		equal := subtle.ConstantTimeCompare(sum[:], hashes[i][:])
		found = subtle.ConstantTimeSelect(equal, i, found)
	}
	return found, found >= 0
}
