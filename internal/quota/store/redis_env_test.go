//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/internal/quota/counter"
	"github.com/hostedbridge/hostedbridge/test/logtest"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/redisserver"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// replica is a store that runs.
type replica struct {
	*Store
	log *logtest.Log
}

// redis returns the replica's way to its Redis.
func (r *replica) redis() *redisStore { return r.link.shared.(*redisStore) }

// startReplicas starts so many replicas on the server, and waits until they
// have reached it and know of each other.
func startReplicas(t *testing.T, redis Redis, n int) []*replica {
	t.Helper()
	replicas := make([]*replica, n)
	for i := range replicas {
		replicas[i] = startReplica(t, redis, n)
	}
	for _, r := range replicas {
		wait.Until(t, "a replica that knows of all", func() bool { return r.link.up.Load() && r.others() == n })
	}
	return replicas
}

func startReplica(t testing.TB, redis Redis, n int) *replica {
	t.Helper()
	if redis.Timeout == 0 {
		redis.Timeout = wait.Limit // The test is not about the time limit.
	}
	log := &logtest.Log{}
	s, err := New(Options{
		Replicas: n, Redis: &redis, Clock: clock.System{}, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &replica{s, log}
}

// storm has all replicas asked so often at once, and returns how many passed.
func storm(t *testing.T, replicas []*replica, bridge types.UID, tier quota.Tier, each int) int {
	t.Helper()
	var passed atomic.Int64
	var group sync.WaitGroup
	for _, r := range replicas {
		for range 4 {
			group.Go(func() {
				for range each / 4 {
					if r.Take(t.Context(), bridge, tier, quota.Want{Requests: 1}).Allowed() {
						passed.Add(1)
					}
				}
			})
		}
	}
	group.Wait()
	return int(passed.Load())
}

// within reports whether got is not more than that part away from want.
func within(got, want int, part float64) bool {
	return float64(got) >= float64(want)*(1-part) && float64(got) <= float64(want)*(1+part)
}

// wide has one limit that a test meets: that of the minute.
var wide = quota.Tier{PerMinute: 600, PerHour: 100_000, PerDay: 100_000, Burst: 600, ConcurrentCalls: 2, Streams: 1}

func TestTheScriptDecidesAsTheModelDoes(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL()}, 1)[0]
	random := rand.New(rand.NewPCG(1, 2))
	refusals := map[quota.Limit]int{}
	for i := range 3000 {
		tier := quota.Tier{
			PerMinute: 1 + random.Int32N(100), PerHour: 1 + random.Int32N(200), PerDay: 1 + random.Int32N(400), Burst: 1 + random.Int32N(30),
			ConcurrentCalls: 1, Streams: 1,
		}
		state, q := randomState(random), counter.Inquiry{Marker: r.link.memory.Load().marker, Bridge: types.UID(fmt.Sprint(i)), Tier: tier, Want: quota.Want{Requests: random.IntN(6)}}
		if q.Alone = random.IntN(2) == 0; q.Alone {
			q.Seen, q.Debt = randomState(random), quota.Debt{Windows: randomState(random).Windows}
			if random.IntN(2) == 0 {
				q.Seen.Windows[0].Start, q.Debt.Windows[1].Start = state.Windows[0].Start, state.Windows[1].Start
			}
		}
		fields := []any{"next", state.Next}
		for i, w := range state.Windows {
			fields = append(fields, fmt.Sprint("s", i+1), w.Start, fmt.Sprint("u", i+1), w.Used)
		}
		must.Succeed(t, r.redis().client.HSet(t.Context(), key(q.Bridge)[0], fields...).Err())
		got := must.Value(r.link.take(t.Context(), q))(t)
		if q.Alone {
			state = state.Settle(q.Seen, q.Debt, got.Now)
		}
		want, v := quota.Take(state, tier, got.Now, q.Want.Requests)
		if diff := cmp.Diff(want, got.State); diff != "" || v.Refused != got.Refused || v.RetryAfter != got.Wait {
			t.Fatalf("%d: %+v\nscript: %v for %v, model: %v for %v, state (-model +script):\n%s", i, q, got.Refused, got.Wait, v.Refused, v.RetryAfter, diff)
		}
		refusals[got.Refused]++
	}
	for _, limit := range []quota.Limit{quota.None, quota.Minute, quota.Hour, quota.Day, quota.Burst} {
		if refusals[limit] < 50 {
			t.Errorf("only %d of the cases ended with %v", refusals[limit], limit)
		}
	}
}

// randomState has windows that run, that have ended and that begin in the
// future, as after a change of the clock.
func randomState(random *rand.Rand) (s quota.State) {
	now := time.Now().UnixMicro()
	for i := range s.Windows {
		span := quota.Spans[i].Microseconds()
		s.Windows[i] = quota.Window{Start: now - span*3/2 + random.Int64N(span*7/4), Used: random.Int64N(120 * int64(i+1))}
	}
	s.Next = now + random.Int64N(60_000_000) - 10_000_000
	return s
}

func TestThreeReplicasGiveAUserHisQuotaOnce(t *testing.T) {
	server := redisserver.Start(t)
	replicas := startReplicas(t, Redis{URL: server.URL()}, 3)
	if passed := storm(t, replicas, "alice", wide, 2000); !within(passed, 600, .02) {
		t.Errorf("of ten times the quota %d passed, want 600", passed)
	}
	if passed := storm(t, replicas, "bob", wide, 80); passed != 240 {
		t.Errorf("%d of a neighbour's 240 passed", passed)
	}
	keys, err := replicas[0].redis().client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 4 {
		t.Errorf("keys %v, %v", keys, err)
	}
	for _, key := range keys {
		if ttl := replicas[0].redis().client.TTL(t.Context(), key).Val(); ttl <= 0 {
			t.Errorf("%s never expires", key)
		}
	}
}

func TestWithoutItsStoreEachReplicaGivesItsShareOfWhatIsLeft(t *testing.T) {
	server := redisserver.Start(t)
	replicas := startReplicas(t, Redis{URL: server.URL()}, 3)
	for name, before := range map[types.UID]int{"new": 0, "known": 99} {
		if passed := storm(t, replicas, name, wide, before/3/4*4); passed != before/12*12 {
			t.Errorf("%s: %d passed before, want %d", name, passed, before)
		}
	}
	server.Stop()
	total := 96 + storm(t, replicas, "known", wide, 2000)
	if !within(total, 600, .2) {
		t.Errorf("of ten times the quota %d passed while the store went away, want 600", total)
	}
	if passed := storm(t, replicas, "new", wide, 2000); !within(passed, 600, .2) {
		t.Errorf("of ten times the quota %d passed without the store, want 600", passed)
	}
	for _, r := range replicas {
		if r.link.up.Load() || !strings.Contains(r.log.String(), "the quota store is away") {
			t.Errorf("nobody is told: %s", r.log)
		}
	}
	// It has lost its memory, but the replicas tell it what they know.
	server.Restart(t)
	for _, r := range replicas {
		wait.Until(t, "the store", r.link.up.Load)
	}
	total += storm(t, replicas, "known", wide, 2000)
	if !within(total, 600, .2) {
		t.Errorf("%d passed with the store back, want 600 in all", total)
	}
}

// TestAStoreThatForgetsForgivesNobody has the store come back empty sooner than
// anybody notices that it was away.
func TestAStoreThatForgetsForgivesNobody(t *testing.T) {
	server := redisserver.Start(t)
	replicas := startReplicas(t, Redis{URL: server.URL()}, 2)
	known := wide
	known.PerMinute, known.ConcurrentCalls = 30, 1
	if passed := storm(t, replicas, "alice", known, 100); passed != 30 {
		t.Fatalf("%d passed before, want 30", passed)
	}
	// Bob's last call is open.
	if v := replicas[0].Take(t.Context(), "bob", known, quota.Want{Requests: 1, Slot: quota.Calls}); !v.Allowed() {
		t.Fatalf("refused by %v", v.Refused)
	}
	began := time.Now()
	for round := range 3 {
		for _, r := range replicas { // As after trustSeen: what was refused is asked for again.
			r.accounts.update("alice", time.Now(), func(a *account) { a.seenAt = time.Time{} })
		}
		// As a restart within a moment: no beat falls into it.
		must.Succeed(t, replicas[0].redis().client.FlushAll(t.Context()).Err())
		if passed := storm(t, replicas, "alice", known, 100); passed > int(time.Since(began)/(2*time.Second)) { // One comes back each two seconds.
			t.Errorf("round %d: %d more passed", round, passed)
		}
	}
	for _, r := range replicas {
		wait.Until(t, "the open call of another user", func() bool {
			return r.redis().client.HLen(t.Context(), key("bob")[0]).Val() > 0
		})
		if !r.link.up.Load() || !strings.Contains(r.log.String(), "has lost what it knew") {
			t.Errorf("nobody is told: %s", r.log)
		}
	}
	if v := replicas[1].Take(t.Context(), "bob", known, quota.Want{Requests: 1, Slot: quota.Calls}); v.Refused != quota.Calls {
		t.Errorf("another call of his: %v", v.Refused)
	}
}

// TestManyUsersAreToldOf has each of many users an open stream. The store is
// asked with the time limit that it has by default.
func TestManyUsersAreToldOf(t *testing.T) {
	const users = 8000
	server := redisserver.Start(t)
	r := startReplica(t, Redis{URL: server.URL(), Timeout: defaultTimeout}, 1)
	wait.Until(t, "the store", r.link.up.Load)
	for i := range users {
		r.accounts.update(types.UID(fmt.Sprint("user-", i)), time.Now(), func(a *account) { a.inFlight = counter.Slots{0, 1} })
	}
	r.renew()
	held := func(i int) bool {
		return r.redis().client.HExists(t.Context(), key(types.UID(fmt.Sprint("user-", i)))[0], "r:"+r.redis().replica).Val()
	}
	wait.Until(t, "all of them", func() bool {
		waits := 0
		r.link.untold.Range(func(any, any) bool { waits++; return false })
		return waits == 0 && held(0) && held(users-1)
	})
	for i := range users {
		// A question that took too long is asked again.
		wait.Until(t, fmt.Sprint("the store is told of user ", i), func() bool { return held(i) })
	}
}

// TestWhoCouldNotBeToldOfIsToldOfLater has the store refuse to be told, and
// nothing else.
func TestWhoCouldNotBeToldOfIsToldOfLater(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL()}, 1)[0]
	// The hash of one is none.
	must.Succeed(t, r.redis().client.Set(t.Context(), key("alice")[0], "canary", 0).Err())
	for _, user := range []types.UID{"alice", "bob"} {
		r.accounts.update(user, time.Now(), func(a *account) { a.inFlight = counter.Slots{1, 0} })
	}
	r.renew()
	r.tellAll(t.Context())
	if !r.link.up.Load() {
		t.Error("the store is taken for away")
	}
	if _, waits := r.link.untold.Load(types.UID("alice")); !waits {
		t.Error("who could not be told of is forgotten")
	}
	must.Succeed(t, r.redis().client.Del(t.Context(), key("alice")[0]).Err())
	wait.Until(t, "what the store is told later", func() bool {
		return r.redis().client.HExists(t.Context(), key("alice")[0], "r:"+r.redis().replica).Val()
	})
}

func TestAStoreThatHangsCostsOneTimeLimit(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL(), Timeout: time.Second}, 1)[0]
	server.Signal(t, syscall.SIGSTOP)
	for range 100 {
		if v := r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}); !v.Allowed() {
			t.Errorf("refused by %v", v.Refused)
		}
	}
	var waits dto.Metric
	if err := r.metrics.duration.Write(&waits); err != nil || waits.GetHistogram().GetSampleCount() > 1 {
		t.Errorf("%d calls waited for the store, want 1 at most (%v)", waits.GetHistogram().GetSampleCount(), err)
	}
	server.Signal(t, syscall.SIGCONT)
	wait.Until(t, "the store", r.link.up.Load)
	if v := r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}); v.Left[0].Remaining != 600-101 {
		t.Errorf("the store was not told: %+v", v)
	}
}

func TestAReplicaKnowsTheCallsOfOthers(t *testing.T) {
	server := redisserver.Start(t)
	replicas := startReplicas(t, Redis{URL: server.URL()}, 2)
	call := quota.Want{Requests: 1, Slot: quota.Calls}
	for _, r := range replicas {
		if v := r.Take(t.Context(), "alice", wide, call); !v.Allowed() {
			t.Fatalf("refused by %v", v.Refused)
		}
	}
	for _, r := range replicas {
		if v := r.Take(t.Context(), "alice", wide, call); v.Refused != quota.Calls || v.Left[0].Remaining != 598 {
			t.Errorf("a third call: %+v", v)
		}
		if v := r.Take(t.Context(), "alice", wide, quota.Want{Slot: quota.Streams}); v.Allowed() != (r == replicas[0]) {
			t.Errorf("a stream: %+v", v)
		}
	}
	replicas[0].Give("alice", quota.Calls)
	wait.Until(t, "a slot that another replica has freed", func() bool {
		return replicas[1].Take(t.Context(), "alice", wide, call).Allowed()
	})
	// A replica that is gone without a word holds nothing for ever.
	expired := fmt.Sprint("2 1 ", time.Now().UnixMicro()-1)
	must.Succeed(t, replicas[0].redis().client.HSet(t.Context(), key("bob")[0], "r:gone", expired).Err())
	if v := replicas[0].Take(t.Context(), "bob", wide, call); !v.Allowed() {
		t.Errorf("refused by %v for a replica that is gone", v.Refused)
	}
	if left := replicas[0].redis().client.HExists(t.Context(), key("bob")[0], "r:gone").Val(); left {
		t.Error("a replica that is gone is not forgotten")
	}
}

func TestWhoIsRefusedIsNotAskedForAgain(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL()}, 1)[0]
	tier := wide
	tier.PerDay = 1
	start := time.Now()
	for range 1000 {
		r.Take(t.Context(), "alice", tier, quota.Want{Requests: 1})
	}
	var asked dto.Metric
	// Once for what passes, once each second for what does not.
	most := 2 + uint64(time.Since(start)/trustSeen)
	if err := r.metrics.duration.Write(&asked); err != nil || asked.GetHistogram().GetSampleCount() > most {
		t.Errorf("the store was asked %d times, want %d at most (%v)", asked.GetHistogram().GetSampleCount(), most, err)
	}
}

func TestThePasswordIsNeededAndNeverTold(t *testing.T) {
	server := redisserver.Start(t, "--requirepass", "canary")
	password := atomic.Pointer[string]{}
	wrong, right := "another-canary", "canary"
	password.Store(&wrong)
	r := startReplica(t, Redis{URL: server.URL(), Password: func() (string, error) { return *password.Load(), nil }}, 1)
	if v := r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}); !v.Allowed() || r.link.up.Load() {
		t.Errorf("%+v with a wrong password", v)
	}
	password.Store(&right)
	wait.Until(t, "the store, with the right password", r.link.up.Load)
	if v := r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}); v.Left[0].Remaining != 598 {
		t.Errorf("%+v", v)
	}
	if strings.Contains(r.log.String(), "canary") {
		t.Errorf("log: %s", r.log)
	}
}

// startReplicaOf runs a replica of the installation's own store.
func startReplicaOf(b *testing.B, own *ownStore) *Store {
	b.Helper()
	own.use(counter.Open("", clock.System{}, slog.New(slog.DiscardHandler)))
	client := must.Value(jsoncall.New(own.URL, nil))(b)
	s, err := New(Options{Replicas: 1, Remote: client, Clock: clock.System{}, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	wait.Until(b, "the store", s.link.up.Load)
	return s
}

// BenchmarkTake is what a call costs: a request and a slot, taken and given back.
func BenchmarkTake(b *testing.B) {
	endless := quota.Tier{PerMinute: 1 << 30, PerHour: 1 << 30, PerDay: 1 << 30, Burst: 1 << 30, ConcurrentCalls: 1 << 10, Streams: 1}
	local, err := New(Options{Replicas: 1, Clock: clock.System{}, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	server := redisserver.Start(b)
	shared := startReplica(b, Redis{URL: server.URL()}, 1)
	wait.Until(b, "the store", shared.link.up.Load)
	own := startReplicaOf(b, startOwnStore(b))
	for name, s := range map[string]*Store{"in the process": local, "in Redis": shared.Store, "in the store": own} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if v := s.Take(b.Context(), "alice", endless, quota.Want{Requests: 1, Slot: quota.Calls}); !v.Allowed() {
					b.Fatalf("refused by %v", v.Refused)
				}
				s.Give("alice", quota.Calls)
			}
		})
	}
}
