// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"errors"
	"testing"
)

func TestInspect(t *testing.T) {
	u := alice(t, 1, 258)
	for _, size := range []int{0, 1, MaxPlaintext} {
		got, err := Inspect(seal(t, u, testSecret, fill('x', size)))
		if want := (Header{Key: KeyID{AlgorithmLocal, 258}, PlaintextSize: size}); err != nil || got != want {
			t.Errorf("Inspect = %+v, %v; want %+v", got, err, want)
		}
	}
}

// Inspect needs no key and still takes nothing but whole envelopes.
func TestInspectRefuses(t *testing.T) {
	sealed := seal(t, alice(t, 1), testSecret, canary)
	changed := func(at int, to ...byte) []byte {
		b := bytes.Clone(sealed)
		copy(b[at:], to)
		return b
	}
	for _, test := range []struct {
		name     string
		envelope []byte
		err      error
	}{
		{"nothing", nil, ErrMalformed},
		{"a part of the magic", []byte("HB"), ErrMalformed},
		{"the magic without a format", []byte("HBE"), ErrMalformed},
		{"the magic and the format alone", []byte("HBE1"), ErrMalformed},
		{"a later format, however short", []byte("HBE2"), ErrUnknownFormat},
		{"a later format", changed(formatAt, '2'), ErrUnknownFormat},
		{"a later format of another length", changed(formatAt, '2')[:50], ErrUnknownFormat},
		{"another magic", changed(0, 'h'), ErrMalformed},
		{"algorithm 0", changed(algorithmAt, 0), ErrUnknownAlgorithm},
		{"algorithm 3", changed(algorithmAt, 3), ErrUnknownAlgorithm},
		{"key version 0", changed(versionAt, 0, 0, 0, 0), ErrMalformed},
		{"a key version that no int32 holds", changed(versionAt, 0x80, 0, 0, 0), ErrMalformed},
		{"a size that is too small", changed(sizeAt, 0, 0, 0, byte(len(canary)-1)), ErrMalformed},
		{"a size that is too large", changed(sizeAt, 0, 0, 0, byte(len(canary)+1)), ErrMalformed},
		{"the largest size there is", changed(sizeAt, 0xff, 0xff, 0xff, 0xff), ErrMalformed},
		{"a size that overflows to the right one", changed(sizeAt, 0xff, 0xff, 0xff, 0x9b), ErrMalformed},
		{"a byte less", sealed[:len(sealed)-1], ErrMalformed},
		{"a byte more", join(sealed, []byte{0}), ErrMalformed},
		{"a size above the largest, in agreement with the length", resized(join(sealed, make([]byte, MaxPlaintext))), ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, err := Inspect(test.envelope); !errors.Is(err, test.err) || got != (Header{}) {
				t.Errorf("Inspect = %+v, %v; want %v", got, err, test.err)
			}
			if got, err := Body(test.envelope); !errors.Is(err, test.err) || got != nil {
				t.Errorf("Body = %d bytes, %v; want %v", len(got), err, test.err)
			}
		})
	}
}

// The offsets of the specification, not those of the code.
func TestOffsetsAreThoseOfTheSpecification(t *testing.T) {
	got := []int{formatAt, algorithmAt, versionAt, sizeAt, wrapNonceAt, wrappedAt, dataNonceAt, dataAt, Overhead}
	for i, want := range []int{3, 4, 5, 9, 13, 25, 73, 85, 101} {
		if got[i] != want {
			t.Errorf("offset %d is %d, want %d", i, got[i], want)
		}
	}
}

func TestWhatParsesEncodesToItself(t *testing.T) {
	for _, s := range subjects(t) {
		p, err := parse(s.sealed)
		if err != nil || !bytes.Equal(p.encode(), s.sealed) {
			t.Errorf("%s: %v, or another encoding", s.name, err)
		}
	}
}
