// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "regexp"

// SecretNamePattern is what a secret's name may be, with SecretNameLimit as its
// length in bytes. No name begins or ends with a dot or has two in a row, and
// none needs escaping in a URL. The CEL rule on SecretName repeats it, and a
// test holds them together.
const (
	SecretNamePattern = `^([A-Z][A-Z0-9_]{0,63}|[A-Za-z0-9_-]{1,62}([.][A-Za-z0-9_-]{1,62})+)$`
	SecretNameLimit   = 64
)

var secretNameRegexp = regexp.MustCompile(SecretNamePattern)

// ValidSecretName reports whether a secret can have that name: that of an
// environment variable, or of a file with a dot in it.
func ValidSecretName(name string) bool {
	return len(name) <= SecretNameLimit && secretNameRegexp.MatchString(name)
}
