// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Bundle is an installed package, which the installation keeps.
type Bundle struct {
	// Digest names its content: sha256: and 64 hexadecimal digits.
	Digest string `json:"digest"`
	// Bytes is how much the content has, uncompressed.
	Bytes int64 `json:"bytes"`
	// Architecture is that of the machines on which it runs, as Go names it.
	Architecture string `json:"architecture"`
}

var bundleDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// validate refuses a bundle that cannot be fetched.
func (b *Bundle) validate() error {
	switch {
	case b == nil:
		return nil
	case !bundleDigest.MatchString(b.Digest):
		return fmt.Errorf("program.bundle.digest %.80q must be sha256: and 64 hexadecimal digits", b.Digest)
	case b.Bytes <= 0:
		return errors.New("program.bundle.bytes must be greater than 0")
	case b.Architecture == "":
		return errors.New("program.bundle.architecture is missing")
	}
	return nil
}

// Hex returns the hexadecimal part of the digest, which is the name of the bundle's folder.
func (b *Bundle) Hex() string { return strings.TrimPrefix(b.Digest, "sha256:") }
