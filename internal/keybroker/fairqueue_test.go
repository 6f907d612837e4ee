// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keybroker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// taken takes a turn of the caller, and says so when there is none.
func taken(t *testing.T, s *fairQueue, caller string) (release func(), ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	release, err := s.take(ctx, caller)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return release, err == nil
}

func TestOnePodCannotTakeAllTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFairQueue()
		var releases []func()
		for n := range maxOfOne {
			release, ok := taken(t, s, "greedy")
			if !ok {
				t.Fatalf("no turn after %d", n)
			}
			releases = append(releases, release)
		}
		if _, ok := taken(t, s, "greedy"); ok {
			t.Error("more than its part")
		}
		for n := range (maxAtOnce - maxOfOne) / maxOfOne {
			for range maxOfOne {
				release, ok := taken(t, s, fmt.Sprint("pod-", n))
				if !ok {
					t.Fatalf("no turn for pod %d", n)
				}
				releases = append(releases, release)
			}
		}
		if _, ok := taken(t, s, "late"); ok {
			t.Errorf("more than %d at once", maxAtOnce)
		}
		// One given back is the next one's, whoever waits.
		next := make(chan func())
		go func() {
			release, err := s.take(context.WithoutCancel(t.Context()), "greedy")
			if err != nil {
				t.Error(err)
			}
			next <- release
		}()
		releases[0]()
		(<-next)()
		for _, release := range releases[1:] {
			release()
		}
		if len(s.callers) != 0 || len(s.all) != 0 {
			t.Errorf("%d callers and %d turns are left", len(s.callers), len(s.all))
		}
	})
}

func TestWhoWaitedInVainHasItsPartStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFairQueue()
		first, _ := taken(t, s, "late")
		for range maxAtOnce - 1 {
			s.all <- struct{}{}
		}
		for range maxOfOne {
			if _, ok := taken(t, s, "late"); ok {
				t.Fatal("more turns than there are")
			}
		}
		for range maxAtOnce - 1 {
			<-s.all
		}
		for n := range maxOfOne - 1 {
			release, ok := taken(t, s, "late")
			if !ok {
				t.Fatalf("no turn after %d", n+1)
			}
			defer release()
		}
		first()
	})
}

func TestNobodyWaitsForATurnForEver(t *testing.T) {
	s, registry := testServer(t, newWorld(), io.Discard)
	for range maxAtOnce {
		s.turns.all <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/secrets", http.NoBody)
	r.Header.Set("Authorization", "Bearer token-of-alice-pod")
	c := &call{request: r}
	e := &endpoint{[]route{{name: "secrets", method: http.MethodGet, answer: s.openSecrets}}, s}
	if _, err := e.handle(ctx, httptest.NewRecorder(), c); !errors.Is(err, errBusy) {
		t.Errorf("error %v, want %v", err, errBusy)
	}
	if len(s.turns.callers) != 0 || len(requests(t, registry)) != 0 {
		t.Error("a caller is left in line")
	}
}

func TestTurnsAreCountedByThePodsAddress(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.7:4711": "10.0.0.7", "[fd00::7]:4711": "fd00::7", "@": "@", "": "",
	} {
		if got := address(remote); got != want {
			t.Errorf("%q: %q, want %q", remote, got, want)
		}
	}
}
