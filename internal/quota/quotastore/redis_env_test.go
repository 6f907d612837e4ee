//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package quotastore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/internal/clock"
	"github.com/hostedbridge/hostedbridge/internal/jsoncall"
	"github.com/hostedbridge/hostedbridge/internal/quota"
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

// kept returns what the Redis keeps of a user.
func (r *replica) kept(t *testing.T, bridge types.UID) (a quota.Account) {
	t.Helper()
	text, err := r.redis().client.Get(t.Context(), key(bridge)).Bytes()
	if err == nil {
		must.Succeed(t, json.Unmarshal(text, &a))
	}
	return a
}

// isHeld reports whether the Redis was told that the replica has calls or streams
// of a user in flight. If it did not answer, that is asked again.
func (r *replica) isHeld(t *testing.T, bridge types.UID) bool {
	t.Helper()
	_, held := r.kept(t, bridge).Held[r.redis().replica]
	return held
}

// startReplicas starts so many replicas on the server, and waits until they
// have reached it and know of each other.
func startReplicas(t *testing.T, at Redis, n int) []*replica {
	t.Helper()
	replicas := make([]*replica, n)
	for i := range replicas {
		replicas[i] = startReplica(t, at, n)
	}
	for _, r := range replicas {
		wait.Until(t, "a replica that knows of all", func() bool { return r.link.up.Load() && r.others() == n })
	}
	return replicas
}

func startReplica(t testing.TB, at Redis, n int) *replica {
	t.Helper()
	if at.Timeout == 0 {
		at.Timeout = wait.Limit // The test is not about the time limit.
	}
	log := &logtest.Log{}
	s, err := New(Options{
		Replicas: n, Redis: &at, Clock: clock.System{}, Metrics: prometheus.NewRegistry(),
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
			return len(r.kept(t, "bob").Held) > 0
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
		r.accounts.update(types.UID(fmt.Sprint("user-", i)), time.Now(), func(a *account) { a.inFlight = quota.Slots{0, 1} })
	}
	r.renew()
	held := func(i int) bool { return r.isHeld(t, types.UID(fmt.Sprint("user-", i))) }
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
	// What is kept of one is a hash.
	must.Succeed(t, r.redis().client.HSet(t.Context(), key("alice"), "canary", 1).Err())
	for _, user := range []types.UID{"alice", "bob"} {
		r.accounts.update(user, time.Now(), func(a *account) { a.inFlight = quota.Slots{1, 0} })
	}
	r.renew()
	r.tellAll(t.Context())
	if !r.link.up.Load() {
		t.Error("the store is taken for away")
	}
	if _, waits := r.link.untold.Load(types.UID("alice")); !waits {
		t.Error("who could not be told of is forgotten")
	}
	must.Succeed(t, r.redis().client.Del(t.Context(), key("alice")).Err())
	wait.Until(t, "what the store is told later", func() bool { return r.isHeld(t, "alice") })
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
	expired := must.Value(json.Marshal(quota.Account{Held: map[string]quota.Lease{"gone": {Slots: quota.Slots{2, 1}, Expiry: time.Now().UnixMicro() - 1}}}))(t)
	must.Succeed(t, replicas[0].redis().client.Set(t.Context(), key("bob"), expired, 0).Err())
	if v := replicas[0].Take(t.Context(), "bob", wide, call); !v.Allowed() {
		t.Errorf("refused by %v for a replica that is gone", v.Refused)
	}
	if held := replicas[0].kept(t, "bob").Held; len(held) != 1 {
		t.Errorf("a replica that is gone is not forgotten: %v", held)
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
	own.use(OpenCounter("", clock.System{}, slog.New(slog.DiscardHandler)))
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

// trips counts how often a replica asks its Redis, and calls before with each
// command first.
type trips struct {
	n      atomic.Int64
	before func(args []any)
}

func (*trips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (c *trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		c.n.Add(1)
		if c.before != nil {
			c.before(command.Args())
		}
		return next(ctx, command)
	}
}

// TestWhoeverIsAlwaysTooLateGoesByItsShare has another replica take a request of
// the same user whenever this one is about to write.
func TestWhoeverIsAlwaysTooLateGoesByItsShare(t *testing.T) {
	server := redisserver.Start(t)
	late, fast := startReplica(t, Redis{URL: server.URL(), Timeout: time.Second}, 2), startReplica(t, Redis{URL: server.URL()}, 2)
	for _, r := range []*replica{late, fast} {
		wait.Until(t, "both replicas", func() bool { return r.link.up.Load() && r.others() == 2 })
	}
	tier := quota.Tier{PerMinute: 1 << 30, PerHour: 1 << 30, PerDay: 1 << 30, Burst: 1 << 30, ConcurrentCalls: 2, Streams: 1}
	took, contended := 0, atomic.Bool{}
	contended.Store(true)
	late.redis().client.AddHook(&trips{before: func(args []any) {
		if contended.Load() && len(args) > 5 && args[3] == key("alice") {
			fast.Take(t.Context(), "alice", tier, quota.Want{Requests: 1})
			took++
		}
	}})
	if v := late.Take(t.Context(), "alice", tier, quota.Want{Requests: 1}); !v.Allowed() || v.Replicas != 2 {
		t.Errorf("refused by %v, as one of %d replicas", v.Refused, v.Replicas)
	}
	contended.Store(false)
	if took < 2 || !late.link.up.Load() {
		t.Errorf("after %d attempts, the store is there: %v", took, late.link.up.Load())
	}
	late.Take(t.Context(), "alice", tier, quota.Want{Requests: 1})
	if got := late.kept(t, "alice").State.Windows[0].Used; got != int64(took+2) {
		t.Errorf("%d are counted, want %d of the other replica and 2", got, took)
	}
}

// TestARoundThatHadToWaitSaysNothingOfTheStore has a store that hangs be asked in
// whole time, and in what another round has left.
func TestARoundThatHadToWaitSaysNothingOfTheStore(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL(), Timeout: 400 * time.Millisecond}, 1)[0].redis()
	server.Signal(t, syscall.SIGSTOP)
	for left, want := range map[time.Duration]bool{r.timeout: false, r.timeout / 4: true} {
		q := &question{until: time.Now().Add(left), answered: make(chan struct{})}
		r.runRound(t.Context(), "alice", []*question{q})
		if <-q.answered; q.err == nil || errors.Is(q.err, errContended) != want {
			t.Errorf("with %v left: %v", left, q.err)
		}
	}
	server.Signal(t, syscall.SIGCONT)
}

// TestWhatIsAskedAtOnceOfAUserIsOneRound has many calls of a user wait for the
// first one.
func TestWhatIsAskedAtOnceOfAUserIsOneRound(t *testing.T) {
	server := redisserver.Start(t)
	r := startReplicas(t, Redis{URL: server.URL()}, 1)[0]
	r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1})
	arrived, held := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() {
		close(arrived)
		<-held
	})
	hook := &trips{before: func(args []any) {
		if len(args) > 3 && args[3] == key("alice") {
			hold()
		}
	}}
	r.redis().client.AddHook(hook)
	var group sync.WaitGroup
	left := make(chan int64, 50)
	take := func() { left <- r.Take(t.Context(), "alice", wide, quota.Want{Requests: 1}).Left[0].Remaining }
	group.Go(take)
	<-arrived
	for range cap(left) - 1 {
		group.Go(take)
	}
	wait.Until(t, "all others wait", func() bool {
		r.redis().mu.Lock()
		defer r.redis().mu.Unlock()
		return len(r.redis().waiting["alice"]) == cap(left)-1
	})
	before := hook.n.Load()
	close(held)
	group.Wait()
	close(left)
	told := map[int64]int{}
	for n := range left {
		told[n]++
	}
	if diff := cmp.Diff(map[int64]int{598: 1, 549: 49}, told); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	// The first one's write, two of the round, and the beats meanwhile.
	if n := hook.n.Load() - before; n > 12 {
		t.Errorf("%d calls took %d round trips", cap(left), n)
	}
}

var endless = quota.Tier{PerMinute: 1 << 30, PerHour: 1 << 30, PerDay: 1 << 30, Burst: 1 << 30, ConcurrentCalls: 1 << 10, Streams: 1}

// takeAndGive is what a call costs: a request and a slot, taken and given back.
func takeAndGive(b *testing.B, s *Store) {
	b.Helper()
	if v := s.Take(b.Context(), "alice", endless, quota.Want{Requests: 1, Slot: quota.Calls}); !v.Allowed() {
		b.Fatalf("refused by %v", v.Refused)
	}
	s.Give("alice", quota.Calls)
}

func BenchmarkTake(b *testing.B) {
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
				takeAndGive(b, s)
			}
		})
	}
}

// BenchmarkTakeAtReplicas is what a call of one user costs whose calls go on in
// several replicas at a time, and how often these ask their Redis for it.
func BenchmarkTakeAtReplicas(b *testing.B) {
	for _, n := range []int{1, 3} {
		for _, calls := range []int{1, 8} {
			b.Run(fmt.Sprintf("replicas=%d/calls=%d", n, calls), func(b *testing.B) {
				server, asked := redisserver.Start(b), &trips{}
				replicas := make([]*replica, n)
				for i := range replicas {
					replicas[i] = startReplica(b, Redis{URL: server.URL()}, n)
					wait.Until(b, "the store", replicas[i].link.up.Load)
					replicas[i].redis().client.AddHook(asked)
				}
				var begun atomic.Int64
				var group sync.WaitGroup
				b.ResetTimer()
				for _, r := range replicas {
					for range calls {
						group.Go(func() {
							for begun.Add(1) <= int64(b.N) {
								takeAndGive(b, r.Store)
							}
						})
					}
				}
				group.Wait()
				each := float64(n*calls) / float64(b.N)
				b.ReportMetric(float64(b.Elapsed().Microseconds())*each, "µs/take")
				b.ReportMetric(float64(asked.n.Load())/float64(b.N), "round-trips/take")
			})
		}
	}
}
