// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package hostedbridge

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// collectTimeout bounds the read of the cache for one scrape: it waits only
// while the cache is being filled.
const collectTimeout = time.Second

// overdue is how long a start may take in normal operation: long enough to add
// a node and to pull an image of a gigabyte.
const overdue = 10 * time.Minute

var (
	phasesDesc = prometheus.NewDesc("hostedbridge_bridges",
		"HostedBridges by phase, as the leader sees it; others report none.", []string{"phase"}, nil)
	conditionsDesc = prometheus.NewDesc("hostedbridge_bridge_conditions",
		"HostedBridges with a condition that is not True, by the condition, its status and reason, as the leader sees it; others report none.",
		[]string{"condition", "status", "reason"}, nil)
	serversDesc = prometheus.NewDesc("hostedbridge_servers",
		"Servers of HostedBridges by recipe and state as last reported, with an empty recipe for servers without one, as the leader sees it; others report none.",
		[]string{"recipe", "state"}, nil)
	overdueDesc = prometheus.NewDesc("hostedbridge_bridges_overdue",
		"HostedBridges that are Pending or Waking and have not been ready for 10 minutes or longer, as the leader sees it; others report none.", nil, nil)
)

// phases each have a series, also while no bridge is in them.
var phases = []v1alpha1.Phase{
	v1alpha1.PhasePending, v1alpha1.PhaseRunning, v1alpha1.PhaseAsleep, v1alpha1.PhaseSuspended, v1alpha1.PhaseWaking, v1alpha1.PhaseFailed,
}

// Metrics counts the bridges of the cache at each scrape. No label names a
// bridge, and the reasons are those of the API.
type Metrics struct {
	// Reader reads the cache.
	Reader client.Reader
	// Elected is closed when this replica leads: if two replicas counted, each
	// bridge would count twice.
	Elected <-chan struct{}
	// Now returns the time.
	Now func() time.Time
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- phasesDesc
	ch <- conditionsDesc
	ch <- serversDesc
	ch <- overdueDesc
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-m.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout) //nolint:forbidigo // A scrape has no context.
	defer cancel()
	var list v1alpha1.HostedBridgeList
	// They are the cache's own: to copy ten thousand for each scrape would be
	// most of the work of the process.
	if err := m.Reader.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return // Without its caches the process has no figures.
	}
	counted, conditions := count(list.Items)
	for phase, n := range counted {
		ch <- prometheus.MustNewConstMetric(phasesDesc, prometheus.GaugeValue, float64(n), string(phase))
	}
	for c, n := range conditions {
		ch <- prometheus.MustNewConstMetric(conditionsDesc, prometheus.GaugeValue, float64(n), c.name, string(c.status), c.reason)
	}
	for s, n := range countServers(list.Items) {
		ch <- prometheus.MustNewConstMetric(serversDesc, prometheus.GaugeValue, float64(n), s.recipe, s.state)
	}
	ch <- prometheus.MustNewConstMetric(overdueDesc, prometheus.GaugeValue, float64(countOverdue(list.Items, m.Now())))
}

// condition is a condition that is not True.
type condition struct {
	name   string
	status metav1.ConditionStatus
	reason string
}

// count sums up the bridges. A bridge that was never reconciled is pending.
func count(bridges []v1alpha1.HostedBridge) (map[v1alpha1.Phase]int, map[condition]int) {
	counted, conditions := map[v1alpha1.Phase]int{}, map[condition]int{}
	for _, phase := range phases {
		counted[phase] = 0
	}
	for i := range bridges {
		status := &bridges[i].Status
		phase := status.Phase
		if phase == "" {
			phase = v1alpha1.PhasePending
		}
		counted[phase]++
		for _, c := range status.Conditions {
			if c.Status != metav1.ConditionTrue {
				conditions[condition{c.Type, c.Status, c.Reason}]++
			}
		}
	}
	return counted, conditions
}

// serverState is a state of the servers of a recipe.
type serverState struct{ recipe, state string }

// countServers counts the servers that bridges have reported.
func countServers(bridges []v1alpha1.HostedBridge) map[serverState]int {
	counted := map[serverState]int{}
	for i := range bridges {
		for _, s := range bridges[i].Status.ServerStates {
			counted[serverState{s.From, s.State}]++
		}
	}
	return counted
}

// countOverdue counts the bridges that take too long to become ready. It leaves
// out a bridge that waits for its turn to wake: the bridges before it in the
// queue count.
func countOverdue(bridges []v1alpha1.HostedBridge, now time.Time) int {
	n := 0
	for i := range bridges {
		b := &bridges[i]
		since := b.CreationTimestamp.Time
		if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			since = ready.LastTransitionTime.Time
			if ready.Status == metav1.ConditionTrue {
				continue
			}
		}
		starts := b.Status.Phase == "" || b.Status.Phase == v1alpha1.PhasePending || b.Status.Phase == v1alpha1.PhaseWaking
		if starts && b.DeletionTimestamp == nil && now.Sub(since) >= overdue {
			n++
		}
	}
	return n
}
