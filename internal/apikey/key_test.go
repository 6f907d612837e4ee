// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package apikey

import (
	"errors"
	"strings"
	"testing"
)

const (
	userKey      = "hb_07ELSZgnu18F_MTahov29GNUbipw3AHOVcj0Jc2xT"
	publisherKey = "pub_07ELSZgnu18F_MTahov29GNUbipw3AHOVcj1JM7Q4"
)

func TestParse(t *testing.T) {
	body := userKey[:len(userKey)-checksumLength]
	for _, test := range []struct {
		name string
		in   string
		want Key
		err  error
	}{
		{"takes a user's key", userKey, Key{KindUser, "07ELSZgnu18F"}, nil},
		{"takes a publisher's key", publisherKey, Key{KindPublisher, "07ELSZgnu18F"}, nil},
		{"refuses nothing", "", Key{}, ErrMalformed},
		{"refuses a kind alone", "hb", Key{}, ErrMalformed},
		{"refuses empty parts", "hb__", Key{}, ErrMalformed},
		{"refuses an unknown kind", "adm" + userKey[2:], Key{}, ErrMalformed},
		{"refuses an upper-case kind", "HB" + userKey[2:], Key{}, ErrMalformed},
		{"refuses one kind's key as the other's", "pub" + userKey[2:], Key{}, ErrChecksum},
		{"refuses a key without its kind", userKey[3:], Key{}, ErrMalformed},
		{"refuses a short id", userKey[:3] + userKey[4:], Key{}, ErrMalformed},
		{"refuses a long id", "hb_0" + userKey[3:], Key{}, ErrMalformed},
		{"refuses a short secret", userKey[:len(userKey)-1], Key{}, ErrMalformed},
		{"refuses a long secret", userKey + "0", Key{}, ErrMalformed},
		{"refuses a key without its checksum", body, Key{}, ErrMalformed},
		{"refuses a fourth part", userKey + "_", Key{}, ErrMalformed},
		{"refuses a hyphen for an underscore", strings.ReplaceAll(userKey, "_", "-"), Key{}, ErrMalformed},
		{"refuses white space before", " " + userKey, Key{}, ErrMalformed},
		{"refuses white space behind", userKey + "\n", Key{}, ErrMalformed},
		{"refuses a NUL inside", userKey[:20] + "\x00" + userKey[21:], Key{}, ErrMalformed},
		{"refuses letters of other alphabets", userKey[:20] + "é" + userKey[22:], Key{}, ErrMalformed},
		{"refuses two keys in one", userKey + userKey, Key{}, ErrMalformed},
		{"refuses a checksum of zero", body + "000000", Key{}, ErrChecksum},
		{"refuses a checksum above 32 bits", body + "zzzzzz", Key{}, ErrChecksum},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Parse(test.in)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Parse = %v, %v; want %v, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestEveryMistypedCharacterIsTold(t *testing.T) {
	random, _ := mint(t, KindUser)
	for _, key := range []string{userKey, publisherKey, random} {
		for i := range len(key) {
			for c := range 256 {
				if byte(c) == key[i] {
					continue
				}
				told(t, key[:i]+string([]byte{byte(c)})+key[i+1:], "character %d as %q", i, c)
			}
		}
	}
}

func TestEveryLostAddedOrMovedCharacterIsTold(t *testing.T) {
	random, _ := mint(t, KindUser)
	for _, key := range []string{userKey, publisherKey, random} {
		for i := range len(key) {
			told(t, key[:i]+key[i+1:], "character %d lost", i)
			told(t, key[:i]+key[i:i+1]+key[i:], "character %d doubled", i)
			if i > 0 && key[i] != key[i-1] {
				told(t, key[:i-1]+string([]byte{key[i], key[i-1]})+key[i+1:], "characters %d and %d exchanged", i-1, i)
			}
		}
		told(t, strings.ToLower(key), "all lower case")
		told(t, strings.ToUpper(key), "all upper case")
	}
}

// told fails the test if typo passes for a key. A typo that leaves a key's
// form must be told by the checksum.
func told(t *testing.T, typo, format string, args ...any) {
	t.Helper()
	_, err := Parse(typo)
	kind, rest, _ := strings.Cut(typo, "_")
	id, secret, _ := strings.Cut(rest, "_")
	want := ErrMalformed
	if Kind(kind).known() && isBase62(id, idLength) && isBase62(secret, randomLength+checksumLength) {
		want = ErrChecksum
	}
	if !errors.Is(err, want) {
		t.Errorf(format+": error %v, want %v", append(args, err, want)...)
	}
}

func TestNoErrorHoldsAnyPartOfTheKey(t *testing.T) {
	for _, presented := range []string{
		userKey[:len(userKey)-1], userKey + "x", "x" + userKey, strings.ToUpper(userKey), userKey[:len(userKey)-1] + "0",
		"sha256:" + userKey, HashOf(userKey).String()[:70] + "z",
	} {
		_, parseErr := Parse(presented)
		_, hashErr := ParseHash(presented)
		_, _, mintErr := Mint(strings.NewReader(presented[:10]), KindUser)
		_, _, kindErr := Mint(strings.NewReader(presented), Kind(presented))
		for _, err := range []error{parseErr, hashErr, mintErr, kindErr} {
			if err == nil {
				t.Fatal("a bad key or hash passes")
			}
			// Five characters in a row are none of the words of a message.
			for i := len("sha256:"); i+5 <= len(presented); i++ {
				if strings.Contains(err.Error(), presented[i:i+5]) {
					t.Errorf("an error holds characters %d to %d of what was presented", i, i+5)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(userKey)
	f.Add(publisherKey)
	f.Add("hb__")
	f.Add("pub_000000000000_0000000000000000000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		key, err := Parse(s)
		if err != nil {
			if key != (Key{}) {
				t.Error("a refused key is returned in part")
			}
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrChecksum) {
				t.Errorf("the error is neither of the two: %v", err)
			}
			return
		}
		prefix := string(key.Kind) + "_" + key.ID + "_"
		body, found := strings.CutPrefix(s, prefix)
		if !found || !key.Kind.known() || !isBase62(key.ID, idLength) || !isBase62(body, randomLength+checksumLength) {
			t.Error("an accepted key has not the form of one")
		}
		if want := checksum(s[:len(s)-checksumLength]); !strings.HasSuffix(s, want) {
			t.Error("an accepted key has another checksum")
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(userKey); err != nil {
			b.Fatal(err)
		}
	}
}
