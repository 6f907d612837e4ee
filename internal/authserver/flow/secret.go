// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
)

// secretSize is the size of a secret, in bytes.
const secretSize = 32

// NewSecret returns a new secret, a text of 43 characters.
func NewSecret(random io.Reader) (string, error) {
	var b [secretSize]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// NewSecrets returns n new secrets.
func NewSecrets(random io.Reader, n int) ([]string, error) {
	all := make([]string, n)
	for i := range all {
		var err error
		if all[i], err = NewSecret(random); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// IsSecret reports whether a text has the form of a secret.
func IsSecret(text string) bool { return secretForm.MatchString(text) }

// Hash returns the hash of a secret. The store has hashes only, so that its readers
// learn no secret. A secret has 256 bits, so that one round is enough.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Same compares two texts in a time that depends on their lengths only.
func Same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
