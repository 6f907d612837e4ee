// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/quota"
)

var tier = quota.Tier{PerMinute: 90, PerHour: 900, PerDay: 9000, Burst: 90, ConcurrentCalls: 2, Streams: 1}

// alone returns a store of this process.
func alone(t *testing.T, clock *clocktest.Clock, replicas int) *Store {
	t.Helper()
	s, err := New(Options{Replicas: replicas, Clock: clock, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// passing returns how many of so many requests pass.
func passing(t *testing.T, s *Store, requests int) (n int) {
	t.Helper()
	for range requests {
		if s.Take(t.Context(), "alice", tier, quota.Want{Requests: 1}).Allowed() {
			n++
		}
	}
	return n
}

func TestAUserGetsHisQuotaAndOthersTheirs(t *testing.T) {
	clock := clocktest.New(0)
	s := alone(t, clock, 1)
	for minute := range 3 {
		if got := passing(t, s, 900); got != 90 {
			t.Errorf("minute %d: %d pass, want 90", minute, got)
		}
		clock.Advance(time.Minute)
	}
	v := s.Take(t.Context(), "bob", tier, quota.Want{Requests: 1})
	if !v.Allowed() || v.Left[0].Remaining != 89 {
		t.Errorf("bob: %+v", v)
	}
	if got := s.Known(t.Context(), "bob", tier); got != v {
		t.Errorf("of bob is known %+v, want %+v", got, v.Left)
	}
	if got := s.Known(t.Context(), "carol", tier).Left[0].Remaining; got != 90 {
		t.Errorf("of carol, who never called, is known %d", got)
	}
	var refusals dto.Metric
	if err := s.metrics.decisions.WithLabelValues("minute").Write(&refusals); err != nil || refusals.GetCounter().GetValue() != 3*810 {
		t.Errorf("%v refusals are counted, want %v (%v)", refusals.GetCounter().GetValue(), 3*810, err)
	}
}

func TestReplicasThatKnowNothingOfEachOtherShareAQuota(t *testing.T) {
	clock := clocktest.New(0)
	got := 0
	for range 3 {
		got += passing(t, alone(t, clock, 3), 90)
	}
	if got != 90 {
		t.Errorf("%d pass at three replicas, want 90", got)
	}
}

func TestABatchThatIsMoreThanAShareIsNotPutOff(t *testing.T) {
	clock := clocktest.New(0)
	s := alone(t, clock, 3)
	take := func(n int) quota.Verdict {
		return s.Take(t.Context(), "alice", tier, quota.Want{Requests: n, Slot: quota.Calls})
	}
	for range 3 {
		if v := take(31); v.Refused != quota.Batch || v.RetryAfter != 0 {
			t.Errorf("31 at once, of a share of 30: refused by %v, for %v", v.Refused, v.RetryAfter)
		}
		clock.Advance(time.Minute)
	}
	if v := take(30); !v.Allowed() || v.Left[0].Remaining != 0 {
		t.Errorf("in parts: %+v", v)
	}
	s.Give("alice", quota.Calls)
	// What is refused now and passes later is told when.
	if v := take(30); v.Refused != quota.Minute || v.RetryAfter != time.Minute {
		t.Errorf("once more: refused by %v, for %v", v.Refused, v.RetryAfter)
	}
	if a := s.accounts.known("alice"); a.inFlight != (quota.Slots{}) {
		t.Errorf("in flight: %v", a.inFlight)
	}
}

func TestCallsAndStreamsAreCountedApart(t *testing.T) {
	clock := clocktest.New(1)
	s := alone(t, clock, 1)
	call, stream := quota.Want{Requests: 1, Slot: quota.Calls}, quota.Want{Slot: quota.Streams}
	take := func(w quota.Want) <-chan quota.Verdict {
		taken := make(chan quota.Verdict, 1)
		go func() { taken <- s.Take(context.Background(), "alice", tier, w) }()
		return taken
	}
	for i, w := range []quota.Want{call, call, stream} {
		if v := <-take(w); !v.Allowed() {
			t.Fatalf("%d: refused by %v", i, v.Refused)
		}
	}
	third := take(call)
	clock.End(<-clock.Waits)
	if v := <-third; v.Refused != quota.Calls || v.Left[0].Remaining != 88 {
		t.Errorf("a third call: %+v", v)
	}
	third = take(call)
	<-clock.Waits // It waits for one of the others to end.
	s.Give("alice", quota.Calls)
	if v := <-third; !v.Allowed() || v.Left[0].Remaining != 87 {
		t.Errorf("a third call when the first has ended: %+v", v)
	}
	second := take(stream)
	clock.End(<-clock.Waits)
	if v := <-second; v.Refused != quota.Streams {
		t.Errorf("a second stream: %+v", v)
	}
	if v := <-take(quota.Want{Requests: 1}); !v.Allowed() {
		t.Errorf("a request without a slot: refused by %v", v.Refused)
	}
}

func TestWhoIsRefusedKeepsNoSlot(t *testing.T) {
	s := alone(t, clocktest.New(0), 1)
	passing(t, s, 90)
	for range 5 {
		if v := s.Take(t.Context(), "alice", tier, quota.Want{Requests: 1, Slot: quota.Calls}); v.Refused != quota.Minute {
			t.Fatalf("refused by %v", v.Refused)
		}
	}
	if a := s.accounts.known("alice"); a.inFlight != (quota.Slots{}) {
		t.Errorf("in flight: %v", a.inFlight)
	}
}

func TestACallerWhoLeavesWaitsForNoSlot(t *testing.T) {
	clock := clocktest.New(1)
	s := alone(t, clock, 1)
	stream := quota.Want{Slot: quota.Streams}
	if v := s.Take(t.Context(), "alice", tier, stream); !v.Allowed() {
		t.Fatal(v)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if v := s.Take(ctx, "alice", tier, stream); v.Refused != quota.Streams {
		t.Errorf("refused by %v", v.Refused)
	}
}

func TestAccountsThatNobodyUsesAreForgotten(t *testing.T) {
	clock := clocktest.New(0)
	s := alone(t, clock, 1)
	passing(t, s, 1)
	if v := s.Take(t.Context(), "streaming", tier, quota.Want{Slot: quota.Streams}); !v.Allowed() {
		t.Fatal(v)
	}
	clock.Advance(quota.KeepFor + time.Hour)
	if v := s.Take(t.Context(), "bob", tier, quota.Want{Requests: 1}); !v.Allowed() {
		t.Fatal(v)
	}
	if _, kept := s.accounts.of["alice"]; kept || len(s.accounts.of) != 2 {
		t.Errorf("kept: %v", s.accounts.of)
	}
}

func TestWithoutASharedStoreRunOnlyWaits(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := alone(t, clocktest.New(0), 1).Run(ctx); err != nil {
		t.Error(err)
	}
}

func TestParseURL(t *testing.T) {
	for url, want := range map[string]bool{
		"redis://localhost:6379": true, "redis://localhost": true, "rediss://counter@example.com:6380/3": true,
		"": false, "localhost:6379": false, "http://localhost": false, "redis://": false, "redis://x/y": false,
		"redis://:canary@localhost": false, "redis://user:@localhost": false, "redis://user:canary@localhost": false, "redis://localhost:6379/0?canary=1": false,
		"redis://me:canary@host:port": false, "redis://me:canary@host/first": false, "redis://me:canary@[::1": false,
	} {
		_, err := ParseURL(url)
		if (err == nil) != want {
			t.Errorf("%q: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: the error quotes it: %v", url, err)
		}
	}
}

func TestAnAnswerOfAnotherFormIsNone(t *testing.T) {
	for _, v := range [][]string{nil, {"1"}, {"now", "marker", "", ""}, {"1", "marker", "", "", ""}} {
		if _, err := parse(v, nil); err == nil {
			t.Errorf("%q is taken for an answer", v)
		}
	}
}
