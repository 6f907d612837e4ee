// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/controllers/hostedbridge"
	"github.com/hostedbridge/hostedbridge/controllers/netprobe"
	"github.com/hostedbridge/hostedbridge/controllers/tenantnamespace"
	"github.com/hostedbridge/hostedbridge/internal/desired"
)

// IsolationOptions are how the network keeps tenants apart.
type IsolationOptions struct {
	// NetworkPolicy gives each namespace with tenants a policy.
	NetworkPolicy bool
	// RequireNetworkPolicy takes no tenant where policies do not hold.
	RequireNetworkPolicy bool
	// Probe tries whether they hold.
	Probe bool
	// PodIP, PodName and PodUID are those of the operator's own pod, which the
	// probe connects to and goes with.
	PodIP, PodName, PodUID string
	// DNSNamespace and DNSPodLabels select the cluster's resolvers, DNSCIDRs are
	// those that are no pods with addresses of their own, and DNSPort is where
	// they listen.
	DNSNamespace string
	DNSPodLabels map[string]string
	DNSCIDRs     []string
	DNSPort      int32
	// Scrapers are the namespaces whose pods may read the bridges' metrics.
	Scrapers []string
}

// isolationDefaults are those of a cluster with CoreDNS, as kubeadm and most
// providers install it.
func isolationDefaults() IsolationOptions {
	return IsolationOptions{
		NetworkPolicy: true, Probe: true,
		DNSNamespace: "kube-system", DNSPodLabels: map[string]string{"k8s-app": "kube-dns"}, DNSPort: 53,
	}
}

func (o *IsolationOptions) registerFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.NetworkPolicy, "network-policy", o.NetworkPolicy, "create in each namespace with HostedBridges the NetworkPolicy that isolates their pods; if false, the operator removes the policies that it created")
	fs.BoolVar(&o.RequireNetworkPolicy, "require-network-policy", o.RequireNetworkPolicy, "accept no HostedBridge if the cluster's network does not enforce network policies")
	fs.BoolVar(&o.Probe, "network-policy-probe", o.Probe, "test with two pods in the installation's namespace whether the cluster's network enforces network policies")
	fs.StringVar(&o.PodIP, "pod-ip", o.PodIP, "address of the operator's own pod, which the pods of --network-policy-probe connect to")
	fs.StringVar(&o.PodName, "pod-name", o.PodName, "name of the operator's own pod, which owns the probe's pods")
	fs.StringVar(&o.PodUID, "pod-uid", o.PodUID, "UID of the operator's own pod")
	fs.StringVar(&o.DNSNamespace, "dns-namespace", o.DNSNamespace, "namespace of the cluster's resolvers")
	fs.StringToStringVar(&o.DNSPodLabels, "dns-pod-labels", o.DNSPodLabels, "labels of the resolvers' pods")
	fs.StringArrayVar(&o.DNSCIDRs, "dns-cidr", o.DNSCIDRs, "address range of resolvers that are not pods with their own addresses, such as 169.254.20.10/32 for a cache on each node; repeat the flag for each range")
	fs.StringArrayVar(&o.Scrapers, "scrape-namespace", o.Scrapers, "namespace whose pods may read the metrics of tenants' bridges; repeat the flag for each namespace")
	fs.Int32Var(&o.DNSPort, "dns-port", o.DNSPort, "port of the resolvers' pods, which can differ from the port of their Service")
}

func (o *IsolationOptions) validate() error {
	errs := []error{addressRanges("dns-cidr", o.DNSCIDRs), notEmpty("dns-namespace", o.DNSNamespace)}
	if o.RequireNetworkPolicy && (!o.NetworkPolicy || !o.Probe) {
		errs = append(errs, errors.New("--require-network-policy needs --network-policy and --network-policy-probe, without which no HostedBridge would be accepted"))
	}
	if o.DNSPort < 1 || o.DNSPort > 65535 {
		errs = append(errs, errors.New("--dns-port must be a port"))
	}
	if _, err := netip.ParseAddr(o.PodIP); o.PodIP != "" && err != nil {
		errs = append(errs, fmt.Errorf("--pod-ip %.80q must be an address", o.PodIP))
	}
	return errors.Join(errs...)
}

// probeAddress returns the URL at which the operator answers to its own pods,
// empty where it is not known.
func (o *Options) probeAddress() string {
	_, port, err := net.SplitHostPort(o.ProbeListen)
	if o.Isolation.PodIP == "" || err != nil {
		return ""
	}
	return "http://" + net.JoinHostPort(o.Isolation.PodIP, port) + "/healthz"
}

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
		Pods: desired.Probe{
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
func (o *Options) network() desired.Network {
	return desired.Network{
		Namespace: o.Namespace, OTLPEndpoint: o.BridgeOTLPEndpoint, Scrapers: o.Isolation.Scrapers, Bundles: o.Bundles.StoreURL != "",
		Egress: o.egress(os.Getenv("KUBERNETES_SERVICE_HOST")),
		DNS: desired.DNS{
			Namespace: o.Isolation.DNSNamespace, Labels: o.Isolation.DNSPodLabels,
			CIDRs: o.Isolation.DNSCIDRs, Port: o.Isolation.DNSPort,
		},
	}
}
