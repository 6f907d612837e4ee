// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package oauth

import "hash/maphash"

// userSecrets are the parts of the user's secrets that a Source uses. Values are remembered as
// hashes.
type userSecrets struct {
	lookup SecretFunc
	// begun says that the secrets were read. credential is the hash of the client's secret at that
	// time.
	begun      bool
	credential uint64
	// login holds the hashes of the values that belong to the current login: the value that it
	// started with, and all values stored since.
	login map[uint64]bool
	seed  maphash.Seed
}

func newUserSecrets(lookup SecretFunc) *userSecrets {
	return &userSecrets{lookup: lookup, login: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

// credentialChanged records the value of the client's secret, and reports whether it changed.
func (u *userSecrets) credentialChanged(name string) bool {
	var hash uint64 // Zero if the secret is not set.
	if value, ok := u.lookup(name); ok && name != "" {
		hash = maphash.String(u.seed, value)
	}
	changed := hash != u.credential
	u.credential = hash
	return changed
}

// isOfLogin reports whether value belongs to the current login.
func (u *userSecrets) isOfLogin(value []byte) bool { return u.login[maphash.Bytes(u.seed, value)] }

// addToLogin records that value belongs to the current login.
func (u *userSecrets) addToLogin(value []byte) { u.login[maphash.Bytes(u.seed, value)] = true }

// forgetLogin removes all values of the current login.
func (u *userSecrets) forgetLogin() { clear(u.login) }
