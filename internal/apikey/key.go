// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apikey mints, parses and compares the keys of users and publishers.
// A key is <kind>_<id>_<secret>: the id finds the entry, the secret proves the
// owner, and a checksum at the end tells a mistyped key from an unknown one
// without a look-up. Only hashes of keys are ever stored. The package is pure.
package apikey

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Kind is a key's first part: whose key it is.
type Kind string

// The kinds.
const (
	KindUser      Kind = "hb"
	KindPublisher Kind = "pub"
)

const (
	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

	// idLength gives 71 bits: ids are public and need only be distinct.
	idLength = 12
	// randomLength gives 130 bits, since 62^22 > 2^130: the secret has 128.
	randomLength = 22
	// checksumLength holds a CRC-32, since 62^6 > 2^32.
	checksumLength = 6
)

// errMalformed holds nothing of what was presented: it may be a key with one
// character wrong.
var errMalformed = errors.New("not an API key: the form is hb_<id>_<secret>, with 12 and 28 letters or digits")

// Key is the public part of a key.
type Key struct {
	Kind Kind
	ID   string
}

// Mint makes a new key from random. The key is shown once and never stored.
func Mint(random io.Reader, kind Kind) (key, id string, err error) {
	if kind != KindUser && kind != KindPublisher {
		return "", "", fmt.Errorf("mint a key: kind %q is not %s or %s", kind, KindUser, KindPublisher)
	}
	id, err = letters(random, idLength)
	if err != nil {
		return "", "", fmt.Errorf("mint a key: %w", err)
	}
	secret, err := letters(random, randomLength)
	if err != nil {
		return "", "", fmt.Errorf("mint a key: %w", err)
	}
	body := string(kind) + "_" + id + "_" + secret
	return body + checksum(body), id, nil
}

// Parse returns the public part of a key whose form and checksum are right.
// That says nothing of whether the key opens anything.
func Parse(s string) (Key, error) {
	kind, rest, _ := strings.Cut(s, "_")
	id, secret, _ := strings.Cut(rest, "_")
	if Kind(kind) != KindUser && Kind(kind) != KindPublisher ||
		len(id) != idLength || len(secret) != randomLength+checksumLength || !isBase62(id) || !isBase62(secret) {
		return Key{}, errMalformed
	}
	body := s[:len(s)-checksumLength]
	if checksum(body) != s[len(body):] {
		return Key{}, errMalformed
	}
	return Key{Kind: Kind(kind), ID: id}, nil
}

// letters returns n characters of the alphabet, each as likely as any other:
// bytes that do not divide evenly among 62 are drawn again.
func letters(random io.Reader, n int) (string, error) {
	const limit = 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	var one [1]byte
	for len(out) < n {
		if _, err := io.ReadFull(random, one[:]); err != nil {
			return "", fmt.Errorf("read randomness: %w", err)
		}
		if int(one[0]) < limit {
			out = append(out, alphabet[int(one[0])%len(alphabet)])
		}
	}
	return string(out), nil
}

// checksum returns the CRC-32 of body in base 62. It finds every change of one
// character, and is no protection against anybody.
func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	var out [checksumLength]byte
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = alphabet[sum%uint32(len(alphabet))]
		sum /= uint32(len(alphabet))
	}
	return string(out[:])
}

func isBase62(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}
