// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"encoding/hex"
	"errors"
	"hash"
	"regexp"
	"strings"
)

// Digest is "sha256:" and the SHA-256 of a bundle's uncompressed tar in 64
// lower-case hexadecimal digits.
type Digest string

const digestPrefix = "sha256:"

var digestForm = regexp.MustCompile(`^` + digestPrefix + `[0-9a-f]{64}$`)

// ParseDigest returns the digest that a text is.
func ParseDigest(text string) (Digest, error) {
	if !digestForm.MatchString(text) {
		return "", errors.New("this is no digest of a bundle: write sha256: and 64 lower-case hexadecimal digits")
	}
	return Digest(text), nil
}

// Hex returns the digest without its prefix, which is a name for files.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), digestPrefix) }

func digestOf(h hash.Hash) Digest { return Digest(digestPrefix + hex.EncodeToString(h.Sum(nil))) }
