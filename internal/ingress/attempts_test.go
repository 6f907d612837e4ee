// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"hash/crc32"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/ingress/authn"
)

// TestFailuresDoNotLockTheOwnerOut tries alice's key id with other secrets until
// it is limited, from her own address.
func TestFailuresDoNotLockTheOwnerOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, bob := twoUsers(t)
		id := strings.Split(alice, "_")[1]
		_, typed, _ := strings.Cut(strings.TrimPrefix(bob, "hb_"), "_")
		wrong := checksummed(t, id, typed)
		status := map[int]int{}
		for range authn.IDBurst + 20 {
			got := w.do(w.request("GET", "/u/alice/mcp", wrong, ""))
			status[got.status]++
			if got.status == http.StatusTooManyRequests {
				if n, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || n < 1 {
					t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
				}
			}
			if ok := w.do(w.request("GET", "/u/alice/mcp", alice, "")); ok.status != http.StatusOK {
				t.Fatalf("the owner is answered %d: %s", ok.status, ok.body)
			}
		}
		if status[http.StatusUnauthorized] < authn.IDBurst || status[http.StatusTooManyRequests] == 0 {
			t.Errorf("answers by status: %v", status)
		}
		if n := w.metric("failed_attempts_total", "limited"); int(n) != status[http.StatusTooManyRequests] {
			t.Errorf("%v are counted as limited", n)
		}
	})
}

// checksummed returns a key of that id which was never minted.
func checksummed(t *testing.T, id, secret string) string {
	t.Helper()
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	body := "hb_" + id + "_" + secret[:len(secret)-6]
	sum := crc32.ChecksumIEEE([]byte(body))
	digits := make([]byte, 6)
	for i := range digits {
		digits[5-i] = letters[sum%62]
		sum /= 62
	}
	key := body + string(digits)
	if _, err := apikey.Parse(key); err != nil {
		t.Fatal(err)
	}
	return key
}

// TestALimitedIDIsOneAnswer limits an id that is somebody's and one that is
// nobody's: the answers do not tell which.
func TestALimitedIDIsOneAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		w, alice, bob := twoUsers(t)
		secret := strings.Split(bob, "_")[2]
		known, unknown := checksummed(t, strings.Split(alice, "_")[1], secret), checksummed(t, strings.Repeat("0", 12), secret)
		limited := func(key string) reply {
			for range authn.SourceBurst + 2*authn.IDBurst {
				if got := w.do(w.request("GET", "/u/alice/mcp", key, "")); got.status == http.StatusTooManyRequests {
					got.header.Del("Retry-After")
					return withoutChance(got)
				}
			}
			t.Fatal("never limited")
			return reply{}
		}
		if diff := cmp.Diff(limited(known), limited(unknown), cmp.AllowUnexported(reply{})); diff != "" {
			t.Errorf("a known id (-) is told from an unknown one (+):\n%s", diff)
		}
	})
}

func TestRequestsWithoutAKeyAreNoAttempts(t *testing.T) {
	w, _, _ := twoUsers(t)
	for range authn.SourceBurst + 10 {
		if got := w.do(w.request("GET", "/u/alice/mcp", "", "")); got.status != http.StatusUnauthorized {
			t.Fatalf("status = %d", got.status)
		}
	}
}
