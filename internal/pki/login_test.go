// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

func newAuthority(t *testing.T, first byte) *Authority {
	t.Helper()
	return must.Value(NewAuthority([32]byte{first}))(t)
}

// public returns the public half of a login key, uncompressed.
func public(t *testing.T, a *Authority, generation uint32, period int64) string {
	t.Helper()
	key := must.Value(a.LoginKey(generation, period))(t)
	b := must.Value(key.PublicKey.Bytes())(t)
	return hex.EncodeToString(b)
}

func TestALoginKeyIsTheSameAtEveryStart(t *testing.T) {
	// A vector: another key here ends every login.
	const want = "045489558403465380871d3cae66af7c5766a259b3663b2dbc213d029a5df03e91e9129e17ba3726e338989f57f636e2cf22a325e1c4d26dbf11b958905b2e5d4b"
	if got := public(t, newAuthority(t, 1), 0, 692); got != want {
		t.Errorf("the public key is %s, want %s", got, want)
	}
}

func TestEachAuthorityGenerationAndPeriodHasALoginKeyOfItsOwn(t *testing.T) {
	seen := map[string]string{}
	for _, first := range []byte{1, 2} {
		for _, generation := range []uint32{0, 1, 11} {
			for _, period := range []int64{-1, 0, 1, 11, 111, 692} {
				name := fmt.Sprintf("%d/%d/%d", first, generation, period)
				got := public(t, newAuthority(t, first), generation, period)
				if other, found := seen[got]; found {
					t.Errorf("%s and %s have one key", name, other)
				}
				seen[got] = name
			}
		}
	}
}

// isKey reports whether the key is that number.
func isKey(key *ecdsa.PrivateKey, number string) bool {
	b, err := key.Bytes()
	return err == nil && hex.EncodeToString(b) == number
}

// The order of P-256 (SEC 2, 2.4.2) and the number before it: the least that is
// no key, and the greatest that is one.
const (
	order      = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
	orderLess1 = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550"
)

func TestACandidateThatIsNoKeyIsFollowedByAnother(t *testing.T) {
	zero, one, all := strings.Repeat("00", 32), strings.Repeat("00", 31)+"01", strings.Repeat("ff", 32)
	for _, test := range []struct {
		name       string
		candidates []string
		key        string
	}{
		{"the least key", []string{one}, one},
		{"the greatest key", []string{orderLess1, one}, orderLess1},
		{"zero", []string{zero, one}, one},
		{"the order", []string{order, one}, one},
		{"more than the order, three times", []string{all, all, all, one}, one},
		{"none is ever one", []string{zero, order, all, zero, order, all, zero, order}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked, want []string
			a := &Authority{derive: func(info string) ([]byte, error) {
				asked = append(asked, info)
				return hex.DecodeString(test.candidates[len(asked)-1])
			}}
			key, err := a.LoginKey(3, 692)
			if test.key == "" {
				if err == nil || key != nil {
					t.Fatalf("error %v", err)
				}
			} else if err != nil || !isKey(key, test.key) {
				t.Fatalf("another key, error %v", err)
			}
			for attempt, candidate := range test.candidates {
				want = append(want, fmt.Sprintf("hb/v1/login/3/692/%d", attempt))
				if candidate == test.key {
					break
				}
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALoginKeyThatCannotBeDerivedIsAnError(t *testing.T) {
	failed := errors.New("no entropy")
	a := &Authority{derive: func(string) ([]byte, error) { return nil, failed }}
	if _, err := a.LoginKey(0, 0); !errors.Is(err, failed) {
		t.Errorf("error %v", err)
	}
	// Too short is no candidate either.
	a = &Authority{derive: func(string) ([]byte, error) { return bytes.Repeat([]byte{1}, 31), nil }}
	if _, err := a.LoginKey(0, 0); err == nil {
		t.Error("a key of 31 bytes")
	}
}
