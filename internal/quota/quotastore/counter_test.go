// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock/clocktest"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// inMemory returns a counter without a file.
func inMemory(clock *clocktest.Clock) *Counter {
	return OpenCounter("", clock, slog.New(slog.DiscardHandler))
}

var counterTier = quota.Tier{PerMinute: 6, PerHour: 100, PerDay: 1000, Burst: 6, ConcurrentCalls: 2, Streams: 1}

// asksCount returns what a replica asks for one call.
func asksCount(c *Counter, replica string, bridge types.UID) Inquiry {
	return Inquiry{Bridge: bridge, Marker: c.marker, Inquiry: quota.Inquiry{Replica: replica, Tier: counterTier, Want: quota.Want{Requests: 1}}}
}

func takeCount(t *testing.T, c *Counter, q Inquiry) quota.Reply {
	t.Helper()
	return must.Value(c.Take(q))(t)
}

// TestTheCounterDecidesAsTheModelDoes has windows that run, that have ended, and
// that begin in the future, as after a change of the clock.
func TestTheCounterDecidesAsTheModelDoes(t *testing.T) {
	clock := clocktest.New(0)
	c := inMemory(clock)
	random := rand.New(rand.NewPCG(1, 2))
	state := func() (s quota.State) {
		now := clock.Now().UnixMicro()
		for i := range s.Windows {
			span := quota.Spans[i].Microseconds()
			s.Windows[i] = quota.Window{Start: now - span*3/2 + random.Int64N(span*7/4), Used: random.Int64N(120 * int64(i+1))}
		}
		s.Next = now + random.Int64N(60_000_000) - 10_000_000
		return s
	}
	refusals := map[quota.Limit]int{}
	for i := range 3000 {
		clock.Advance(time.Duration(random.Int64N(int64(time.Second))))
		q := asksCount(c, "a", types.UID(fmt.Sprint(i)))
		q.Tier = quota.Tier{
			PerMinute: 1 + random.Int32N(100), PerHour: 1 + random.Int32N(200), PerDay: 1 + random.Int32N(400), Burst: 1 + random.Int32N(30),
			ConcurrentCalls: 1, Streams: 1,
		}
		q.Want.Requests = random.IntN(6)
		before := state()
		c.users[q.Bridge] = &counted{Account: quota.Account{State: before}}
		if q.Alone = random.IntN(2) == 0; q.Alone {
			q.Seen, q.Debt = state(), quota.Debt{Windows: state().Windows}
			before = before.Settle(q.Seen, q.Debt, clock.Now())
		}
		got := takeCount(t, c, q)
		want, v := quota.Take(before, q.Tier, clock.Now(), q.Want.Requests)
		got.State, _ = quota.Take(got.State, q.Tier, got.Now, 0) // What is kept is not brought to the time of a refusal.
		if diff := cmp.Diff(quota.Reply{Refused: v.Refused, Wait: v.RetryAfter, Now: time.UnixMicro(clock.Now().UnixMicro()), State: want}, got); diff != "" {
			t.Fatalf("%d: %+v (-model +counter):\n%s", i, q, diff)
		}
		refusals[got.Refused]++
	}
	for _, limit := range []quota.Limit{quota.None, quota.Minute, quota.Hour, quota.Day, quota.Burst} {
		if refusals[limit] < 50 {
			t.Errorf("only %d of the cases ended with %v", refusals[limit], limit)
		}
	}
}

func TestReplicasShareCallsAndStreams(t *testing.T) {
	clock := clocktest.New(0)
	c := inMemory(clock)
	call := func(replica string, inFlight int) Inquiry {
		q := asksCount(c, replica, "alice")
		q.Want.Slot, q.InFlight = quota.Calls, quota.Slots{inFlight, 0}
		return q
	}
	for _, replica := range []string{"a", "b"} {
		if r := takeCount(t, c, call(replica, 1)); r.Refused != quota.None {
			t.Fatalf("a first call of %s: %v", replica, r.Refused)
		}
	}
	if r := takeCount(t, c, call("a", 2)); r.Refused != quota.Calls || r.State.Windows[0].Used != 2 {
		t.Errorf("a third call: %+v", r)
	}
	stream := asksCount(c, "a", "alice")
	stream.Want, stream.InFlight = quota.Want{Slot: quota.Streams}, quota.Slots{1, 1}
	if r := takeCount(t, c, stream); r.Refused != quota.None {
		t.Errorf("a stream: %v", r.Refused)
	}
	c.Tell("b", map[types.UID]quota.Slots{"alice": {}, "nobody": {}})
	if r := takeCount(t, c, call("a", 2)); r.Refused != quota.None {
		t.Errorf("a call after one of another replica has ended: %v", r.Refused)
	}
	if c.users["nobody"] != nil {
		t.Error("there is an account of a bridge that nobody has called")
	}
	// Replica a has gone without a word.
	clock.Advance(quota.LeaseFor + time.Second)
	if r := takeCount(t, c, call("b", 1)); r.Refused != quota.None {
		t.Errorf("what a replica holds that is gone counts on: %v", r.Refused)
	}
}

func TestReplicasAreCounted(t *testing.T) {
	clock := clocktest.New(0)
	c := inMemory(clock)
	c.Beat("a")
	if p := c.Beat("b"); p.Replicas != 2 || p.Marker == "" {
		t.Errorf("%+v", p)
	}
	c.Leave("b")
	if p := c.Beat("a"); p.Replicas != 1 {
		t.Errorf("after one has left: %+v", p)
	}
	clock.Advance(ReplicaFor)
	if p := c.Beat("c"); p.Replicas != 1 {
		t.Errorf("after one is gone: %+v", p)
	}
}

func TestUnusedAccountsAreForgotten(t *testing.T) {
	clock := clocktest.New(0)
	c := inMemory(clock)
	takeCount(t, c, asksCount(c, "a", "alice"))
	clock.Advance(quota.KeepFor + time.Second)
	takeCount(t, c, asksCount(c, "a", "bob"))
	if c.users["alice"] != nil || c.users["bob"] == nil {
		t.Errorf("kept: %v", c.users)
	}
}

func TestWhatCannotBeCountedIsRefused(t *testing.T) {
	c := inMemory(clocktest.New(0))
	for name, change := range map[string]func(*Inquiry){
		"no replica":          func(q *Inquiry) { q.Replica = "" },
		"no bridge":           func(q *Inquiry) { q.Bridge = "" },
		"a tier of nothing":   func(q *Inquiry) { q.Tier = quota.Tier{} },
		"fewer requests":      func(q *Inquiry) { q.Want.Requests = -1 },
		"a limit, not a slot": func(q *Inquiry) { q.Want.Slot = quota.Minute },
		"no calls and less":   func(q *Inquiry) { q.InFlight[0] = -1 },
	} {
		q := asksCount(c, "a", "alice")
		change(&q)
		if _, err := c.Take(q); !errors.Is(err, jsoncall.ErrQuestion) {
			t.Errorf("%s: %v", name, err)
		}
	}
	q := asksCount(c, "a", "alice")
	q.Marker = "another"
	if _, err := c.Take(q); !errors.Is(err, ErrForgotten) {
		t.Errorf("another marker: %v", err)
	}
	if len(c.users) != 0 {
		t.Errorf("something was counted: %v", c.users)
	}
}
