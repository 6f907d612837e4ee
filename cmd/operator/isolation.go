// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/netprobe"
	"github.com/hostedbridge/hostedbridge/controllers/tenantnamespace"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
)

// isolate adds to m what keeps tenants apart, and tells r of it.
func isolate(m ctrl.Manager, r *hostedbridge.Reconciler, o Options, registry prometheus.Registerer) error {
	r.Settings.NetworkPolicy, r.Settings.RequireNetworkPolicy = o.Isolation.NetworkPolicy, o.Isolation.RequireNetworkPolicy
	policies := &tenantnamespace.Reconciler{
		Client: m.GetClient(), Live: m.GetAPIReader(), Network: o.network(), RemoveOnly: !o.Isolation.NetworkPolicy,
	}
	if err := policies.Setup(m); err != nil {
		return err
	}
	if !o.Isolation.NetworkPolicy || !o.Isolation.Probe {
		return nil
	}
	// It reads pods that no cache holds.
	direct, err := client.New(m.GetConfig(), client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("make the probe's client: %w", err)
	}
	measured, err := netprobe.NewMetrics(registry)
	if err != nil {
		return err
	}
	probe := &netprobe.Probe{
		Client: direct, Clock: clock.RealClock{}, Log: m.GetLogger().WithName("netprobe"), Metrics: measured,
		Pods: bridgeobjects.Probe{
			Namespace: o.Namespace, Image: o.BridgeImage, Address: o.probeAddress(),
			PodName: o.Isolation.PodName, PodUID: types.UID(o.Isolation.PodUID),
		},
	}
	r.Network = probe
	if err := m.Add(probe); err != nil {
		return fmt.Errorf("add the probe: %w", err)
	}
	return nil
}

// network returns what the policies of tenants say.
func (o *Options) network() bridgeobjects.Network {
	return bridgeobjects.Network{
		Namespace: o.Namespace, OTLPEndpoint: o.BridgeOTLPEndpoint, Scrapers: o.Isolation.Scrapers, Bundles: o.Bundles.StoreURL != "",
		Egress: o.egress(os.Getenv("KUBERNETES_SERVICE_HOST")),
		DNS: bridgeobjects.DNS{
			Namespace: o.Isolation.DNSNamespace, Labels: o.Isolation.DNSPodLabels,
			CIDRs: o.Isolation.DNSCIDRs, Port: int32(o.Isolation.DNSPort), //nolint:gosec // It is a port.
		},
	}
}
