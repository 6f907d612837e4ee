// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestNewKeyring(t *testing.T) {
	one := masterKeys(1)[1]
	for _, test := range []struct {
		name    string
		masters map[uint32][KeySize]byte
		minimum uint32
		message string
	}{
		{"refuses no key", nil, 0, "no master key"},
		{"refuses version 0", map[uint32][KeySize]byte{0: one}, 0, "version 0 is not between"},
		{"refuses a version that no int32 holds", map[uint32][KeySize]byte{1 << 31: one}, 0, "version 2147483648 is not between"},
		{"refuses a key of zeroes", map[uint32][KeySize]byte{1: one, 4: {}}, 0, "version 4: the key is all zeroes"},
		{"refuses a rotation to the same key", map[uint32][KeySize]byte{3: one, 8: one}, 0, "versions 3 and 8 are the same key"},
		{"refuses a minimum above all", map[uint32][KeySize]byte{1: one}, 2, "minimum version 2 is above the newest, 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := NewKeyring(test.masters, test.minimum)
			if r != nil || err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("NewKeyring = %v, want %q", err, test.message)
			}
		})
	}
}

func TestKeyringVersions(t *testing.T) {
	r := ring(t, 2, 9, 1, 2, 10)
	if r.KeyID() != (KeyID{AlgorithmLocal, 10}) || r.Minimum() != 2 {
		t.Errorf("current %s, minimum %d; want 10 and 2", r.KeyID(), r.Minimum())
	}
	if diff := cmp.Diff([]uint32{1, 2, 9, 10}, r.Versions()); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	if got := ring(t, 0, 5).Minimum(); got != 1 {
		t.Errorf("minimum %d where none is given, want 1", got)
	}
}

func TestKeyringKeepsItsKeys(t *testing.T) {
	masters := masterKeys(1)
	r := must.Value(NewKeyring(masters, 0))(t)
	sealed := seal(t, user(t, r, testCluster, testUID, 1), testSecret, canary)
	masters[1] = [KeySize]byte{1}
	masters[2] = [KeySize]byte{2}
	if got, err := Open(t.Context(), user(t, r, testCluster, testUID, 1), testSecret, sealed); err != nil || !bytes.Equal(got, canary) {
		t.Errorf("the ring changes with the map that it was made of: %v", err)
	}
}

func TestWithCurrent(t *testing.T) {
	r := ring(t, 2, 1, 2, 3)
	older, err := r.WithCurrent(2)
	if err != nil || older.KeyID().Version != 2 || r.KeyID().Version != 3 {
		t.Fatalf("current %s beside %s, %v; want 2 beside 3", older.KeyID(), r.KeyID(), err)
	}
	if version := version(t, seal(t, user(t, older, testCluster, testUID, 1), testSecret, canary)); version != 2 {
		t.Errorf("seals under version %d, want 2", version)
	}
	newer := seal(t, user(t, r, testCluster, testUID, 1), testSecret, canary)
	if _, err := Open(t.Context(), user(t, older, testCluster, testUID, 1), testSecret, newer); err != nil {
		t.Errorf("does not read the version that is not current yet: %v", err)
	}
	for version, want := range map[uint32]error{0: ErrRetiredKeyVersion, 1: ErrRetiredKeyVersion, 4: ErrUnknownKeyVersion} {
		if _, err := r.WithCurrent(version); !errors.Is(err, want) {
			t.Errorf("WithCurrent(%d): %v, want %v", version, err, want)
		}
	}
}

func TestVersionsThatMayNotBeUsed(t *testing.T) {
	sealed := seal(t, alice(t, 2), testSecret, canary)
	for _, test := range []struct {
		name string
		ring Provider
		err  error
	}{
		{"the ring has the key", ring(t, 0, 1, 2, 3), nil},
		{"the version is the minimum", ring(t, 2, 2, 3), nil},
		{"the version is retired and the key still there", ring(t, 3, 2, 3), ErrRetiredKeyVersion},
		{"the version is retired and the key destroyed", ring(t, 3, 3), ErrRetiredKeyVersion},
		{"the key is destroyed", ring(t, 0, 1, 3), ErrUnknownKeyVersion},
		{"the version is newer than the ring", ring(t, 0, 1), ErrUnknownKeyVersion},
		{"the ring is empty", &Keyring{}, ErrUnknownKeyVersion},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := alice(t, 1)
			u.keys = &Keys{map[Algorithm]Provider{AlgorithmLocal: test.ring}, AlgorithmLocal}
			opened, err := Open(t.Context(), u, testSecret, sealed)
			if !errors.Is(err, test.err) || (err == nil) != bytes.Equal(opened, canary) {
				t.Errorf("Open = %d bytes, %v; want %v", len(opened), err, test.err)
			}
		})
	}
}

func TestUserRefuses(t *testing.T) {
	r, salt, long := ring(t, 0, 1), fill(1, SaltSize), strings.Repeat("x", 254)
	for _, test := range []struct {
		name         string
		cluster, uid string
		salt         []byte
		message      string
	}{
		{"no cluster", "", testUID, salt, ErrBinding.Error()},
		{"a long cluster", long, testUID, salt, ErrBinding.Error()},
		{"no UID", testCluster, "", salt, ErrBinding.Error()},
		{"a long UID", testCluster, long, salt, ErrBinding.Error()},
		{"no salt", testCluster, testUID, nil, "has 0 bytes, it must have 32"},
		{"a short salt", testCluster, testUID, salt[1:], "has 31 bytes, it must have 32"},
		{"a long salt", testCluster, testUID, fill(1, SaltSize+1), "has 33 bytes, it must have 32"},
		{"a salt of zeroes", testCluster, testUID, make([]byte, SaltSize), "all zeroes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			u, err := keys(t, r).User(test.cluster, test.uid, test.salt)
			if u != nil || err == nil || !strings.Contains(err.Error(), test.message) {
				t.Errorf("User: %v, want %q", err, test.message)
			}
		})
	}
}

func TestUserKeepsItsSalt(t *testing.T) {
	salt := fill(1, SaltSize)
	u := must.Value(keys(t, ring(t, 0, 1)).User(testCluster, testUID, salt))(t)
	clear(salt)
	if _, err := Open(t.Context(), alice(t, 1), testSecret, seal(t, u, testSecret, canary)); err != nil {
		t.Errorf("the user's ring changes with the slice that it was made of: %v", err)
	}
}

// Two users have two keys even where the salt is used twice, and so has one
// user with two salts or two master keys.
func TestUserKeysDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, in := range []struct {
		master, salt byte
		uid          string
	}{{1, 1, "alice"}, {1, 1, "bob"}, {1, 2, "alice"}, {2, 1, "alice"}, {1, 1, "alic"}, {1, 1, "alice\x00"}} {
		key, err := deriveUserKey(hide([KeySize]byte(fill(in.master, KeySize))), hide([SaltSize]byte(fill(in.salt, SaltSize))), in.uid)
		if err != nil || len(key) != KeySize {
			t.Fatalf("key of %d bytes, %v", len(key), err)
		}
		if other, found := seen[string(key)]; found {
			t.Errorf("%s has the key of %s", in.uid, other)
		}
		seen[string(key)] = in.uid
	}
}
