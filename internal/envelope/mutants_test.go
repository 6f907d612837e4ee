// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// refused fails the test if the envelope opens, gives anything beside its
// error, or opens after Rewrap, which looks at the data key alone.
func refused(t *testing.T, what string, u *User, secret string, envelope []byte) {
	t.Helper()
	before := bytes.Clone(envelope)
	plaintext, err := Open(t.Context(), u, secret, envelope)
	if err == nil || plaintext != nil {
		t.Errorf("%s: opens to %d bytes", what, len(plaintext))
		return
	}
	if !isRefusal(err) {
		t.Errorf("%s: the error is none of the package's: %v", what, err)
	}
	if bytes.Contains([]byte(err.Error()), canary) {
		t.Errorf("%s: the error holds the plaintext", what)
	}
	rewrapped, changed, err := Rewrap(t.Context(), rand.Reader, u, secret, envelope)
	if err == nil {
		if _, err := Open(t.Context(), u, secret, rewrapped); err == nil {
			t.Errorf("%s: opens after it is rewrapped", what)
		}
	} else if rewrapped != nil || changed || !isRefusal(err) {
		t.Errorf("%s: Rewrap returns %d bytes, %v, %v", what, len(rewrapped), changed, err)
	}
	if !bytes.Equal(envelope, before) {
		t.Errorf("%s: the input was written to", what)
	}
}

// resized sets the size in the header to what the length asks for, so that a
// mutant passes the parser.
func resized(envelope []byte) []byte {
	if len(envelope) >= Overhead {
		binary.BigEndian.PutUint32(envelope[sizeAt:], uint32(len(envelope)-Overhead))
	}
	return envelope
}

// subject is an envelope that opens, to be mutated.
type subject struct {
	name   string
	ring   *User
	secret string
	sealed []byte
}

// subjects are a fresh, a rewrapped, an empty and a short envelope, the same of
// transit, and those of the vectors. There are several versions, and keys of
// both algorithms with the same bytes, so that a changed version or algorithm
// also meets a key.
func subjects(t *testing.T) []subject {
	t.Helper()
	local, remote := ring(t, 0, 1, 2, 3), transitOf(1, 2, 3)
	u, old := on(t, local, remote), alice(t, 1)
	far := on(t, remote, local)
	rewrapped, changed, err := Rewrap(t.Context(), rand.Reader, u, testSecret, seal(t, old, testSecret, canary))
	if err != nil || !changed {
		t.Fatalf("rewrap: %v, %v", changed, err)
	}
	farRewrapped, changed, err := Rewrap(t.Context(), rand.Reader, far, testSecret, seal(t, on(t, transitOf(1)), testSecret, canary))
	if err != nil || !changed {
		t.Fatalf("rewrap: %v, %v", changed, err)
	}
	all := []subject{
		{"fresh", u, testSecret, seal(t, u, testSecret, canary)},
		{"rewrapped", u, testSecret, rewrapped},
		{"of an earlier version", u, testSecret, seal(t, old, testSecret, canary)},
		{"of an empty secret", u, testSecret, seal(t, u, testSecret, nil)},
		{"of one byte", u, testSecret, seal(t, u, testSecret, []byte{0})},
		{"fresh, by transit", far, testSecret, seal(t, far, testSecret, canary)},
		{"rewrapped, by transit", far, testSecret, farRewrapped},
		{"of an earlier version, by transit", far, testSecret, seal(t, on(t, transitOf(1)), testSecret, canary)},
		{"moved to the ring in the meantime", u, testSecret, seal(t, far, testSecret, canary)},
	}
	for _, v := range readVectors(t).Seal {
		if v.Envelope != nil {
			all = append(all, subject{"vector " + v.Name, v.ring(t), v.Secret, v.Envelope})
		}
	}
	return all
}

func TestEveryChangedBitIsRefused(t *testing.T) {
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			for bit := range len(s.sealed) * 8 {
				mutant := bytes.Clone(s.sealed)
				mutant[bit/8] ^= 1 << (bit % 8)
				refused(t, fmt.Sprintf("bit %d of byte %d", bit%8, bit/8), s.ring, s.secret, mutant)
			}
		})
	}
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	for _, s := range subjects(t) {
		if !strings.HasPrefix(s.name, "fresh") {
			continue
		}
		for i := range s.sealed {
			for mask := 1; mask < 256; mask++ {
				mutant := bytes.Clone(s.sealed)
				mutant[i] ^= byte(mask)
				refused(t, fmt.Sprintf("%s: byte %d as %#x", s.name, i, mutant[i]), s.ring, s.secret, mutant)
			}
		}
	}
}

// A lost, doubled or inserted byte is tried with the header's size as it was
// and with a size that agrees with the new length.
func TestEveryOtherLengthIsRefused(t *testing.T) {
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			try := func(what string, mutant []byte) {
				t.Helper()
				refused(t, what, s.ring, s.secret, mutant)
				if fixed := resized(bytes.Clone(mutant)); !bytes.Equal(fixed, s.sealed) {
					refused(t, what+", size to match", s.ring, s.secret, fixed)
				}
			}
			for i := range s.sealed {
				try(fmt.Sprintf("cut to %d bytes", i), bytes.Clone(s.sealed[:i]))
				try(fmt.Sprintf("without the first %d bytes", i+1), bytes.Clone(s.sealed[i+1:]))
				try(fmt.Sprintf("without byte %d", i), join(s.sealed[:i], s.sealed[i+1:]))
				try(fmt.Sprintf("byte %d doubled", i), join(s.sealed[:i+1], s.sealed[i:]))
				try(fmt.Sprintf("a zero before byte %d", i), join(s.sealed[:i], []byte{0}, s.sealed[i:]))
			}
			for n := 1; n <= 64; n++ {
				try(fmt.Sprintf("%d zeroes behind", n), join(s.sealed, make([]byte, n)))
			}
			try("twice in a row", join(s.sealed, s.sealed))
			try("as long as may be", join(s.sealed, make([]byte, Overhead+MaxPlaintext-len(s.sealed))))
			try("longer than may be", join(s.sealed, make([]byte, Overhead+MaxPlaintext+1-len(s.sealed))))
		})
	}
}

func TestEveryOtherHeaderIsRefused(t *testing.T) {
	for _, s := range subjects(t) {
		t.Run(s.name, func(t *testing.T) {
			was := binary.BigEndian.Uint32(s.sealed[versionAt:])
			for _, version := range []uint32{0, 1, 2, 3, 4, 255, 256, 257, 258, 1<<31 - 1, 1 << 31, 1<<32 - 1} {
				if version == was {
					continue
				}
				mutant := bytes.Clone(s.sealed)
				binary.BigEndian.PutUint32(mutant[versionAt:], version)
				refused(t, fmt.Sprintf("key version %d", version), s.ring, s.secret, mutant)
			}
			for _, magic := range []string{"\x00\x00\x00\x00", "HBE0", "HBE2", "hbe1", "HBE\x01", "1EBH"} {
				refused(t, fmt.Sprintf("magic %q", magic), s.ring, s.secret, join([]byte(magic), s.sealed[4:]))
			}
		})
	}
}

// Rings refuse the same key under two versions. Were there one all the same,
// the wrap's binding to its version would still hold.
func TestAChangedVersionIsRefusedEvenWhereTheKeyIsTheSame(t *testing.T) {
	key := [KeySize]byte(fill(9, KeySize))
	r := &Keyring{masters: map[uint32]hidden{1: hide(key), 2: hide(key)}, current: 2, minimum: 1}
	u := user(t, r, testCluster, testUID, 1)
	mutant := seal(t, u, testSecret, canary)
	binary.BigEndian.PutUint32(mutant[versionAt:], 1)
	if _, err := Open(t.Context(), u, testSecret, mutant); !errors.Is(err, ErrRefused) {
		t.Errorf("error %v, want %v", err, ErrRefused)
	}
}

func TestAWrongKeyOrSaltIsRefused(t *testing.T) {
	u := alice(t, 1)
	sealed := seal(t, u, testSecret, canary)
	for bit := range KeySize * 8 {
		masters := masterKeys(1)
		key := masters[1]
		key[bit/8] ^= 1 << (bit % 8)
		r := must.Value(NewKeyring(map[uint32][KeySize]byte{1: key}, 0))(t)
		refused(t, fmt.Sprintf("bit %d of the master key", bit), user(t, r, testCluster, testUID, 1), testSecret, sealed)
	}
	for bit := range SaltSize * 8 {
		salt := fill(1, SaltSize)
		salt[bit/8] ^= 1 << (bit % 8)
		other := must.Value(keys(t, ring(t, 0, 1)).User(testCluster, testUID, salt))(t)
		refused(t, fmt.Sprintf("bit %d of the salt", bit), other, testSecret, sealed)
	}
}
