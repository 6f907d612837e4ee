// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

const canary = "canary-7f3a: a secret that must not be seen"

// fill returns n bytes that all have that value.
func fill(value byte, n int) []byte { return bytes.Repeat([]byte{value}, n) }

func ring(t testing.TB, minimum uint32, versions ...uint32) *Keyring {
	t.Helper()
	masters := map[uint32][KeySize]byte{}
	for _, v := range versions {
		masters[v] = [KeySize]byte(fill(byte(v), KeySize))
	}
	r, err := NewKeyring(masters, minimum)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func user(t testing.TB, r *Keyring, cluster, uid string, salt byte) *UserRing {
	t.Helper()
	u, err := r.User(cluster, uid, fill(salt, SaltSize))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func seal(t testing.TB, u *UserRing, secret, plaintext string) []byte {
	t.Helper()
	sealed, err := Seal(rand.Reader, u, secret, []byte(plaintext))
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestWhatIsSealedOpens(t *testing.T) {
	u := user(t, ring(t, 0, 1), "cluster", "alice", 1)
	for _, plaintext := range []string{"", "x", canary, strings.Repeat("x", MaxPlaintext)} {
		sealed := seal(t, u, "TOKEN", plaintext)
		if len(sealed) != len(plaintext)+Overhead {
			t.Errorf("%d bytes seal to %d, want %d more", len(plaintext), len(sealed), Overhead)
		}
		got, err := Open(u, "TOKEN", sealed)
		if err != nil || string(got) != plaintext {
			t.Errorf("%d bytes do not open: %v", len(plaintext), err)
		}
		if len(plaintext) > 1 && bytes.Contains(sealed, []byte(plaintext)) {
			t.Error("the plaintext is in the envelope")
		}
	}
}

func TestEachSealingIsAnother(t *testing.T) {
	u := user(t, ring(t, 0, 1), "cluster", "alice", 1)
	a, b := seal(t, u, "TOKEN", canary), seal(t, u, "TOKEN", canary)
	for _, part := range [][2]int{{wrapNonceAt, wrappedAt}, {wrappedAt, dataNonceAt}, {dataNonceAt, dataAt}, {dataAt, len(a)}} {
		if bytes.Equal(a[part[0]:part[1]], b[part[0]:part[1]]) {
			t.Errorf("bytes %d to %d are equal in two sealings", part[0], part[1])
		}
	}
}

func TestEveryMutantIsRefused(t *testing.T) {
	r := ring(t, 0, 1, 2)
	u := user(t, r, "cluster", "alice", 1)
	sealed := seal(t, u, "TOKEN", canary)
	refuse := func(name string, u *UserRing, secret string, envelope []byte) {
		t.Helper()
		plaintext, err := Open(u, secret, envelope)
		if err == nil || plaintext != nil {
			t.Errorf("%s opens", name)
			return
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the error holds the plaintext", name)
		}
		// Rewrap looks only at the data key: what it lets through must still
		// not open.
		if rewrapped, _, err := Rewrap(rand.Reader, u, secret, envelope); err == nil {
			if _, err := Open(u, secret, rewrapped); err == nil {
				t.Errorf("%s opens once it is rewrapped", name)
			}
		}
	}
	for bit := range len(sealed) * 8 {
		mutant := bytes.Clone(sealed)
		mutant[bit/8] ^= 1 << (bit % 8)
		refuse(fmt.Sprintf("bit %d flipped", bit), u, "TOKEN", mutant)
	}
	for size := range len(sealed) {
		refuse(fmt.Sprintf("cut to %d bytes", size), u, "TOKEN", sealed[:size])
	}
	refuse("one byte more", u, "TOKEN", append(bytes.Clone(sealed), 0))
	refuse("a byte before", u, "TOKEN", append([]byte{0}, sealed...))
	refuse("another name", u, "TOKEM", sealed)
	refuse("a name with a byte moved from the user's UID", user(t, r, "cluster", "alic", 1), "eTOKEN", sealed)
	refuse("a user's UID with a byte moved from the cluster", user(t, r, "cluste", "ralice", 1), "TOKEN", sealed)
	refuse("another user", user(t, r, "cluster", "bob", 1), "TOKEN", sealed)
	refuse("another salt", user(t, r, "cluster", "alice", 2), "TOKEN", sealed)
	refuse("another cluster", user(t, r, "other", "alice", 1), "TOKEN", sealed)

	other := seal(t, u, "OTHER", canary)
	refuse("the data of another secret", u, "TOKEN", append(bytes.Clone(sealed[:dataNonceAt]), other[dataNonceAt:]...))
	refuse("the data key of another secret", u, "TOKEN", append(bytes.Clone(other[:dataNonceAt]), sealed[dataNonceAt:]...))
	swapped := append(bytes.Clone(sealed[:wrapNonceAt]), sealed[dataNonceAt:dataAt]...)
	refuse("the nonces exchanged", u, "TOKEN", append(append(append(swapped, sealed[wrappedAt:dataNonceAt]...), sealed[wrapNonceAt:wrappedAt]...), sealed[dataAt:]...))
	for _, version := range []uint32{0, 1, 3, 1 << 31} {
		mutant := bytes.Clone(sealed)
		binary.BigEndian.PutUint32(mutant[versionAt:], version)
		refuse(fmt.Sprintf("key version %d", version), u, "TOKEN", mutant)
	}
}

func TestAHeaderWithAnotherVersionOfTheSameKeyIsRefused(t *testing.T) {
	same := [KeySize]byte(fill(9, KeySize))
	r, err := NewKeyring(map[uint32][KeySize]byte{1: same, 2: same}, 0)
	if err != nil {
		t.Fatal(err)
	}
	u := user(t, r, "cluster", "alice", 1)
	mutant := seal(t, u, "TOKEN", canary)
	binary.BigEndian.PutUint32(mutant[versionAt:], 1)
	if _, err := Open(u, "TOKEN", mutant); !errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want %v", err, ErrRefused)
	}
}

func TestKeyVersions(t *testing.T) {
	old := user(t, ring(t, 0, 1), "cluster", "alice", 1)
	both := user(t, ring(t, 0, 1, 2), "cluster", "alice", 1)
	retired := user(t, ring(t, 2, 1, 2), "cluster", "alice", 1)
	destroyed := user(t, ring(t, 0, 2), "cluster", "alice", 1)
	sealed := seal(t, old, "TOKEN", canary)

	if got, err := Open(both, "TOKEN", sealed); err != nil || string(got) != canary {
		t.Errorf("the old version does not open beside a new one: %v", err)
	}
	if _, err := Open(retired, "TOKEN", sealed); !errors.Is(err, ErrRetiredKeyVersion) {
		t.Errorf("retired version: error %v, want %v", err, ErrRetiredKeyVersion)
	}
	if _, err := Open(destroyed, "TOKEN", sealed); !errors.Is(err, ErrUnknownKeyVersion) {
		t.Errorf("destroyed version: error %v, want %v", err, ErrUnknownKeyVersion)
	}
	rewrapped, changed, err := Rewrap(rand.Reader, both, "TOKEN", sealed)
	if err != nil || !changed {
		t.Fatalf("rewrap: changed %v, error %v", changed, err)
	}
	if !bytes.Equal(rewrapped[dataNonceAt:], sealed[dataNonceAt:]) {
		t.Error("rewrapping touched the secret's ciphertext")
	}
	if version, err := KeyVersion(rewrapped); err != nil || version != 2 {
		t.Errorf("key version %d, %v; want 2", version, err)
	}
	if got, err := Open(destroyed, "TOKEN", rewrapped); err != nil || string(got) != canary {
		t.Errorf("the rewrapped envelope does not open without the old key: %v", err)
	}
	again, changed, err := Rewrap(rand.Reader, both, "TOKEN", rewrapped)
	if err != nil || changed || !bytes.Equal(again, rewrapped) {
		t.Errorf("rewrapping twice: changed %v, error %v", changed, err)
	}
}

func TestRingsThatCannotBeAreRefused(t *testing.T) {
	key := [KeySize]byte(fill(1, KeySize))
	for name, test := range map[string]struct {
		masters map[uint32][KeySize]byte
		minimum uint32
	}{
		"no key":                   {nil, 0},
		"version 0":                {map[uint32][KeySize]byte{0: key}, 0},
		"a key of zeroes":          {map[uint32][KeySize]byte{1: {}}, 0},
		"a minimum above them all": {map[uint32][KeySize]byte{1: key}, 2},
	} {
		if _, err := NewKeyring(test.masters, test.minimum); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	r := ring(t, 0, 1)
	for name, make := range map[string]func() (*UserRing, error){
		"no cluster":   func() (*UserRing, error) { return r.User("", "alice", fill(1, SaltSize)) },
		"no user":      func() (*UserRing, error) { return r.User("cluster", "", fill(1, SaltSize)) },
		"a short salt": func() (*UserRing, error) { return r.User("cluster", "alice", fill(1, SaltSize-1)) },
	} {
		if _, err := make(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestSealRefusesTooMuchAndTooLittle(t *testing.T) {
	u := user(t, ring(t, 0, 1), "cluster", "alice", 1)
	_, err := Seal(rand.Reader, u, "TOKEN", []byte(strings.Repeat(canary, MaxPlaintext/len(canary)+1)))
	if !errors.Is(err, ErrTooLong) || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v, want %v without the plaintext", err, ErrTooLong)
	}
	for n := range 56 {
		if _, err := Seal(io.LimitReader(rand.Reader, int64(n)), u, "TOKEN", nil); err == nil {
			t.Errorf("seals with %d bytes of randomness", n)
		}
	}
}

func FuzzOpen(f *testing.F) {
	u := user(f, ring(f, 0, 1, 2), "cluster", "alice", 1)
	// Not random: each fuzzing process must know the one envelope that opens.
	sealed, err := Seal(bytes.NewReader(fill(7, 56)), u, "TOKEN", []byte(canary))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealed[:Overhead])
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, envelope []byte) {
		plaintext, err := Open(u, "TOKEN", envelope)
		if err == nil && !bytes.Equal(envelope, sealed) {
			t.Errorf("an envelope that was not sealed opens to %d bytes", len(plaintext))
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	u := user(b, ring(b, 0, 1), "cluster", "alice", 1)
	plaintext := fill('x', 1024)
	for b.Loop() {
		if _, err := Seal(rand.Reader, u, "TOKEN", plaintext); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	u := user(b, ring(b, 0, 1), "cluster", "alice", 1)
	sealed := seal(b, u, "TOKEN", strings.Repeat("x", 1024))
	for b.Loop() {
		if _, err := Open(u, "TOKEN", sealed); err != nil {
			b.Fatal(err)
		}
	}
}
