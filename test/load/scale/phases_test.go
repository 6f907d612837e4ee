// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"fmt"
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// subject returns the installation as it is measured.
func (n *installation) subject(t *testing.T) *subject {
	t.Helper()
	return &subject{
		plane: n.plane, watch: n.plane.watch(t, ours()), controller: "hostedbridge", slowest: time.Second / 4,
		accounts: []string{"hosted-bridge-operator", "hosted-bridge-keybroker", "hosted-bridge-ingress"},
		operator: func() *world.Process { return n.operators[n.leader(t)] },
		programs: func() map[string]*world.Process {
			leads := n.leader(t)
			all := n.plane.programs()
			all["operator"], all["keybroker"], all["ingress"] = n.operators[leads], n.keybroker, n.ingress
			for i, p := range n.operators {
				if i != leads && !p.Ended() {
					all["operator, waiting"] = p
				}
			}
			return all
		},
	}
}

// programs are those of the control plane.
func (p *plane) programs() map[string]*world.Process {
	return map[string]*world.Process{
		"kube-apiserver": p.server, "etcd": p.etcd, "kube-controller-manager": p.controllers, "kube-scheduler": p.scheduler, "kwok": p.kwok,
	}
}

// Asleep is what it takes to let every tenant on demand fall asleep.
type Asleep struct {
	AsleepTenants int                `json:"asleep"`
	AsleepWrites  map[string]float64 `json:"writesPerTenantToFallAsleep"`
	AsleepKinds   map[string]string  `json:"writesPerTenantToFallAsleepByKind"`
}

// sleep lets the tenants on demand fall asleep.
func (s *subject) sleep(t *testing.T, tenants int) (a Asleep) {
	t.Helper()
	a.AsleepWrites, a.AsleepKinds = map[string]float64{}, map[string]string{}
	before := s.plane.audit.writes()
	each(t, 0, tenants, func(i int) error {
		if !onDemand(i) {
			return nil
		}
		_, err := s.plane.dynamic.Resource(bridges).Namespace(namespaceOf(i)).Patch(t.Context(), nameOf(i), types.MergePatchType, []byte(`{"spec":{"idleTimeout":"1m"}}`), metav1.PatchOptions{})
		return err
	})
	if late := s.watch.await(t, 0, tenants, time.Minute+s.limit(tenants), func(i int, l life) bool { return !onDemand(i) || !l.asleep.IsZero() }); late > 0 {
		t.Errorf("%d tenants did not fall asleep", late)
	}
	s.plane.audit.settle(t, 10*time.Second, s.limit(tenants))
	written := s.plane.audit.since(before)
	a.AsleepTenants = tenants / 2
	for _, account := range s.accounts {
		a.AsleepWrites[account] = float64(written.of(account)) / float64(a.AsleepTenants)
		a.AsleepKinds[account] = written.perTenant(account, a.AsleepTenants)
	}
	return a
}

// Quiet is what is written when nothing happens.
type Quiet struct {
	QuietSeconds  float64           `json:"quietSeconds"`
	QuietWrites   int               `json:"quietWrites"`
	QuietKinds    map[string]string `json:"quietWritesByKind"`
	QuietRenewals int               `json:"quietLeaseRenewals"`
	// QuietMemory is at the end, when the collector has run: it does every two
	// minutes at the latest.
	QuietMemory map[string]world.Memory `json:"quietMemory"`
	QuietCPU    map[string]string       `json:"quietCPU"`
	QuietEtcd   Etcd                    `json:"quietEtcd"`
}

func (s *subject) quiet(t *testing.T, d time.Duration) (q Quiet) {
	t.Helper()
	before, cpu := s.plane.audit.writes(), s.cpuTimes(t)
	<-time.After(d) // That nothing happens is what is measured.
	written := s.plane.audit.since(before)
	q.QuietSeconds, q.QuietWrites, q.QuietRenewals, q.QuietKinds = d.Seconds(), written.besides(), written.renewals(), map[string]string{}
	for _, account := range s.accounts {
		if n := written.of(account); n > 0 {
			q.QuietKinds[account] = written.perTenant(account, 1)
		}
	}
	q.QuietCPU = map[string]string{}
	for name, after := range s.cpuTimes(t) {
		q.QuietCPU[name] = fmt.Sprintf("%.1f %%", 100*(after-cpu[name]).Seconds()/d.Seconds())
	}
	q.QuietMemory, q.QuietEtcd = s.memory(t), s.plane.etcdSize(t)
	t.Logf("%s: quiet for %s: %d writes %v, %d renewals", s.watch.contender.name, d, q.QuietWrites, q.QuietKinds, q.QuietRenewals)
	return q
}

// one creates a tenant and returns how long it takes from since until it has its
// children.
func (s *subject) one(t *testing.T, i int, since time.Time) float64 {
	t.Helper()
	s.plane.makeNamespaces(t, i, i+1, false)
	s.plane.create(t, s.watch, i, i+1, 0)
	if late := s.watch.await(t, i, i+1, world.StartLimit, func(_ int, l life) bool { return !l.children.IsZero() }); late > 0 {
		t.Errorf("tenant %d has no children", i)
		return 0
	}
	return s.watch.of(i).children.Sub(since).Seconds()
}

// failover ends the leader in some way, and returns how long it takes until a
// tenant that is created then has its children. Another operator takes the place
// of the ended one.
func (n *installation) failover(t *testing.T, s *subject, i int, how os.Signal) float64 {
	t.Helper()
	leads := n.leader(t)
	began := time.Now()
	_ = n.operators[leads].Cmd.Process.Signal(how)
	took := s.one(t, i, began)
	_ = n.operators[leads].Wait() // However it ended: it was told to.
	n.operators[leads] = n.startOperator(t)
	t.Logf("failover after %s: %.1f s", how, took)
	return took
}

// Restart is what all operators do that start anew.
type Restart struct {
	// Tenants is how many there are, Seconds how long it takes from the start
	// until a tenant that is created then has its children.
	Tenants int     `json:"tenants"`
	Seconds float64 `json:"seconds"`
	// Writes are those for the tenants that were there before.
	Writes int    `json:"writes"`
	Kinds  string `json:"writesByKind"`
	// Looked is how long it takes until all of them have been looked at.
	Looked float64 `json:"lookedAtAllSeconds"`
}

func (n *installation) restart(t *testing.T, s *subject, i int) (r Restart) {
	t.Helper()
	// The one that leads comes last: another that takes over while it is told to
	// end may keep the lease until that is over.
	leads := n.operators[n.leader(t)]
	for _, p := range n.operators {
		if p != leads {
			p.Stop()
		}
	}
	leads.Stop()
	r.Tenants = i
	s.plane.audit.settle(t, 10*time.Second, world.StartLimit)
	before, began := s.plane.audit.writes(), time.Now()
	n.operators = []*world.Process{n.startOperator(t)}
	n.leader(t)
	wait.UntilWithin(t, s.limit(i), "the operator has looked at all", func() bool {
		<-time.After(200 * time.Millisecond) // For its metrics the operator counts all tenants.
		return s.reconcilesOf(t, n.operators[0]).total() >= float64(i)
	})
	r.Looked = time.Since(began).Seconds()
	s.plane.audit.settle(t, 10*time.Second, s.limit(i))
	written := s.plane.audit.since(before)
	r.Writes, r.Kinds = written.of("hosted-bridge-operator"), written.perTenant("hosted-bridge-operator", i)
	began = time.Now()
	n.operators[0].Stop()
	n.operators[0] = n.startOperator(t)
	r.Seconds = s.one(t, i, began)
	t.Logf("restart: %.1f s until all have been looked at, %.1f s until a new tenant has its children; %d writes", r.Looked, r.Seconds, r.Writes)
	return r
}

// Deletion is what it takes to be rid of all tenants.
type Deletion struct {
	DeletionSeconds float64        `json:"deletionSeconds"`
	Left            map[string]int `json:"leftAfterDeletion"`
}

// delete deletes all tenants and waits until nothing of them is there.
func (s *subject) delete(t *testing.T, tenants int) (d Deletion) {
	t.Helper()
	began := time.Now()
	// One by one: a thousand in one request may take longer than a request may.
	each(t, 0, tenants, func(i int) error {
		return s.plane.dynamic.Resource(s.watch.contender.tenant).Namespace(namespaceOf(i)).Delete(t.Context(), nameOf(i), metav1.DeleteOptions{})
	})
	kinds := append([]schema.GroupVersionResource{s.watch.contender.tenant, pods, replicaSets, secrets}, s.watch.contender.made...)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for deadline := time.Now().Add(s.limit(tenants)); ; <-tick.C {
		d.Left = map[string]int{}
		for _, kind := range kinds {
			if n := s.plane.remaining(t, kind, tenants); n > 0 {
				d.Left[kind.Resource] = n
			}
		}
		d.DeletionSeconds = time.Since(began).Seconds()
		if len(d.Left) == 0 || time.Now().After(deadline) {
			t.Logf("%s: deleted after %.0f s, left: %v", s.watch.contender.name, d.DeletionSeconds, d.Left)
			return d
		}
	}
}
