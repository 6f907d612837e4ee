// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"hash/crc32"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/hostedbridge/hostedbridge/internal/apikey"
)

func newTestAttempts(t testing.TB) *attempts {
	t.Helper()
	a, err := newAttempts(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFailuresAreLimitedBySourceAndByID(t *testing.T) {
	now := time.Unix(1000, 0)
	a := newTestAttempts(t)
	first := netip.MustParseAddr("192.0.2.1")
	for n := range sourceBurst {
		if wait := a.failed(first, "id"+strconv.Itoa(n), now); wait != 0 {
			t.Fatalf("attempt %d waits %v", n, wait)
		}
	}
	if wait := a.failed(first, "", now); wait != sourceEvery {
		t.Errorf("one attempt too many waits %v", wait)
	}
	if wait := a.failed(first, "", now.Add(sourceEvery)); wait != 0 {
		t.Errorf("after %v an attempt waits %v: those that were refused count", sourceEvery, wait)
	}
	for n := range idBurst {
		if wait := a.failed(netip.AddrFrom4([4]byte{198, 51, 100, byte(n)}), "one", now); wait != 0 {
			t.Fatalf("attempt %d on an id waits %v", n, wait)
		}
	}
	if wait := a.failed(netip.MustParseAddr("203.0.113.1"), "one", now); wait != idEvery {
		t.Errorf("one attempt too many on an id waits %v", wait)
	}
	if wait := a.failed(netip.MustParseAddr("203.0.113.1"), "other", now); wait != 0 {
		t.Errorf("an attempt on another id waits %v", wait)
	}
}

func TestSourcesAreWhatASenderCannotLeave(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8:1:2::1", "2001:db8:1:2:ffff::9", true},
		{"2001:db8:1:2::1", "2001:db8:1:3::1", false},
		{"fe80::1%eth0", "fe80::1%eth1", true},
	} {
		if got := sourceNetwork(netip.MustParseAddr(test.a)) == sourceNetwork(netip.MustParseAddr(test.b)); got != test.same {
			t.Errorf("%s and %s: one source %v, want %v", test.a, test.b, got, test.same)
		}
	}
	if sourceNetwork(netip.Addr{}).IsValid() {
		t.Error("no address has a network")
	}
}

func TestManyAtOnceGetNoMoreThanTheBurst(t *testing.T) {
	l := &limiter{burst: 50, every: time.Second}
	now := time.Unix(1000, 0)
	var passed sync.Map
	var all sync.WaitGroup
	for n := range 400 {
		all.Go(func() {
			if l.take(7, now) == 0 {
				passed.Store(n, true)
			}
		})
	}
	all.Wait()
	count := 0
	passed.Range(func(any, any) bool { count++; return true })
	if count != 50 {
		t.Errorf("%d passed, want 50", count)
	}
}

// TestFailuresDoNotLockTheOwnerOut tries alice's key id with other secrets until
// it is limited, from her own address.
func TestFailuresDoNotLockTheOwnerOut(t *testing.T) {
	w, alice, bob := twoUsers(t)
	id := strings.Split(alice, "_")[1]
	_, typed, _ := strings.Cut(strings.TrimPrefix(bob, "hb_"), "_")
	wrong := checksummed(t, id, typed)
	status := map[int]int{}
	for range idBurst + 20 {
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
	if status[http.StatusUnauthorized] < idBurst || status[http.StatusTooManyRequests] == 0 {
		t.Errorf("answers by status: %v", status)
	}
	if n := w.metric("failed_attempts_total", "limited"); int(n) != status[http.StatusTooManyRequests] {
		t.Errorf("%v are counted as limited", n)
	}
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
	w, alice, bob := twoUsers(t)
	secret := strings.Split(bob, "_")[2]
	known, unknown := checksummed(t, strings.Split(alice, "_")[1], secret), checksummed(t, strings.Repeat("0", 12), secret)
	limited := func(key string) reply {
		for range sourceBurst + 2*idBurst {
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
}

func TestRequestsWithoutAKeyAreNoAttempts(t *testing.T) {
	w, _, _ := twoUsers(t)
	for range sourceBurst + 10 {
		if got := w.do(w.request("GET", "/u/alice/mcp", "", "")); got.status != http.StatusUnauthorized {
			t.Fatalf("status = %d", got.status)
		}
	}
}

func BenchmarkAFailedAttempt(b *testing.B) {
	a := newTestAttempts(b)
	source := netip.MustParseAddr("192.0.2.1")
	now := time.Unix(1000, 0)
	b.ReportAllocs()
	for b.Loop() {
		a.failed(source, "abcdefghijkl", now)
	}
}
