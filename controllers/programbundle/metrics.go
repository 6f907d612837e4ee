// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package programbundle

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
)

// collectTimeout bounds the read of the cache for one scrape: it waits only while the cache is
// being filled.
const collectTimeout = time.Second

var bundlesDesc = prometheus.NewDesc("hostedbridge_program_bundles",
	"ProgramBundles by the reason of their condition Ready, as the leader sees it; others report none. "+
		"Reasons other than Ready and Installing are failures.", []string{"reason"}, nil)

// Metrics counts the bundles of the cache at each scrape.
type Metrics struct {
	// Reader reads the cache.
	Reader client.Reader
	// Elected is closed when this replica leads.
	Elected <-chan struct{}
	// Namespace is the installation's.
	Namespace string
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) { ch <- bundlesDesc }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	select {
	case <-m.Elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout) //nolint:forbidigo // A scrape has no context.
	defer cancel()
	var list v1alpha1.ProgramBundleList
	if err := m.Reader.List(ctx, &list, client.InNamespace(m.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return // Without its caches the process has no figures.
	}
	counted := map[string]int{v1alpha1.ReasonReady: 0, v1alpha1.ReasonInstalling: 0}
	for i := range list.Items {
		reason := v1alpha1.ReasonInstalling
		if ready := meta.FindStatusCondition(list.Items[i].Status.Conditions, v1alpha1.ConditionReady); ready != nil {
			reason = ready.Reason
		}
		counted[reason]++
	}
	for reason, n := range counted {
		ch <- prometheus.MustNewConstMetric(bundlesDesc, prometheus.GaugeValue, float64(n), reason)
	}
}
