// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"errors"
	"strings"
	"testing"
)

func TestAHashIsReadBackInOneSpelling(t *testing.T) {
	h, bound := HashOf(userKey), HashFor("alice", userKey)
	for _, want := range []Hash{h, bound} {
		if got, err := ParseHash(want.String()); err != nil || got != want {
			t.Errorf("ParseHash(String()) = %v, %v", got, err)
		}
	}
	for name, bad := range map[string]string{
		"nothing":                "",
		"no digits":              "sha256:",
		"no digits of a user":    "user-sha256:",
		"no algorithm":           h.String()[7:],
		"no algorithm of a user": "user-" + h.String()[7:],
		"upper case":             strings.ToUpper(h.String()),
		"upper-case digits":      "sha256:" + strings.ToUpper(h.String()[7:]),
		"another algorithm":      "sha512:" + h.String()[7:],
		"another owner":          "publisher-" + h.String(),
		"both forms":             "user-sha256:" + h.String(),
		"both forms, turned":     "sha256:user-" + h.String(),
		"a digit too many":       h.String() + "0",
		"a digit too few":        h.String()[:70],
		"one too few of a user":  bound.String()[:75],
		"letters not of hex":     "sha256:" + strings.Repeat("g", 64),
		"white space behind":     h.String() + "\n",
		"white space before":     " " + bound.String(),
		"the key in its place":   userKey,
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			if got, err := ParseHash(bad); !errors.Is(err, ErrBadHash) || got != (Hash{}) {
				t.Errorf("ParseHash = %v, %v; want %v", got, err, ErrBadHash)
			}
		})
	}
}

func FuzzParseHash(f *testing.F) {
	for _, seed := range []string{"", "sha256:", HashOf(userKey).String(), HashFor("alice", userKey).String(), "user-" + userKey} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, err := ParseHash(s)
		switch {
		case err == nil && h.String() != s:
			t.Errorf("ParseHash(%q) is of %q", s, h)
		case err != nil && h != (Hash{}):
			t.Errorf("a hash beside the error: %v", h)
		}
	})
}

func TestAHashIsOfOneKeyAndOneUser(t *testing.T) {
	other, _ := mint(t, KindUser)
	long := strings.Repeat("a", 63)
	alone, alices := HashOf(userKey), HashFor("alice", userKey)
	relabelled := Hash{Sum: alone.Sum, Bound: true}
	for _, test := range []struct {
		name      string
		hash      Hash
		user, key string
		want      bool
	}{
		{"a hash of the key alone, of one user", alone, "alice", userKey, true},
		{"a hash of the key alone, of another user", alone, "mallory", userKey, true},
		{"a hash of the key alone, another key", alone, "alice", other, false},
		{"a bound hash, its user", alices, "alice", userKey, true},
		{"a bound hash, the longest user id", HashFor(long, userKey), long, userKey, true},
		{"a bound hash, another user", alices, "mallory", userKey, false},
		{"a bound hash, a user whose id begins in the same way", alices, "alice2", userKey, false},
		{"a bound hash, no user", alices, "", userKey, false},
		{"a bound hash, another key", alices, "alice", other, false},
		{"a bound hash in the other form", Hash{Sum: alices.Sum}, "alice", userKey, false},
		{"another's bound hash in the other form", Hash{Sum: HashFor("mallory", userKey).Sum}, "alice", userKey, false},
		{"a hash of the key alone in the bound form", relabelled, "alice", userKey, false},
		{"a hash of the key alone in the bound form, no user", relabelled, "", userKey, false},
		{"nothing", Hash{}, "", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.hash.IsOf(test.user, test.key); got != test.want {
				t.Errorf("IsOf = %v, want %v", got, test.want)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	other, _ := mint(t, KindUser)
	third, _ := mint(t, KindUser)
	a, b := HashOf(userKey), HashOf(other)
	nearly := a
	nearly.Sum[31] ^= 1
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
		{"refuses to choose between two equal ones", userKey, []Hash{a, b, a}, -1, false},
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

func BenchmarkIsOf(b *testing.B) {
	for name, hash := range map[string]Hash{"the key alone": HashOf(userKey), "the key of a user": HashFor("alice", userKey)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				hash.IsOf("alice", userKey)
			}
		})
	}
}
