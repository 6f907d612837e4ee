// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"errors"
	"strings"
	"testing"
)

func TestAHashIsReadBackInOneSpelling(t *testing.T) {
	h := HashOf(userKey)
	got, err := ParseHash(h.String())
	if err != nil || got != h {
		t.Errorf("ParseHash(String()) = %v, %v", got, err)
	}
	for name, bad := range map[string]string{
		"nothing":              "",
		"no digits":            "sha256:",
		"no algorithm":         h.String()[7:],
		"upper case":           strings.ToUpper(h.String()),
		"upper-case digits":    "sha256:" + strings.ToUpper(h.String()[7:]),
		"another algorithm":    "sha512:" + h.String()[7:],
		"a digit too many":     h.String() + "0",
		"a digit too few":      h.String()[:70],
		"letters not of hex":   "sha256:" + strings.Repeat("g", 64),
		"white space behind":   h.String() + "\n",
		"the key in its place": userKey,
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if got, err := ParseHash(bad); !errors.Is(err, ErrBadHash) || got != (Hash{}) {
				t.Errorf("ParseHash = %v, %v; want %v", got, err, ErrBadHash)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	other, _ := mint(t, KindUser)
	third, _ := mint(t, KindUser)
	a, b := HashOf(userKey), HashOf(other)
	nearly := a
	nearly[31] ^= 1
	for _, test := range []struct {
		name      string
		presented string
		hashes    []Hash
		index     int
		ok        bool
	}{
		{"finds the first", userKey, []Hash{a, b}, 0, true},
		{"finds the last", other, []Hash{a, b}, 1, true},
		{"finds the only one", userKey, []Hash{a}, 0, true},
		{"finds one among others", userKey, []Hash{b, {}, a, nearly}, 2, true},
		{"takes the last of two equal ones", userKey, []Hash{a, b, a}, 2, true},
		{"refuses a key that is not listed", third, []Hash{a, b}, -1, false},
		{"refuses a hash of which one bit differs", userKey, []Hash{nearly}, -1, false},
		{"refuses everything against an empty list", userKey, nil, -1, false},
		{"refuses no key against the zero hash", "", []Hash{{}}, -1, false},
		{"refuses the hash presented as the key", a.String(), []Hash{a}, -1, false},
		{"refuses a part of the key", userKey[:len(userKey)-1], []Hash{a}, -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if index, ok := Match(test.presented, test.hashes); index != test.index || ok != test.ok {
				t.Errorf("Match = %d, %v; want %d, %v", index, ok, test.index, test.ok)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	// 32 is the most keys that one bridge lists.
	hashes := make([]Hash, 32)
	b.ReportAllocs()
	for b.Loop() {
		Match(userKey, hashes)
	}
}
