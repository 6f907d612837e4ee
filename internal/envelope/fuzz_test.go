// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"errors"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// fixed returns an envelope that is the same in every fuzzing process: each
// must know the one that opens.
func fixed(t testing.TB, u *User) []byte {
	t.Helper()
	return must.Value(Seal(t.Context(), bytes.NewReader(fill(7, KeySize+2*nonceSize)), u, testSecret, canary))(t)
}

// FuzzOpen looks for bytes that open and were not sealed, and for a panic.
func FuzzOpen(f *testing.F) {
	remote := transitOf(1, 2)
	u := on(f, ring(f, 0, 1, 2), remote)
	sealed := fixed(f, u)
	old := fixed(f, alice(f, 1))
	far := fixed(f, on(f, remote))
	f.Add(far)
	f.Add(sealed)
	f.Add(old)
	f.Add(sealed[:Overhead])
	f.Add(resized(bytes.Clone(sealed[:Overhead])))
	f.Add([]byte(magic))
	for _, v := range readVectors(f).Refused {
		f.Add([]byte(v.Envelope))
	}
	f.Fuzz(func(t *testing.T, envelope []byte) {
		plaintext, err := Open(t.Context(), u, testSecret, envelope)
		if belongs := among([][]byte{sealed, old, far}, envelope); belongs != (err == nil) {
			t.Errorf("opens to %d bytes, %v", len(plaintext), err)
		}
		if err != nil && (plaintext != nil || !isRefusal(err)) {
			t.Errorf("a refusal gives %d bytes, %v", len(plaintext), err)
		}
	})
}

// FuzzNear changes an envelope a little, where FuzzOpen would need long to
// come near one.
func FuzzNear(f *testing.F) {
	u := alice(f, 1, 2)
	sealed := fixed(f, u)
	f.Add(uint16(0), []byte{}, uint16(0), true)
	f.Add(uint16(versionAt), []byte{0, 0, 0, 1}, uint16(4), false)
	f.Add(uint16(len(sealed)), []byte{0}, uint16(0), true)
	f.Fuzz(func(t *testing.T, at uint16, insert []byte, remove uint16, resize bool) {
		from := min(int(at), len(sealed))
		mutant := join(sealed[:from], insert, sealed[min(from+int(remove), len(sealed)):])
		if resize {
			resized(mutant)
		}
		if _, err := Open(t.Context(), u, testSecret, mutant); (err == nil) != bytes.Equal(mutant, sealed) {
			t.Errorf("a mutant opens, or the envelope does not: %v", err)
		}
	})
}

// FuzzElsewhere looks for another place where an envelope opens.
func FuzzElsewhere(f *testing.F) {
	r := ring(f, 0, 1, 2)
	sealed := fixed(f, user(f, r, testCluster, testUID, 1))
	f.Add(testCluster, testUID, testSecret)
	f.Add(testCluster+testUID[:1], testUID[1:], testSecret)
	f.Add(testCluster, testUID+testSecret[:1], testSecret[1:])
	f.Fuzz(func(t *testing.T, cluster, uid, secret string) {
		u, err := keys(t, r).User(cluster, uid, fill(1, SaltSize))
		if err != nil {
			if !errors.Is(err, ErrBinding) {
				t.Errorf("User: %v", err)
			}
			return
		}
		home := cluster == testCluster && uid == testUID && secret == testSecret
		if _, err := Open(t.Context(), u, secret, sealed); (err == nil) != home {
			t.Errorf("in another place an envelope opens, or does not in its own: %v", err)
		}
	})
}

// FuzzParse holds that what parses has one encoding.
func FuzzParse(f *testing.F) {
	f.Add(fixed(f, alice(f, 1)))
	for _, v := range readVectors(f).Refused {
		f.Add([]byte(v.Envelope))
	}
	f.Fuzz(func(t *testing.T, envelope []byte) {
		p, err := parse(envelope)
		if err == nil && !bytes.Equal(p.encode(), envelope) {
			t.Error("two encodings mean the same")
		}
	})
}

// FuzzSeal holds that whatever is sealed opens to itself.
func FuzzSeal(f *testing.F) {
	f.Add(testCluster, testUID, testSecret, canary)
	f.Add("c", "u", "s", []byte{})
	f.Fuzz(func(t *testing.T, cluster, uid, secret string, plaintext []byte) {
		u, err := keys(t, ring(t, 0, 1)).User(cluster, uid, fill(1, SaltSize))
		if err != nil {
			return
		}
		sealed, err := Seal(t.Context(), bytes.NewReader(fill(7, KeySize+2*nonceSize)), u, secret, plaintext)
		if err != nil {
			if !errors.Is(err, ErrBinding) && !errors.Is(err, ErrTooLong) {
				t.Errorf("Seal: %v", err)
			}
			return
		}
		if got, err := Open(t.Context(), u, secret, sealed); err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("what was sealed opens to %d bytes of %d, %v", len(got), len(plaintext), err)
		}
	})
}

// FuzzAAD holds that two places never have the same associated data.
func FuzzAAD(f *testing.F) {
	f.Add("a", "bc", "d", "ab", "c", "d")
	f.Add("a", "b", "cd", "a", "bc", "d")
	f.Add("a", "\x00\x00\x00\x01b", "c", "a", "b", "c")
	f.Fuzz(func(t *testing.T, cluster, uid, secret, otherCluster, otherUID, otherSecret string) {
		a := (&User{cluster: cluster, userUID: uid}).wrapping(AlgorithmLocal, secret)
		b := (&User{cluster: otherCluster, userUID: otherUID}).wrapping(AlgorithmLocal, otherSecret)
		same := cluster == otherCluster && uid == otherUID && secret == otherSecret
		if bytes.Equal(a.dataAAD(), b.dataAAD()) != same {
			t.Error("two places have the same associated data of the data")
		}
		if bytes.Equal(a.AAD(1), b.AAD(1)) != same {
			t.Error("two places have the same associated data of the wrap")
		}
		transit := a
		transit.algorithm = AlgorithmTransit
		if bytes.Equal(transit.AAD(1), b.AAD(1)) || bytes.Equal(transit.dataAAD(), b.dataAAD()) {
			t.Error("two algorithms have the same associated data")
		}
		if bytes.Equal(a.AAD(1), b.AAD(2)) || bytes.Equal(a.AAD(1), b.dataAAD()) {
			t.Error("two versions or purposes have the same associated data")
		}
	})
}
