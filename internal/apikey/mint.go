// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"errors"
	"fmt"
	"io"
)

// errUnknownKind does not quote the kind: it would quote a whole key that was
// passed in its place.
var errUnknownKind = errors.New("mint a key: the kind must be hb, pub or hbs")

// Mint makes a new key from random, which must be the system's. The key is
// shown once and never stored. An error of random is returned wrapped.
func Mint(random io.Reader, k Kind) (key, id string, err error) {
	if !k.known() {
		return "", "", errUnknownKind
	}
	drawn, err := letters(random, idLength+randomLength)
	if err != nil {
		return "", "", fmt.Errorf("mint a key: %w", err)
	}
	id = drawn[:idLength]
	body := string(k) + "_" + id + "_" + drawn[idLength:]
	return body + checksum(body), id, nil
}

// letters returns n characters of the alphabet, each as likely as any other:
// bytes that do not divide evenly among 62, 8 of 256, are drawn again.
func letters(random io.Reader, n int) (string, error) {
	const limit = 256 - 256%len(alphabet)
	out := make([]byte, 0, n)
	drawn := make([]byte, n)
	for len(out) < n {
		batch := drawn[:n-len(out)]
		if _, err := io.ReadFull(random, batch); err != nil {
			return "", fmt.Errorf("read randomness: %w", err)
		}
		for _, b := range batch {
			if int(b) < limit {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return string(out), nil
}
