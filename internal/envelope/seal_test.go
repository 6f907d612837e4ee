// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhatIsSealedOpens(t *testing.T) {
	u := alice(t, 1)
	for _, size := range []int{0, 1, 15, 16, 17, 1024, MaxPlaintext - 1, MaxPlaintext} {
		plaintext := make([]byte, size)
		must.Value(rand.Read(plaintext))(t)
		sealed := seal(t, u, testSecret, plaintext)
		if len(sealed) != size+Overhead {
			t.Errorf("%d bytes seal to %d, want %d more", size, len(sealed), Overhead)
		}
		if size > 15 && bytes.Contains(sealed, plaintext[:16]) {
			t.Error("the plaintext is in the envelope")
		}
		got, err := Open(t.Context(), u, testSecret, sealed)
		if err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("%d bytes open to %d, %v", size, len(got), err)
		}
	}
}

func TestSealLeavesItsInputAlone(t *testing.T) {
	plaintext := bytes.Clone(canary)
	sealed := seal(t, alice(t, 1), testSecret, plaintext)
	if !bytes.Equal(plaintext, canary) {
		t.Error("the plaintext was written to")
	}
	opened := must.Value(Open(t.Context(), alice(t, 1), testSecret, sealed))(t)
	clear(opened)
	if again, err := Open(t.Context(), alice(t, 1), testSecret, sealed); err != nil || !bytes.Equal(again, canary) {
		t.Errorf("clearing what was opened changed the envelope: %v", err)
	}
}

func TestNoTwoSealingsShareAnything(t *testing.T) {
	u := alice(t, 1)
	const n = 100
	for _, part := range []struct {
		name     string
		from, to int
	}{
		{"wrap nonce", wrapNonceAt, wrappedAt},
		{"wrapped key", wrappedAt, dataNonceAt},
		{"data nonce", dataNonceAt, dataAt},
		{"data", dataAt, dataAt + len(canary)},
	} {
		seen := map[string]bool{}
		for range n {
			seen[string(seal(t, u, testSecret, canary)[part.from:part.to])] = true
		}
		if len(seen) != n {
			t.Errorf("the %s of %d sealings has %d values", part.name, n, len(seen))
		}
	}
}

func TestSealRefuses(t *testing.T) {
	u := alice(t, 1)
	for _, test := range []struct {
		name   string
		secret string
		size   int
		err    error
	}{
		{"a byte too many", testSecret, MaxPlaintext + 1, ErrTooLong},
		{"far too many", testSecret, 1 << 20, ErrTooLong},
		{"a secret without a name", "", 1, ErrBinding},
		{"a name that is too long", strings.Repeat("n", 254), 1, ErrBinding},
	} {
		t.Run(test.name, func(t *testing.T) {
			sealed, err := Seal(t.Context(), rand.Reader, u, test.secret, fill('x', test.size))
			if !errors.Is(err, test.err) || sealed != nil {
				t.Errorf("Seal = %d bytes, %v; want %v", len(sealed), err, test.err)
			}
			if len(err.Error()) > 200 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestSealNeedsAllOfItsRandomness(t *testing.T) {
	u := alice(t, 1)
	const need = KeySize + 2*nonceSize
	for n := range need {
		sealed, err := Seal(t.Context(), io.LimitReader(rand.Reader, int64(n)), u, testSecret, canary)
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) || sealed != nil {
			t.Errorf("with %d random bytes Seal = %d bytes, %v", n, len(sealed), err)
		}
	}
	random := bytes.NewReader(make([]byte, need+1))
	if _, err := Seal(t.Context(), random, u, testSecret, canary); err != nil || random.Len() != 1 {
		t.Errorf("%d random bytes are left of %d, %v; want 1", random.Len(), need+1, err)
	}
}

func TestOpenRefusesANameThatSealRefuses(t *testing.T) {
	u := alice(t, 1)
	sealed := seal(t, u, testSecret, canary)
	for _, name := range []string{"", strings.Repeat("n", 254)} {
		if _, err := Open(t.Context(), u, name, sealed); !errors.Is(err, ErrBinding) {
			t.Errorf("Open with a name of %d bytes: %v, want %v", len(name), err, ErrBinding)
		}
		if _, _, err := Rewrap(t.Context(), rand.Reader, u, name, sealed); !errors.Is(err, ErrBinding) {
			t.Errorf("Rewrap with a name of %d bytes: %v, want %v", len(name), err, ErrBinding)
		}
	}
}

func TestRingsAreShared(t *testing.T) {
	u := alice(t, 1, 2)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				sealed, err := Seal(t.Context(), rand.Reader, u, testSecret, canary)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := Open(t.Context(), u, testSecret, sealed); err != nil || !bytes.Equal(got, canary) {
					t.Errorf("beside others an envelope does not open: %v", err)
				}
			}
		})
	}
	wait.Wait()
}
