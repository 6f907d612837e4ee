// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// spellings are the ways in which bytes may come to stand in a text.
func spellings(b []byte) map[string]string {
	decimal := strings.Trim(fmt.Sprintf("%d", b), "[]")
	return map[string]string{
		"raw":       string(b),
		"hex":       hex.EncodeToString(b),
		"upper hex": strings.ToUpper(hex.EncodeToString(b)),
		"base64":    base64.RawStdEncoding.EncodeToString(b),
		"decimal":   decimal,
		"commas":    strings.ReplaceAll(decimal, " ", ","),
		"Go syntax": strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", b), "[]byte{"), "}"),
		"quoted":    strings.Trim(fmt.Sprintf("%q", b), `"`),
	}
}

// holds fails the test if text holds any six bytes in a row of a secret. An
// envelope holds some by chance in one of 2^34 runs: it has about 120 places,
// the secrets about 110 windows of 48 bits.
func holds(t *testing.T, what, text string, secrets map[string][]byte) {
	t.Helper()
	for name, secret := range secrets {
		for i := range len(secret) - 5 {
			for spelling, s := range spellings(secret[i : i+6]) {
				if strings.Contains(text, s) {
					t.Errorf("%s holds a part of the %s, spelled as %s", what, name, spelling)
					return
				}
			}
		}
	}
}

func TestNothingPrintedHoldsAKeyOrAPlaintext(t *testing.T) {
	secrets := map[string][]byte{"plaintext": canary, "master key": make([]byte, KeySize), "salt": make([]byte, SaltSize), "data key": make([]byte, KeySize)}
	for _, name := range []string{"master key", "salt", "data key"} {
		must.Value(rand.Read(secrets[name]))(t)
	}
	r, err := NewKeyring(map[uint32][KeySize]byte{1: [KeySize]byte(secrets["master key"])}, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := keys(t, r)
	u := must.Value(k.User(testCluster, testUID, secrets["salt"]))(t)
	if secrets["user key"], err = deriveUserKey(r.masters[1], u.salt, testUID); err != nil {
		t.Fatal(err)
	}
	random := io.MultiReader(bytes.NewReader(secrets["data key"]), rand.Reader)
	sealed := must.Value(Seal(t.Context(), random, u, testSecret, canary))(t)

	type holder struct {
		Ring *Keyring
		Keys *Keys
		User *User
		copy Keyring
		user User
	}
	w := u.wrapping(AlgorithmLocal, testSecret)
	for _, value := range []any{r, k, u, w, *r, *k, *u, holder{r, k, u, *r, *u}, &holder{r, k, u, *r, *u}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
			holds(t, fmt.Sprintf("%T as %s", value, verb), fmt.Sprintf(verb, value), secrets)
		}
		encoded := must.Value(json.Marshal(value))(t)
		holds(t, fmt.Sprintf("%T in JSON", value), string(encoded), secrets)
	}
	holds(t, "the envelope", string(sealed), secrets)
	for text := range refusalTexts(t, u, sealed) {
		holds(t, fmt.Sprintf("the error %.40q", text), text, secrets)
	}
	_, err = Seal(t.Context(), rand.Reader, u, testSecret, bytes.Repeat(canary, MaxPlaintext/len(canary)+1))
	holds(t, "the error of a secret that is too long", err.Error(), secrets)
	_, err = Seal(t.Context(), bytes.NewReader(secrets["data key"]), u, testSecret, canary)
	holds(t, "the error of too little randomness", err.Error(), secrets)
	_, err = NewKeyring(map[uint32][KeySize]byte{1: *r.masters[1](), 2: *r.masters[1]()}, 0)
	holds(t, "the error of a key that comes twice", err.Error(), secrets)
	_, err = keys(t, r).User(testCluster, testUID, secrets["salt"][1:])
	holds(t, "the error of a short salt", err.Error(), secrets)
}

// refusalTexts are the errors of opening and rewrapping every envelope with
// one changed bit.
func refusalTexts(t testing.TB, u *User, sealed []byte) map[string]bool {
	texts := map[string]bool{}
	for bit := range len(sealed) * 8 {
		mutant := bytes.Clone(sealed)
		mutant[bit/8] ^= 1 << (bit % 8)
		if _, err := Open(t.Context(), u, testSecret, mutant); err != nil {
			texts[err.Error()] = true
		}
		if _, _, err := Rewrap(t.Context(), rand.Reader, u, testSecret, mutant); err != nil {
			texts[err.Error()] = true
		}
	}
	return texts
}

// Which of them it was would tell a forger how far he has come.
func TestRefusalsLookAlike(t *testing.T) {
	u := alice(t, 1)
	sealed := seal(t, u, testSecret, canary)
	flipped := func(at int) []byte {
		b := bytes.Clone(sealed)
		b[at] ^= 1
		return b
	}
	_, want := Open(t.Context(), u, testSecret, flipped(wrappedAt))
	for what, open := range map[string]func() ([]byte, error){
		"a damaged wrap tag": func() ([]byte, error) { return Open(t.Context(), u, testSecret, flipped(dataNonceAt-1)) },
		"a damaged nonce":    func() ([]byte, error) { return Open(t.Context(), u, testSecret, flipped(dataNonceAt)) },
		"damaged data":       func() ([]byte, error) { return Open(t.Context(), u, testSecret, flipped(dataAt)) },
		"another user": func() ([]byte, error) {
			return Open(t.Context(), user(t, ring(t, 0, 1), testCluster, "bob", 1), testSecret, sealed)
		},
		"another cluster": func() ([]byte, error) {
			return Open(t.Context(), user(t, ring(t, 0, 1), "other", testUID, 1), testSecret, sealed)
		},
		"another salt": func() ([]byte, error) {
			return Open(t.Context(), user(t, ring(t, 0, 1), testCluster, testUID, 2), testSecret, sealed)
		},
		"another secret's": func() ([]byte, error) { return Open(t.Context(), u, testSecret, seal(t, u, "OTHER", canary)) },
		"another master key's": func() ([]byte, error) {
			r, err := NewKeyring(map[uint32][KeySize]byte{1: [KeySize]byte(fill(3, KeySize))}, 0)
			if err != nil {
				return nil, err
			}
			return Open(t.Context(), user(t, r, testCluster, testUID, 1), testSecret, sealed)
		},
	} {
		if _, err := open(); err == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
}
