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

	"github.com/hostedbridge/hostedbridge/test/must"
)

func mint(t testing.TB, k Kind) (key, id string) {
	t.Helper()
	return must.Values(Mint(rand.Reader, k))(t)
}

// counting is a reader whose nth byte is 7n, so that it also yields bytes
// that have to be drawn again.
func counting() io.Reader {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(7 * i)
	}
	return bytes.NewReader(b)
}

// The keys and hashes here were computed by another implementation. If this
// fails, keys in people's hands no longer work.
func TestKeysNeverChangeTheirForm(t *testing.T) {
	for _, test := range []struct {
		kind      Kind
		key, hash string
	}{
		{
			KindUser, "hb_07ELSZgnu18F_MTahov29GNUbipw3AHOVcj0Jc2xT",
			"sha256:2410b9c3117dbaf897bbfd7aa26da5229c55d3b8f61e814ae728c7bba441c0ca",
		},
		{
			KindPublisher, "pub_07ELSZgnu18F_MTahov29GNUbipw3AHOVcj1JM7Q4",
			"sha256:a2bd3606e3e3496db76745096ca127f6d662eaf75d30d5b6a47c8cab7ff9b084",
		},
	} {
		t.Run(string(test.kind), func(t *testing.T) {
			key, id, err := Mint(counting(), test.kind)
			if err != nil || key != test.key || id != "07ELSZgnu18F" {
				t.Errorf("Mint = %s, %s, %v; want %s", key, id, err, test.key)
			}
			if got := HashOf(key).String(); got != test.hash {
				t.Errorf("HashOf = %s, want %s", got, test.hash)
			}
		})
	}
}

func TestAMintedKeyParses(t *testing.T) {
	for _, kind := range []Kind{KindUser, KindPublisher, KindDirectory} {
		for range 200 {
			key, id := mint(t, kind)
			got, err := Parse(key)
			if err != nil || got != (Key{Kind: kind, ID: id}) {
				t.Fatalf("Parse of a fresh %s key = %v, %v", kind, got, err)
			}
		}
	}
}

func TestNoTwoMintedKeysAreEqual(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		key, id := mint(t, KindUser)
		secret := key[len("hb_")+idLength+1:]
		if seen[secret] || seen[id] {
			t.Fatal("a secret or an id came twice")
		}
		seen[secret], seen[id] = true, true
	}
}

func TestMintRefuses(t *testing.T) {
	key, _ := mint(t, KindUser)
	for _, kind := range []Kind{"", "admin", "HB", "hb_", Kind(key)} {
		_, _, err := Mint(rand.Reader, kind)
		if err == nil {
			t.Error("an unknown kind is minted")
		} else if strings.Contains(err.Error(), key) {
			t.Error("a key in the kind's place is quoted")
		}
	}
	for n := range idLength + randomLength {
		key, id, err := Mint(io.LimitReader(rand.Reader, int64(n)), KindUser)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || key != "" || id != "" {
			t.Errorf("of %d random bytes Mint makes %d characters and the error %v", n, len(key), err)
		}
	}
}

func TestLettersSkipWhatWouldFavourSome(t *testing.T) {
	// 62 goes into 248 evenly, so 248 and above are drawn again.
	got, err := letters(bytes.NewReader([]byte{255, 248, 247, 0, 61, 62}), 4)
	if err != nil || got != "z0z0" {
		t.Errorf("letters = %q, %v; want z0z0", got, err)
	}
}

func TestEveryLetterIsAsLikely(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	got := must.Value(letters(bytes.NewReader(every), 248))(t)
	for i := range len(alphabet) {
		if n := strings.Count(got, alphabet[i:i+1]); n != 4 {
			t.Errorf("%c comes of %d byte values, want 4", alphabet[i], n)
		}
	}
}
