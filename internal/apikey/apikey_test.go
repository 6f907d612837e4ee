// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"testing"
)

func mint(t testing.TB, kind Kind) (key, id string) {
	t.Helper()
	key, id, err := Mint(rand.Reader, kind)
	if err != nil {
		t.Fatal(err)
	}
	return key, id
}

func TestAMintedKeyParses(t *testing.T) {
	for _, kind := range []Kind{KindUser, KindPublisher} {
		key, id := mint(t, kind)
		got, err := Parse(key)
		if err != nil || got != (Key{Kind: kind, ID: id}) {
			t.Errorf("Parse of a fresh %s key = %v, %v", kind, got, err)
		}
		if !strings.HasPrefix(key, string(kind)+"_"+id+"_") {
			t.Errorf("a %s key does not begin with its kind and id", kind)
		}
	}
}

func TestNoTwoMintedKeysAreEqual(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key, id := mint(t, KindUser)
		if seen[key] || seen[id] {
			t.Fatal("a key or an id came twice")
		}
		seen[key], seen[id] = true, true
	}
}

func TestMintNeedsAKindAndRandomness(t *testing.T) {
	if _, _, err := Mint(rand.Reader, "admin"); err == nil {
		t.Error("an unknown kind is minted")
	}
	if _, _, err := Mint(io.LimitReader(rand.Reader, 15), KindUser); !errors.Is(err, io.EOF) {
		t.Errorf("with too little randomness the error is %v, want %v", err, io.EOF)
	}
}

func TestLettersSkipWhatWouldFavourSome(t *testing.T) {
	// 248 and above are drawn again: 62 goes into 248 evenly.
	got, err := letters(bytes.NewReader([]byte{255, 248, 247, 0, 61, 62}), 4)
	if err != nil || got != "z0z0" {
		t.Errorf("letters = %q, %v; want z0z0", got, err)
	}
}

func TestEveryTypoIsTold(t *testing.T) {
	key, _ := mint(t, KindUser)
	for i := range len(key) {
		for _, c := range []byte(alphabet + "_- ") {
			if c == key[i] {
				continue
			}
			typo := key[:i] + string(c) + key[i+1:]
			if _, err := Parse(typo); err == nil {
				t.Errorf("character %d as %q is not told", i, c)
			}
		}
		if i > 0 && key[i] != key[i-1] {
			swapped := key[:i-1] + string([]byte{key[i], key[i-1]}) + key[i+1:]
			if _, err := Parse(swapped); err == nil {
				t.Errorf("characters %d and %d exchanged are not told", i-1, i)
			}
		}
	}
}

func TestNoErrorHoldsTheKey(t *testing.T) {
	key, id := mint(t, KindUser)
	for _, bad := range []string{key[:len(key)-1], key + "x", "x" + key, strings.ToUpper(key)} {
		_, err := Parse(bad)
		if err == nil {
			t.Fatal("a bad key parses")
		}
		_, hashErr := ParseHash(bad)
		for _, text := range []string{err.Error(), hashErr.Error()} {
			if strings.Contains(text, id) || strings.Contains(text, key[len(key)-10:]) {
				t.Error("an error holds a part of the key")
			}
		}
	}
}

func TestHashesAreReadBackInOneSpelling(t *testing.T) {
	key, _ := mint(t, KindUser)
	h := HashOf(key)
	got, err := ParseHash(h.String())
	if err != nil || got != h {
		t.Errorf("ParseHash(String()) = %v, %v", got, err)
	}
	for _, bad := range []string{
		"", "sha256:", h.String()[7:], strings.ToUpper(h.String()), "sha512:" + h.String()[7:],
		h.String() + "0", h.String()[:70], "sha256:" + strings.Repeat("g", 64), "sha256:" + strings.Repeat("A", 64),
	} {
		if _, err := ParseHash(bad); err == nil {
			t.Errorf("ParseHash takes %q", bad)
		}
	}
}

func TestMatchFindsTheOneHash(t *testing.T) {
	key, _ := mint(t, KindUser)
	other, _ := mint(t, KindUser)
	third, _ := mint(t, KindUser)
	a, b := HashOf(key), HashOf(other)
	for _, test := range []struct {
		name      string
		presented string
		hashes    []Hash
		index     int
		ok        bool
	}{
		{"the first", key, []Hash{a, b}, 0, true},
		{"the last", other, []Hash{a, b}, 1, true},
		{"one that is not listed", third, []Hash{a, b}, -1, false},
		{"an empty list", key, nil, -1, false},
		{"an empty key against the zero hash", "", []Hash{{}}, -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if index, ok := Match(test.presented, test.hashes); index != test.index || ok != test.ok {
				t.Errorf("Match = %d, %v; want %d, %v", index, ok, test.index, test.ok)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	key, _ := mint(f, KindUser)
	f.Add(key)
	f.Add("hb__")
	f.Add("pub_000000000000_0000000000000000000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		parsed, err := Parse(s)
		if err != nil {
			return
		}
		if !strings.HasPrefix(s, string(parsed.Kind)+"_"+parsed.ID+"_") || len(parsed.ID) != idLength {
			t.Errorf("an accepted key has not the form of one")
		}
	})
}
