// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
)

// SubjectKey is who logged in: a person or program as an identity provider names
// it. It is a hash, so that it can be shown to programs that shall not learn who
// that is, and is of one size whatever the provider's names are.
type SubjectKey [sha256.Size]byte

// KeyOf returns the key of an issuer's subject: the SHA-256 of both, each after
// its length in 8 bytes, so that no other two make the same bytes. The issuer is
// taken as it is written: one with a slash at its end is another.
func KeyOf(issuer, subject string) SubjectKey {
	var k SubjectKey
	h := sha256.New()
	for _, part := range []string{issuer, subject} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = h.Write(length[:])
		_, _ = h.Write([]byte(part))
	}
	h.Sum(k[:0])
	return k
}

// String returns the key as 43 characters of base64url.
func (k SubjectKey) String() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

var errSubjectKey = errors.New("a subject's key is 43 characters of base64url")

// ParseSubjectKey reads what String returns, and nothing else: of the texts that
// base64 takes for the same bytes one alone is good. Its error does not quote
// the text.
func ParseSubjectKey(text string) (SubjectKey, error) {
	var k SubjectKey
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) != len(k) || base64.RawURLEncoding.EncodeToString(raw) != text {
		return SubjectKey{}, errSubjectKey
	}
	copy(k[:], raw)
	return k, nil
}
