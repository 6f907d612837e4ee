// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"unicode"
	"unicode/utf8"
)

// maxSubject is how many characters a subject has at most, by OpenID Connect
// Core 1.0, section 2.
const maxSubject = 255

// SubjectKey stands for a person at an identity provider. It reveals neither
// the person nor the provider. It is no secret either, as anybody who knows
// both can compute it.
type SubjectKey [sha256.Size]byte

// KeyOf returns the key of a subject of an issuer, both byte for byte as the
// issuer writes them. The length of each is hashed before it, so that no two
// pairs are the same text.
func KeyOf(issuer, subject string) SubjectKey {
	h := sha256.New()
	writePart(h, issuer)
	writePart(h, subject)
	return SubjectKey(h.Sum(nil))
}

func writePart(h hash.Hash, s string) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(s)))
	h.Write(length[:]) // A hash never fails.
	h.Write([]byte(s))
}

// String returns the key as text: 43 characters of base64url.
func (k SubjectKey) String() string { return base64.RawURLEncoding.EncodeToString(k[:]) }

var errSubjectKey = errors.New("not the key of a subject, which is 43 characters of base64url")

// ParseSubjectKey reads exactly what String returns, and no other text that
// decodes to the same bytes.
func ParseSubjectKey(s string) (SubjectKey, error) {
	var k SubjectKey
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(k) {
		return SubjectKey{}, errSubjectKey
	}
	if k = SubjectKey(b); k.String() != s { // The decoder overlooks line ends.
		return SubjectKey{}, errSubjectKey
	}
	return k, nil
}

// MarshalText implements encoding.TextMarshaler, by String.
func (k SubjectKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler, by ParseSubjectKey.
func (k *SubjectKey) UnmarshalText(text []byte) error {
	parsed, err := ParseSubjectKey(string(text))
	*k = parsed
	return err
}

// ValidSubject reports whether a provider's subject is valid: 1 to 255
// printable characters. Text that could not be decoded is invalid, since
// several such subjects would be the same.
func ValidSubject(subject string) bool {
	if subject == "" || utf8.RuneCountInString(subject) > maxSubject {
		return false
	}
	for _, r := range subject {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
