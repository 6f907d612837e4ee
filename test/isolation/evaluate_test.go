// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package isolation tries the network policies that an installation has against
// a table of flows. No network plugin is needed for it: what policies say is
// evaluated as the API defines it.
package isolation

import (
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// end is one side of a connection: a pod, or an address outside of the cluster,
// which has no namespace.
type end struct {
	namespace string
	labels    map[string]string
	address   string
	// ports are those that a pod gives names.
	ports map[string]int32
}

// flow is a connection that somebody wants.
type flow struct {
	from, to end
	protocol corev1.Protocol
	port     int32
}

// cluster is what policies are evaluated in. Every namespace has the label with
// its name, and these besides.
type cluster struct {
	policies   []networkingv1.NetworkPolicy
	namespaces map[string]map[string]string
}

// allows reports whether a connection comes about: the sender's policies must let
// it out, and the receiver's must let it in.
func (c cluster) allows(f flow) bool {
	return c.permits(networkingv1.PolicyTypeEgress, f.from, f.to, f) && c.permits(networkingv1.PolicyTypeIngress, f.to, f.from, f)
}

// permits evaluates the policies of one side. Who is selected by none for a
// direction may do everything in it; otherwise one policy has to permit it.
func (c cluster) permits(direction networkingv1.PolicyType, subject, peer end, f flow) bool {
	selected := false
	for _, p := range c.policies {
		if subject.namespace == "" || p.Namespace != subject.namespace || !selects(&p.Spec.PodSelector, subject.labels) || !slices.Contains(typesOf(p.Spec), direction) {
			continue
		}
		selected = true
		if direction == networkingv1.PolicyTypeEgress {
			for _, rule := range p.Spec.Egress {
				if c.isPeer(rule.To, p.Namespace, peer) && isPort(rule.Ports, f) {
					return true
				}
			}
			continue
		}
		for _, rule := range p.Spec.Ingress {
			if c.isPeer(rule.From, p.Namespace, peer) && isPort(rule.Ports, f) {
				return true
			}
		}
	}
	return !selected
}

// typesOf returns a policy's directions: ingress, and egress where there are rules
// for it, unless it says which.
func typesOf(s networkingv1.NetworkPolicySpec) []networkingv1.PolicyType {
	if len(s.PolicyTypes) > 0 {
		return s.PolicyTypes
	}
	if len(s.Egress) > 0 {
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	}
	return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
}

// isPeer reports whether an end is one of the peers; without any it always is.
// An ipBlock is for addresses outside of the cluster: of pods the API leaves open
// whether it matches them, so here it does where their address is known.
func (c cluster) isPeer(peers []networkingv1.NetworkPolicyPeer, namespace string, e end) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			return inBlock(p.IPBlock, e.address)
		}
		if e.namespace == "" {
			return false
		}
		if p.NamespaceSelector == nil && e.namespace != namespace {
			return false
		}
		return (p.NamespaceSelector == nil || selects(p.NamespaceSelector, c.labelsOf(e.namespace))) &&
			(p.PodSelector == nil || selects(p.PodSelector, e.labels))
	})
}

func (c cluster) labelsOf(namespace string) map[string]string {
	all := map[string]string{corev1.LabelMetadataName: namespace}
	maps.Copy(all, c.namespaces[namespace])
	return all
}

func inBlock(b *networkingv1.IPBlock, address string) bool {
	a, err := netip.ParseAddr(address)
	if err != nil || !netip.MustParsePrefix(b.CIDR).Contains(a) {
		return false
	}
	return !slices.ContainsFunc(b.Except, func(e string) bool { return netip.MustParsePrefix(e).Contains(a) })
}

// isPort reports whether a port is one of the ports; without any it always is. A
// name is that of a port of the receiver's.
func isPort(ports []networkingv1.NetworkPolicyPort, f flow) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		switch {
		case protocol != f.protocol:
			return false
		case p.Port == nil:
			return true
		case p.Port.StrVal != "":
			return f.to.ports[p.Port.StrVal] == f.port && f.port != 0
		case p.EndPort != nil:
			return f.port >= p.Port.IntVal && f.port <= *p.EndPort
		default:
			return f.port == p.Port.IntVal
		}
	})
}

// selects evaluates a selector. An empty one selects everything.
func selects(s *metav1.LabelSelector, l map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && selector.Matches(labels.Set(l))
}
