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

// The forms of a stored hash. Each names the algorithm and what the hash covers,
// so that others can stand beside them.
const (
	// keyForm is of the key alone.
	keyForm = "sha256:"
	// userForm is of the user id, a colon and the key. A copy of such a hash in
	// another user's HostedBridge is no key's hash there.
	userForm = "user-sha256:"
)

// ErrBadHash says that a stored hash is invalid. It does not quote it: people
// paste the key itself where its hash belongs.
var ErrBadHash = errors.New("not a key's hash: the form is user-sha256: or sha256: and 64 lower-case hex digits")

// Hash is the stored form of a key. One round of SHA-256 is enough: the secret
// has more than 128 random bits and cannot be guessed.
type Hash struct {
	Sum [sha256.Size]byte
	// Bound means that the hash covers the id of the key's user too.
	Bound bool
}

// HashOf returns the hash of the whole key, kind and checksum included.
func HashOf(key string) Hash {
	var room [64]byte // A key has fewer characters.
	return Hash{Sum: sha256.Sum256(append(room[:0], key...))}
}

// HashFor returns the hash of the whole key that is bound to the user. There is
// no colon in a key, so that no other user and key have the same bytes.
func HashFor(user, key string) Hash {
	var room [128]byte // A user id has at most 63 characters, a key fewer than 64.
	return Hash{Sum: sha256.Sum256(append(append(append(room[:0], user...), ':'), key...)), Bound: true}
}

// ParseHash reads what String writes, and no other spelling of it; otherwise
// the error is ErrBadHash.
func ParseHash(s string) (Hash, error) {
	var h Hash
	digits, found := strings.CutPrefix(s, keyForm)
	if !found {
		digits, h.Bound = strings.CutPrefix(s, userForm)
	}
	if !found && !h.Bound || len(digits) != hex.EncodedLen(len(h.Sum)) || strings.ToLower(digits) != digits {
		return Hash{}, ErrBadHash
	}
	if _, err := hex.Decode(h.Sum[:], []byte(digits)); err != nil {
		return Hash{}, ErrBadHash // The decoder's error would quote the input.
	}
	return h, nil
}

// String returns the hash as it is stored.
func (h Hash) String() string {
	form := keyForm
	if h.Bound {
		form = userForm
	}
	return form + hex.EncodeToString(h.Sum[:])
}

// MarshalText implements encoding.TextMarshaler, by String.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, by ParseHash.
func (h *Hash) UnmarshalText(text []byte) error {
	parsed, err := ParseHash(string(text))
	*h = parsed
	return err
}

// IsOf reports whether h is the hash of the presented key as a key of the user.
// Its time reveals the form of h, and not how nearly the two are equal.
func (h Hash) IsOf(user, presented string) bool {
	var sum Hash
	if h.Bound {
		sum = HashFor(user, presented)
	} else {
		sum = HashOf(presented)
	}
	return subtle.ConstantTimeCompare(sum.Sum[:], h.Sum[:]) == 1
}

// Match returns the index of the hash of the presented key alone, or -1. It
// also returns -1 if several are equal, since one of them must be a copy. It
// compares with every hash, so that the time reveals their number, and neither
// which one is equal nor how nearly.
func Match(presented string, hashes []Hash) (index int, ok bool) {
	sum := HashOf(presented)
	found, equals := -1, 0
	for i := range hashes {
		equal := subtle.ConstantTimeCompare(sum.Sum[:], hashes[i].Sum[:])
		found = subtle.ConstantTimeSelect(equal, i, found)
		equals += equal
	}
	if equals != 1 {
		return -1, false
	}
	return found, true
}
