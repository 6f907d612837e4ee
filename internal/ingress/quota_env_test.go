//go:build testenv

// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/quota"
	"github.com/hostedbridge/hostedbridge/test/redisserver"
)

// fleet are ingresses that count together. alice and bob are the same users at
// each, and each has bridges of its own for them.
type fleet struct {
	worlds []*world
	keys   []map[string]string
}

func newFleet(t testing.TB, server *redisserver.Server, tier quota.Tier) *fleet {
	t.Helper()
	alone(t) // All worlds have the same variable.
	sharedQuotas = server.URL()
	t.Cleanup(func() { sharedQuotas = "" })
	f := &fleet{}
	for range 3 {
		w, keys := newWorld(t, defaults()), map[string]string{}
		w.setTiers(quota.Tiers{"tight": tier})
		for i, user := range []string{"alice", "bob"} {
			keys[user] = w.addUser(user)
			w.changeBridge(user, func(b *v1alpha1.HostedBridge) { b.Spec.Tier = "tight" })
			w.serveBridge(hosts[i], "uid-"+user, servedBy(user))
			w.setPod(user, user+"-1", hosts[i])
		}
		f.worlds, f.keys = append(f.worlds, w), append(f.keys, keys)
	}
	for _, w := range f.worlds {
		eventually(t, func() bool { return w.metric("quota_store_up") == 1 && w.metric("quota_replicas") == 3 })
	}
	return f
}

// call has user call at one of the ingresses.
func (f *fleet) call(at int, user string) int {
	w := f.worlds[at]
	return w.do(w.request("POST", "/u/"+user+"/mcp", f.keys[at][user], rpcRequest)).status
}

// storm has user call so often at each ingress, and counts the answers by status.
func (f *fleet) storm(user string, each int) map[int]int {
	var mu sync.Mutex
	statuses := map[int]int{}
	var group sync.WaitGroup
	for at := range f.worlds {
		group.Go(func() {
			for range each {
				status := f.call(at, user)
				mu.Lock()
				statuses[status]++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return statuses
}

func TestThreeIngressesGiveAUserHisQuotaOnce(t *testing.T) {
	server := redisserver.Start(t)
	tier := quota.Tier{PerMinute: 150, PerHour: 10_000, PerDay: 10_000, Burst: 150, ConcurrentCalls: 8, Streams: 8}
	f := newFleet(t, server, tier)
	if got := f.storm("alice", 500); got[200] != 150 || got[429] != 1350 {
		t.Errorf("alice at ten times her quota: %v, want 150", got)
	}
	if got := f.storm("bob", 20); got[200] != 60 {
		t.Errorf("bob, within his quota: %v", got)
	}
	server.Stop()
	got := f.storm("bob", 480)
	if total := 60 + got[200]; total < 120 || total > 180 || got[200]+got[429] != 1440 {
		t.Errorf("bob at ten times his quota while the store goes away: %v, want %d to 120 more, and nothing but refusals", got, 60)
	}
	if got := f.storm("alice", 20); got[200] != 0 || got[429] != 60 {
		t.Errorf("alice, who has used hers: %v", got)
	}
}

// BenchmarkNeighbour measures what bob notices of alice, who calls at ten times
// the quota of the largest tier: his latency while she is quiet and while she is
// not, in turn, over three ingresses with one store. The percentiles are medians
// of those of the rounds. He is measured alone twice, which tells what the
// machine adds by itself.
func BenchmarkNeighbour(b *testing.B) {
	loud := quota.Defaults()["business"]
	f := newFleet(b, redisserver.Start(b), loud)
	for _, w := range f.worlds {
		w.setTiers(quota.Tiers{"tight": loud, testTier: testTiers()[testTier]})
		w.changeBridge("bob", func(b *v1alpha1.HostedBridge) { b.Spec.Tier = testTier })
	}
	const calls, every = 300, 10 * time.Millisecond
	p50, p99 := map[string][]float64{}, map[string][]float64{}
	for b.Loop() {
		for _, phase := range []string{"alone", "beside", "again"} {
			done := make(chan struct{})
			go func() {
				defer close(done)
				if phase == "beside" {
					// 600 a minute are 10 a second, and ten times that is 100.
					f.pace("alice", calls, every)
				}
			}()
			took := f.pace("bob", calls, every)
			<-done
			p50[phase] = append(p50[phase], percentile(took, .5))
			p99[phase] = append(p99[phase], percentile(took, .99))
		}
	}
	for phase := range p50 {
		slices.Sort(p50[phase])
		slices.Sort(p99[phase])
		b.ReportMetric(p50[phase][len(p50[phase])/2], "p50-"+phase+"-µs")
		b.ReportMetric(p99[phase][len(p99[phase])/2], "p99-"+phase+"-µs")
	}
	b.ReportMetric(0, "ns/op")
}

// pace has user call so often, in turn at each ingress, and returns how long
// each call took.
func (f *fleet) pace(user string, n int, every time.Duration) []time.Duration {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	took := make([]time.Duration, n)
	for i := range took {
		<-ticker.C
		start := time.Now()
		f.call(i%len(f.worlds), user)
		took[i] = time.Since(start)
	}
	return took
}

func percentile(d []time.Duration, p float64) float64 {
	slices.Sort(d)
	return float64(d[int(float64(len(d)-1)*p)].Microseconds())
}
