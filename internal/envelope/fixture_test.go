// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

const (
	testCluster = "hosted-bridge.example"
	testUID     = "6f1c2f0e-6a57-4d5f-9f0a-0d9f3b8a1c11"
	testSecret  = "GITHUB_TOKEN"
)

// canary is a plaintext that must be seen nowhere.
var canary = []byte("canary-7f3a9c41d2b8e605")

// fill returns n bytes that all have that value.
func fill(value byte, n int) []byte { return bytes.Repeat([]byte{value}, n) }

// masterKeys returns a key for each version, all different.
func masterKeys(versions ...uint32) map[uint32][KeySize]byte {
	masters := map[uint32][KeySize]byte{}
	for _, v := range versions {
		masters[v] = [KeySize]byte(fill(0xa0+byte(v), KeySize))
	}
	return masters
}

func ring(t testing.TB, minimum uint32, versions ...uint32) *Keyring {
	t.Helper()
	return must.Value(NewKeyring(masterKeys(versions...), minimum))(t)
}

func keys(t testing.TB, current Provider, others ...Provider) *Keys {
	t.Helper()
	return must.Value(NewKeys(current, others...))(t)
}

func user(t testing.TB, r Provider, cluster, uid string, salt byte) *User {
	t.Helper()
	return must.Value(keys(t, r).User(cluster, uid, fill(salt, SaltSize)))(t)
}

// alice is the user for whom most tests seal, with these key versions.
func alice(t testing.TB, versions ...uint32) *User {
	t.Helper()
	return user(t, ring(t, 0, versions...), testCluster, testUID, 1)
}

func seal(t testing.TB, u *User, secret string, plaintext []byte) []byte {
	t.Helper()
	return must.Value(Seal(t.Context(), rand.Reader, u, secret, plaintext))(t)
}

// join returns the parts one behind the other, in memory of their own.
func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// version returns the key version that the envelope names.
func version(t testing.TB, envelope []byte) uint32 {
	t.Helper()
	h := must.Value(Inspect(envelope))(t)
	return h.Key.Version
}
