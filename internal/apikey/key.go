// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apikey mints, parses and compares the keys of users, publishers and directories. A
// key is <kind>_<id>_<secret>: the id finds the entry, the secret proves the
// owner, and a checksum at the end distinguishes a mistyped key from an unknown
// one without a look-up. Only hashes of keys are ever stored, and no error
// contains any part of the presented key. The caller checks whether a key has
// expired. The package is pure.
package apikey

import (
	"errors"
	"strings"
)

// Kind is a key's first part: the kind of its owner.
type Kind string

// The kinds.
const (
	KindUser      Kind = "hb"
	KindPublisher Kind = "pub"
	KindDirectory Kind = "hbs"
)

const (
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// idLength gives 71 bits, since 62^12 > 2^71: ids are public and need only
	// be distinct.
	idLength = 12
	// randomLength gives 130 bits, since 62^22 > 2^130: 128 are promised.
	randomLength = 22
	// checksumLength holds a CRC-32, since 62^6 > 2^32.
	checksumLength = 6
)

var (
	// ErrMalformed says that the input does not have the form of a key.
	ErrMalformed = errors.New("not an API key: the form is <kind>_<id>_<secret>, kind hb, pub or hbs, then 12 and 28 letters or digits")
	// ErrChecksum says that the input has the form of a key and was never
	// minted: most likely it was mistyped.
	ErrChecksum = errors.New("not an API key: the checksum is wrong, so at least one character is")
)

// Key is the public part of a key.
type Key struct {
	Kind Kind
	ID   string
}

// Parse returns the public part of a key whose form and checksum are right,
// ErrMalformed or ErrChecksum otherwise. It does not check whether the key is
// valid.
func Parse(s string) (Key, error) {
	kind, rest, _ := strings.Cut(s, "_")
	id, secret, _ := strings.Cut(rest, "_")
	if !Kind(kind).known() || !isBase62(id, idLength) || !isBase62(secret, randomLength+checksumLength) {
		return Key{}, ErrMalformed
	}
	body := s[:len(s)-checksumLength]
	if sum := checksumDigits(body); string(sum[:]) != s[len(body):] {
		return Key{}, ErrChecksum
	}
	return Key{Kind: Kind(kind), ID: id}, nil
}

func (k Kind) known() bool { return k == KindUser || k == KindPublisher || k == KindDirectory }

func isBase62(s string, length int) bool {
	if len(s) != length {
		return false
	}
	for i := range len(s) {
		if strings.IndexByte(alphabet, s[i]) < 0 {
			return false
		}
	}
	return true
}
