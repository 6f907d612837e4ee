// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeobjects"
	"github.com/hostedbridge/hostedbridge/test/must"
)

const system, tenants, trials = "hosted-bridge-system", "tenants", "trials"

// installed returns the policies of an installation with tenants in two
// namespaces: those of the chart, and those that the operator makes.
func installed(t *testing.T) cluster {
	t.Helper()
	f := must.Value(os.Open("../../config/isolation/policies.yaml"))(t)
	defer f.Close()
	var c cluster
	for decoder := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		var p networkingv1.NetworkPolicy
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Name == "" {
			continue
		}
		p.Namespace = system
		c.policies = append(c.policies, p)
	}
	if len(c.policies) != 6 {
		t.Fatalf("%d policies of the chart's, want 6", len(c.policies))
	}
	for _, namespace := range []string{tenants, trials} {
		made, err := bridgeobjects.NetworkPolicy(namespace, bridgeobjects.Network{
			Namespace: system,
			Egress:    bridgeconfig.Egress{Allow: []string{"10.96.0.0/16"}, Deny: []string{"10.96.0.1/32", "203.0.114.10/32"}},
			DNS: bridgeobjects.DNS{
				Namespace: "kube-system", Labels: map[string]string{"k8s-app": "kube-dns"}, CIDRs: []string{"169.254.20.10/32"}, Port: 53,
			},
			OTLPEndpoint: "http://collector.observability.svc:4318",
			Scrapers:     []string{"monitoring"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var p networkingv1.NetworkPolicy
		data := must.Value(json.Marshal(made))(t)
		must.Succeed(t, json.Unmarshal(data, &p))
		c.policies = append(c.policies, p)
	}
	return c
}

// ours returns a pod of a component of the installation's.
func ours(namespace, component string) end {
	return end{namespace: namespace, labels: map[string]string{"app.kubernetes.io/name": "hosted-bridge", "app.kubernetes.io/component": component}}
}

func pod(namespace string, labels ...string) end {
	e := end{namespace: namespace, labels: map[string]string{}}
	for _, l := range labels {
		name, value, _ := strings.Cut(l, "=")
		e.labels[name] = value
	}
	return e
}

func at(address string) end { return end{address: address} }

func TestFlows(t *testing.T) {
	alice, bob := ours(tenants, "bridge"), ours(tenants, "bridge")
	alice.labels["app.kubernetes.io/instance"], bob.labels["app.kubernetes.io/instance"] = "alice", "bob"
	carol := ours(trials, "bridge")
	ingress, keybroker, operator := ours(system, "ingress"), ours(system, "keybroker"), ours(system, "operator")
	store, bundler := ours(system, "store"), ours(system, "bundler")
	dns := pod("kube-system", "k8s-app=kube-dns")
	stranger, neighbour := pod("default", "app=shop"), pod(tenants, "app=shop")
	impostor := ours("default", "ingress")
	prometheus := pod("monitoring", "app=prometheus")
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	const allowed, refused = true, false
	tests := []struct {
		name string
		flow flow
		want bool
	}{
		{"the ingress calls a bridge", flow{ingress, alice, tcp, 8443}, allowed},
		{"the ingress asks a bridge's probe port", flow{ingress, alice, tcp, 8081}, refused},
		{"a tenant calls another's bridge", flow{bob, alice, tcp, 8443}, refused},
		{"a tenant of another namespace calls a bridge", flow{carol, alice, tcp, 8443}, refused},
		{"a tenant asks another's probe port", flow{bob, alice, tcp, 8081}, refused},
		{"the operator calls a bridge", flow{operator, alice, tcp, 8443}, refused},
		{"the keybroker calls a bridge", flow{keybroker, alice, tcp, 8443}, refused},
		{"somebody calls a bridge", flow{stranger, alice, tcp, 8443}, refused},
		{"somebody in the tenants' namespace calls a bridge", flow{neighbour, alice, tcp, 8443}, refused},
		{"somebody with the ingress's labels elsewhere calls a bridge", flow{impostor, alice, tcp, 8443}, refused},
		{"the internet calls a bridge", flow{at("8.8.8.8"), alice, tcp, 8443}, refused},
		{"Prometheus reads a bridge's metrics", flow{prometheus, alice, tcp, 8081}, allowed},
		{"Prometheus calls a bridge", flow{prometheus, alice, tcp, 8443}, refused},

		{"a bridge asks for a name", flow{alice, dns, udp, 53}, allowed},
		{"a bridge asks for a long name", flow{alice, dns, tcp, 53}, allowed},
		{"a bridge asks the node's cache for a name", flow{alice, at("169.254.20.10"), udp, 53}, allowed},
		{"a bridge asks a public resolver", flow{alice, at("8.8.8.8"), udp, 53}, refused},
		{"a bridge asks CoreDNS for metrics", flow{alice, dns, tcp, 9153}, refused},
		{"a bridge calls another pod of kube-system", flow{alice, pod("kube-system", "k8s-app=metrics-server"), tcp, 4443}, refused},
		{"a pod elsewhere with CoreDNS's labels is asked", flow{alice, pod("default", "k8s-app=kube-dns"), udp, 53}, refused},

		{"a bridge calls the keybroker", flow{alice, keybroker, tcp, 8443}, allowed},
		{"a bridge of the other namespace calls the keybroker", flow{carol, keybroker, tcp, 8443}, allowed},
		{"a bridge asks the keybroker's probe port", flow{alice, keybroker, tcp, 8081}, refused},
		{"a bridge calls the ingress from within", flow{alice, ingress, tcp, 8080}, refused},
		{"a bridge calls the operator", flow{alice, operator, tcp, 8081}, refused},
		{"a bridge sends traces", flow{alice, pod("observability", "app=collector"), tcp, 4318}, allowed},
		{"a bridge calls the collector otherwise", flow{alice, pod("observability", "app=collector"), tcp, 8888}, refused},

		{"an ingress calls the store", flow{ingress, store, tcp, 8443}, allowed},
		{"an ingress asks the store's probe port", flow{ingress, store, tcp, 8081}, refused},
		{"a bridge calls the store", flow{alice, store, tcp, 8443}, refused},
		{"the operator calls the store", flow{operator, store, tcp, 8443}, refused},
		{"the keybroker calls the store", flow{keybroker, store, tcp, 8443}, refused},
		{"somebody calls the store", flow{stranger, store, tcp, 8443}, refused},
		{"somebody with the ingress's labels elsewhere calls the store", flow{impostor, store, tcp, 8443}, refused},
		{"the store calls the keybroker", flow{store, keybroker, tcp, 8443}, allowed},
		{"the store asks for a name", flow{store, dns, udp, 53}, allowed},
		{"the store calls a bridge", flow{store, alice, tcp, 8443}, refused},
		{"the store calls the ingress", flow{store, ingress, tcp, 8080}, refused},
		{"the store calls the API server", flow{store, at("10.0.0.5"), tcp, 6443}, refused},
		{"the store calls a public server", flow{store, at("1.1.1.1"), tcp, 443}, refused},

		{"an ingress calls the bundles", flow{ingress, store, tcp, 8444}, allowed},
		{"a bundler calls the bundles", flow{bundler, store, tcp, 8444}, allowed},
		{"a bundler calls the store otherwise", flow{bundler, store, tcp, 8443}, refused},
		{"somebody calls the bundles", flow{stranger, store, tcp, 8444}, refused},
		{"somebody with a bundler's labels elsewhere calls the bundles", flow{ours("default", "bundler"), store, tcp, 8444}, refused},
		{"somebody beside the tenants calls the bundles", flow{neighbour, store, tcp, 8444}, refused},
		{"a bundler calls the keybroker", flow{bundler, keybroker, tcp, 8443}, allowed},
		{"a bundler asks for a name", flow{bundler, dns, udp, 53}, allowed},
		{"a bundler calls a registry", flow{bundler, at("1.1.1.1"), tcp, 443}, allowed},
		{"a bundler calls a registry over IPv6", flow{bundler, at("2606:4700:4700::1111"), tcp, 443}, allowed},
		{"a bundler speaks UDP with a public server", flow{bundler, at("1.1.1.1"), udp, 443}, refused},
		{"a bundler calls the metadata service", flow{bundler, at("169.254.169.254"), tcp, 80}, refused},
		{"a bundler calls the API server", flow{bundler, at("10.96.0.1"), tcp, 443}, refused},
		{"a bundler calls a bridge", flow{bundler, alice, tcp, 8443}, refused},
		{"a bundler calls the ingress", flow{bundler, ingress, tcp, 8080}, refused},
		{"a bridge calls a bundler", flow{alice, bundler, tcp, 8443}, refused},
		{"the ingress calls a bundler", flow{ingress, bundler, tcp, 8443}, refused},

		{"a bridge calls a public server", flow{alice, at("1.1.1.1"), tcp, 443}, allowed},
		{"a bridge calls a public server over IPv6", flow{alice, at("2606:4700:4700::1111"), tcp, 443}, allowed},
		{"a bridge calls a public server by NAT64", flow{alice, at("64:ff9b::101:101"), tcp, 443}, allowed},
		{"a bridge speaks UDP with a public server", flow{alice, at("1.1.1.1"), udp, 443}, refused},
		{"a bridge calls the metadata service", flow{alice, at("169.254.169.254"), tcp, 80}, refused},
		{"a bridge calls the metadata service by NAT64", flow{alice, at("64:ff9b::a9fe:a9fe"), tcp, 80}, refused},
		{"a bridge calls the metadata service by 6to4", flow{alice, at("2002:a9fe:a9fe::1"), tcp, 80}, refused},
		{"a bridge calls AWS's metadata service over IPv6", flow{alice, at("fd00:ec2::254"), tcp, 80}, refused},
		{"a bridge calls Azure's platform", flow{alice, at("168.63.129.16"), tcp, 80}, refused},
		{"a bridge calls Alibaba's metadata service", flow{alice, at("100.100.100.200"), tcp, 80}, refused},
		{"a bridge calls a node", flow{alice, at("10.0.0.5"), tcp, 10250}, refused},
		{"a bridge calls a private address of each kind: 172.16", flow{alice, at("172.16.0.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: 192.168", flow{alice, at("192.168.1.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: 127", flow{alice, at("127.0.0.2"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: 0", flow{alice, at("0.0.0.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: benchmarks", flow{alice, at("198.18.0.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: multicast", flow{alice, at("224.0.0.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: reserved", flow{alice, at("240.0.0.1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: Teredo", flow{alice, at("2001::1"), tcp, 443}, refused},
		{"a bridge calls a private address of each kind: link-local", flow{alice, at("fe80::1"), tcp, 443}, refused},
		{"a bridge calls a Service that is allowed", flow{alice, at("10.96.3.4"), tcp, 443}, allowed},
		{"a bridge calls the API server's Service", flow{alice, at("10.96.0.1"), tcp, 443}, refused},
		{"a bridge calls the API server's public address", flow{alice, at("203.0.114.10"), tcp, 443}, refused},
		{"a bridge calls somebody's pod", flow{alice, stranger, tcp, 80}, refused},
		{"a bridge calls a pod beside it", flow{alice, neighbour, tcp, 80}, refused},

		{"somebody beside the tenants calls what they like", flow{neighbour, stranger, tcp, 80}, allowed},
		{"somebody calls the keybroker", flow{stranger, keybroker, tcp, 8443}, refused},
		{"somebody with the labels of a bridge's neighbour calls the keybroker", flow{neighbour, keybroker, tcp, 8443}, refused},
		{"the ingress calls the keybroker", flow{ingress, keybroker, tcp, 8443}, allowed},
		{"the operator calls the keybroker", flow{operator, keybroker, tcp, 8443}, refused},
		{"the internet calls the ingress", flow{at("8.8.8.8"), ingress, tcp, 8080}, allowed},
		{"the internet asks the ingress's probe port", flow{at("8.8.8.8"), ingress, tcp, 8081}, refused},
		{"somebody calls the operator", flow{stranger, operator, tcp, 8081}, refused},
		{"helm test asks the keybroker", flow{ours(system, "test"), keybroker, tcp, 8443}, allowed},
		{"helm test asks the ingress", flow{ours(system, "test"), ingress, tcp, 8080}, allowed},
		{"helm test asks the keybroker's probe port", flow{ours(system, "test"), keybroker, tcp, 8081}, refused},
		{"helm test of another namespace asks the keybroker", flow{ours("default", "test"), keybroker, tcp, 8443}, refused},
		{"helm test calls a bridge", flow{ours(system, "test"), alice, tcp, 8443}, refused},
		{"the ingress calls the API server", flow{ingress, at("10.96.0.1"), tcp, 443}, allowed},

		{"the probe that may connect does", flow{ours(system, "probe"), operator, tcp, 8081}, allowed},
		{"the probe that may not connect does not", flow{ours(system, "probe-denied"), operator, tcp, 8081}, refused},
	}
	c := installed(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.allows(tt.flow); got != tt.want {
				t.Errorf("allowed: %v, want %v", got, tt.want)
			}
		})
	}
}

// TestWithoutPoliciesEverythingFlows shows that the table above is not refused
// by the evaluation.
func TestWithoutPoliciesEverythingFlows(t *testing.T) {
	if !(cluster{}).allows(flow{ours(tenants, "bridge"), at("169.254.169.254"), corev1.ProtocolTCP, 80}) {
		t.Error("refused by nobody")
	}
	c := installed(t)
	c.policies = c.policies[:6]
	if !c.allows(flow{ours(tenants, "bridge"), at("169.254.169.254"), corev1.ProtocolTCP, 80}) {
		t.Error("the chart's own policies hold tenants, so that the table says nothing of the operator's")
	}
	c = installed(t)
	for i := range c.policies {
		c.policies[i].Spec.PodSelector.MatchLabels = map[string]string{"app.kubernetes.io/component": "other"}
	}
	if !c.allows(flow{pod("default", "app=shop"), ours(system, "keybroker"), corev1.ProtocolTCP, 8443}) {
		t.Error("policies hold whom they do not select")
	}
}
