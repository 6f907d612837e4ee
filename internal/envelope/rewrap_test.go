// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestRewrapChangesTheWrapAlone(t *testing.T) {
	both, destroyed := alice(t, 1, 7), alice(t, 7)
	sealed := seal(t, alice(t, 1), testSecret, canary)
	got, changed, err := Rewrap(t.Context(), rand.Reader, both, testSecret, sealed)
	if err != nil || !changed {
		t.Fatalf("Rewrap: %v, %v", changed, err)
	}
	if version := version(t, got); version != 7 {
		t.Errorf("key version %d, want 7", version)
	}
	if !bytes.Equal(got[dataNonceAt:], sealed[dataNonceAt:]) || !bytes.Equal(got[:versionAt], sealed[:versionAt]) {
		t.Error("Rewrap touched the data or the format")
	}
	if bytes.Equal(got[wrapNonceAt:wrappedAt], sealed[wrapNonceAt:wrappedAt]) {
		t.Error("the nonce of the wrap is used twice")
	}
	if opened, err := Open(t.Context(), destroyed, testSecret, got); err != nil || !bytes.Equal(opened, canary) {
		t.Errorf("without the old key it does not open: %v", err)
	}
	if _, err := Open(t.Context(), destroyed, testSecret, sealed); !errors.Is(err, ErrUnknownKeyVersion) {
		t.Errorf("what was not rewrapped: %v, want %v", err, ErrUnknownKeyVersion)
	}
}

func TestRewrapGoesForwardOnly(t *testing.T) {
	newest := ring(t, 0, 1, 2)
	ahead := user(t, newest, testCluster, testUID, 1)
	behindRing := must.Value(newest.WithCurrent(1))(t)
	behind := user(t, behindRing, testCluster, testUID, 1)
	for _, test := range []struct {
		name    string
		sealed  []byte
		by      *User
		changed bool
		version uint32
	}{
		{"an older version is brought forward", seal(t, behind, testSecret, canary), ahead, true, 2},
		{"the current version stays", seal(t, ahead, testSecret, canary), ahead, false, 2},
		{"a current version that is not the newest stays", seal(t, behind, testSecret, canary), behind, false, 1},
		{"a later version is not brought back", seal(t, ahead, testSecret, canary), behind, false, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, changed, err := Rewrap(t.Context(), rand.Reader, test.by, testSecret, test.sealed)
			if err != nil || changed != test.changed || changed == bytes.Equal(got, test.sealed) {
				t.Errorf("Rewrap: changed %v, %v; want %v", changed, err, test.changed)
			}
			if version := version(t, got); version != test.version {
				t.Errorf("key version %d, want %d", version, test.version)
			}
		})
	}
}

func TestRewrapRefuses(t *testing.T) {
	sealed := seal(t, alice(t, 1), testSecret, canary)
	damaged := bytes.Clone(sealed)
	damaged[wrappedAt] ^= 1
	retired := user(t, ring(t, 2, 1, 2), testCluster, testUID, 1)
	for _, test := range []struct {
		name   string
		by     *User
		random io.Reader
		sealed []byte
		err    error
	}{
		{"a damaged wrap", alice(t, 1, 2), rand.Reader, damaged, ErrRefused},
		{"another user's", user(t, ring(t, 0, 1, 2), testCluster, "bob", 1), rand.Reader, sealed, ErrRefused},
		{"a destroyed key version", alice(t, 2), rand.Reader, sealed, ErrUnknownKeyVersion},
		{"a retired key version", retired, rand.Reader, sealed, ErrRetiredKeyVersion},
		{"no envelope at all", alice(t, 1, 2), rand.Reader, nil, ErrMalformed},
		{"without enough randomness", alice(t, 1, 2), io.LimitReader(rand.Reader, nonceSize-1), sealed, io.ErrUnexpectedEOF},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, changed, err := Rewrap(t.Context(), test.random, test.by, testSecret, test.sealed)
			if !errors.Is(err, test.err) || got != nil || changed {
				t.Errorf("Rewrap = %d bytes, %v, %v; want %v", len(got), changed, err, test.err)
			}
		})
	}
}

// Damage to the data is Open's to find: Rewrap does not decrypt them. It must
// not repair or hide it either.
func TestRewrapKeepsDamageToTheData(t *testing.T) {
	both := alice(t, 1, 2)
	sealed := seal(t, alice(t, 1), testSecret, canary)
	for i := dataNonceAt; i < len(sealed); i++ {
		damaged := bytes.Clone(sealed)
		damaged[i] ^= 1
		got, changed, err := Rewrap(t.Context(), rand.Reader, both, testSecret, damaged)
		if err != nil || !changed {
			t.Fatalf("byte %d: %v, %v", i, changed, err)
		}
		if _, err := Open(t.Context(), both, testSecret, got); !errors.Is(err, ErrRefused) {
			t.Errorf("byte %d: after Rewrap %v, want %v", i, err, ErrRefused)
		}
	}
}
