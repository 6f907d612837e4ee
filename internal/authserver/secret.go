// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package authserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// secretSize is the size in bytes of what nobody must guess.
const secretSize = 32

// secret returns new randomness as text of 43 characters.
func (s *Server) secret() (string, error) {
	var b [secretSize]byte
	if _, err := io.ReadFull(s.Random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}

// secrets returns n of them.
func (s *Server) secrets(n int) ([]string, error) {
	all := make([]string, n)
	for i := range all {
		var err error
		if all[i], err = s.secret(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// secretForm is the form of a secret.
var secretForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// hashOf returns what is stored of a secret: who reads the store can do nothing
// with it. A secret has 256 bits, so that one round is enough.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// same compares in a time that tells nothing of the texts but their lengths.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// kind is the beginning of a credential, by which people and scanners see what
// it is.
type kind string

// The kinds of credentials.
const (
	kindCode    kind = "hbc_"
	kindRefresh kind = "hbr_"
)

// credential is a code or a refresh token: whose grant it is of, and what proves
// it. Neither half is known to anybody but who was given it.
type credential struct{ grant, proof string }

func (c credential) text(k kind) string { return string(k) + c.grant + c.proof }

var errCredential = errors.New("not a credential of this kind")

// parseCredential returns a credential of its text.
func parseCredential(k kind, text string) (credential, error) {
	const half = 43
	if len(text) != len(k)+2*half || text[:len(k)] != string(k) {
		return credential{}, errCredential
	}
	c := credential{text[len(k) : len(k)+half], text[len(k)+half:]}
	if !secretForm.MatchString(c.grant) || !secretForm.MatchString(c.proof) {
		return credential{}, errCredential
	}
	return c, nil
}
