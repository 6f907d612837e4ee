// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package envelope

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// place is where an envelope belongs.
type place struct{ cluster, uid, secret string }

func TestAnEnvelopeOpensInItsPlaceAlone(t *testing.T) {
	t.Run("local", func(t *testing.T) { opensInItsPlaceAlone(t, ring(t, 0, 1)) })
	t.Run("transit", func(t *testing.T) { opensInItsPlaceAlone(t, transitOf(1)) })
}

func opensInItsPlaceAlone(t *testing.T, r Provider) {
	t.Helper()
	home := place{testCluster, testUID, testSecret}
	sealed := seal(t, user(t, r, home.cluster, home.uid, 1), home.secret, canary)
	places := map[string]place{
		"the name and the UID exchanged":     {home.cluster, home.secret, home.uid},
		"the name and the cluster exchanged": {home.secret, home.uid, home.cluster},
		"the UID and the cluster exchanged":  {home.uid, home.cluster, home.secret},
		"the name's first byte in the UID":   {home.cluster, home.uid + home.secret[:1], home.secret[1:]},
		"the UID's last byte in the name":    {home.cluster, home.uid[:35], home.uid[35:] + home.secret},
		"the UID's first byte in cluster":    {home.cluster + home.uid[:1], home.uid[1:], home.secret},
		"the cluster's last byte in the UID": {home.cluster[:20], home.cluster[20:] + home.uid, home.secret},
		"a name in lower case":               {home.cluster, home.uid, "github_token"},
		"a name with a NUL behind":           {home.cluster, home.uid, home.secret + "\x00"},
		"a name with a length in it":         {home.cluster, home.uid, "\x00\x00\x00\x0c" + home.secret},
	}
	for i, field := range []string{home.cluster, home.uid, home.secret} {
		put := func(what, value string) {
			p := [3]string{home.cluster, home.uid, home.secret}
			p[i] = value
			places[fmt.Sprintf("field %d %s", i, what)] = place{p[0], p[1], p[2]}
		}
		for bit := range len(field) * 8 {
			b := []byte(field)
			b[bit/8] ^= 1 << (bit % 8)
			put(fmt.Sprintf("bit %d", bit), string(b))
		}
		for n := 1; n < len(field); n++ {
			put(fmt.Sprintf("cut to %d", n), field[:n])
			put(fmt.Sprintf("from %d", n), field[n:])
		}
		put("with a byte behind", field+"x")
		put("with a byte before", "x"+field)
		put("twice", field+field)
	}
	for what, p := range places {
		refused(t, what, user(t, r, p.cluster, p.uid, 1), p.secret, sealed)
	}
	if got, err := Open(t.Context(), user(t, r, home.cluster, home.uid, 1), home.secret, sealed); err != nil || !bytes.Equal(got, canary) {
		t.Errorf("in its own place it does not open: %v", err)
	}
}

// parts cuts an envelope where its fields meet.
func parts(envelope []byte) [][]byte {
	at := []int{0, versionAt, sizeAt, wrapNonceAt, wrappedAt, dataNonceAt, dataAt, len(envelope) - tagSize, len(envelope)}
	var out [][]byte
	for i := range len(at) - 1 {
		out = append(out, envelope[at[i]:at[i+1]])
	}
	return out
}

// Every mixture of the parts of two envelopes must be refused in both places.
// What is equal byte for byte to the one that belongs there is no mixture.
func TestPartsOfTwoEnvelopesDoNotMix(t *testing.T) {
	t.Run("local", func(t *testing.T) { partsDoNotMix(t, ring(t, 0, 1, 2), ring(t, 0, 1)) })
	t.Run("transit", func(t *testing.T) { partsDoNotMix(t, transitOf(1, 2), transitOf(1)) })
}

func partsDoNotMix(t *testing.T, r, old Provider) {
	t.Helper()
	home := user(t, r, testCluster, testUID, 1)
	mine := seal(t, home, testSecret, canary)
	rewrapped := seal(t, user(t, old, testCluster, testUID, 1), testSecret, canary)
	again, _ := must.Values(Rewrap(t.Context(), rand.Reader, home, testSecret, rewrapped))(t)
	for _, test := range []struct {
		name   string
		a      []byte
		b      []byte
		ring   *User
		secret string
		valid  [][]byte // What may open at a's place.
	}{
		{"another secret", mine, seal(t, home, "OTHER_TOKEN", canary), home, "OTHER_TOKEN", [][]byte{mine}},
		{"another user", mine, seal(t, user(t, r, testCluster, "bob", 1), testSecret, canary), user(t, r, testCluster, "bob", 1), testSecret, [][]byte{mine}},
		{"another salt", mine, seal(t, user(t, r, testCluster, testUID, 2), testSecret, canary), user(t, r, testCluster, testUID, 2), testSecret, [][]byte{mine}},
		{"another cluster", mine, seal(t, user(t, r, "other", testUID, 1), testSecret, canary), user(t, r, "other", testUID, 1), testSecret, [][]byte{mine}},
		{"another plaintext of the same secret", mine, nil, home, testSecret, nil},
		{"itself under an earlier key version", again, rewrapped, home, testSecret, [][]byte{again, rewrapped}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.b == nil {
				test.b = seal(t, home, testSecret, bytes.ToUpper(canary))
				test.valid = [][]byte{test.a, test.b}
			}
			a, b := parts(test.a), parts(test.b)
			for mask := range 1 << len(a) {
				mixed := make([][]byte, len(a))
				for i := range a {
					if mixed[i] = a[i]; mask&(1<<i) != 0 {
						mixed[i] = b[i]
					}
				}
				what, mutant := fmt.Sprintf("mixture %08b", mask), join(mixed...)
				if !among(test.valid, mutant) {
					refused(t, what, home, testSecret, mutant)
				}
				if !bytes.Equal(mutant, test.b) && !among(test.valid, mutant) {
					refused(t, what+" in the other's place", test.ring, test.secret, mutant)
				}
			}
		})
	}
}

func among(all [][]byte, b []byte) bool {
	for _, one := range all {
		if bytes.Equal(one, b) {
			return true
		}
	}
	return false
}

// The same place, once by the ring and once by transit: the wraps have the same
// size, and here the same master keys.
func TestAlgorithmsDoNotMix(t *testing.T) {
	local, remote := ring(t, 0, 1), transitOf(1)
	home := on(t, local, remote)
	a, b := seal(t, home, testSecret, canary), seal(t, on(t, remote, local), testSecret, canary)
	for mask := range 1 << len(parts(a)) {
		mixed := parts(a)
		for i, part := range parts(b) {
			if mask&(1<<i) != 0 {
				mixed[i] = part
			}
		}
		if mutant := join(mixed...); !among([][]byte{a, b}, mutant) {
			refused(t, fmt.Sprintf("mixture %08b", mask), home, testSecret, mutant)
		}
	}
}

// With a plaintext of 32 bytes both ciphertexts have the same size, so that
// they could stand in each other's place.
func TestPartsOfOneEnvelopeDoNotTrade(t *testing.T) {
	u := alice(t, 1)
	sealed := seal(t, u, testSecret, fill('k', KeySize))
	header, wrapNonce, wrapped := sealed[:wrapNonceAt], sealed[wrapNonceAt:wrappedAt], sealed[wrappedAt:dataNonceAt]
	dataNonce, data := sealed[dataNonceAt:dataAt], sealed[dataAt:]
	for what, mutant := range map[string][]byte{
		"nonces traded":             join(header, dataNonce, wrapped, wrapNonce, data),
		"ciphertexts traded":        join(header, wrapNonce, data, dataNonce, wrapped),
		"both traded":               join(header, dataNonce, data, wrapNonce, wrapped),
		"the wrap in both places":   join(header, wrapNonce, wrapped, wrapNonce, wrapped),
		"the data in both places":   join(header, dataNonce, data, dataNonce, data),
		"one nonce in both places":  join(header, wrapNonce, wrapped, wrapNonce, data),
		"the tags of both traded":   join(header, wrapNonce, wrapped[:KeySize], data[KeySize:], dataNonce, data[:KeySize], wrapped[KeySize:]),
		"the ciphertexts less tags": join(header, wrapNonce, data[:KeySize], wrapped[KeySize:], dataNonce, wrapped[:KeySize], data[KeySize:]),
	} {
		refused(t, what, u, testSecret, mutant)
	}
}

// Were a data key ever a user's key, the purposes would still keep the wrap
// from being read as data.
func TestAWrapIsNotReadAsData(t *testing.T) {
	r := ring(t, 0, 1)
	u := user(t, r, testCluster, testUID, 1)
	key := must.Value(deriveUserKey(r.masters[1], u.salt, u.userUID))(t)
	// The user's own key is drawn as the data key.
	random := bytes.NewReader(join(key, fill(1, nonceSize), fill(2, nonceSize)))
	sealed := must.Value(Seal(t.Context(), random, u, testSecret, fill('p', KeySize)))(t)
	mutant := join(sealed[:dataNonceAt], sealed[wrapNonceAt:dataNonceAt])
	if _, err := Open(t.Context(), u, testSecret, mutant); !errors.Is(err, ErrRefused) {
		t.Errorf("the wrap opens as data: %v", err)
	}
}
