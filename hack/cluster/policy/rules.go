// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy enforces the NetworkPolicies of a cluster with one node, by
// nftables. Compute returns the rules, Run keeps those of the kernel up to date.
package policy

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// State is what the rules depend on.
type State struct {
	Policies   []*networkingv1.NetworkPolicy
	Pods       []Pod
	Namespaces []*corev1.Namespace
}

// Pod is a pod that has an address of the pods' network.
type Pod struct {
	Namespace, Address string
	Labels             labels.Set
	Ports              []corev1.ContainerPort
}

// Rules are the content of the table. Equal states have equal rules.
type Rules struct {
	// Pods are the addresses of all pods.
	Pods []string
	// Egress and Ingress are for each direction the chains of the selected pods.
	Egress, Ingress []Chain
}

// Chain has the rules of the pods that the same policies select.
type Chain struct {
	Name, Comment string
	Pods          []string
	// Rules return for what a policy allows. The last one drops the remainder.
	Rules []string
}

// direction is one of the two that a policy is about: field is the header field
// that has the address of the pod's peer.
type direction struct {
	kind  networkingv1.PolicyType
	name  string
	field string
}

var (
	egress  = direction{networkingv1.PolicyTypeEgress, "egress", "ip daddr"}
	ingress = direction{networkingv1.PolicyTypeIngress, "ingress", "ip saddr"}
)

// Compute returns the rules of a state.
func Compute(s State) Rules {
	c := compiler{pods: s.Pods, namespaces: map[string]labels.Set{}}
	for _, n := range s.Namespaces {
		c.namespaces[n.Name] = n.Labels
	}
	policies := slices.Clone(s.Policies)
	slices.SortFunc(policies, func(a, b *networkingv1.NetworkPolicy) int { return cmp.Compare(key(a), key(b)) })
	return Rules{
		Pods:    addresses(s.Pods, func(Pod) bool { return true }),
		Egress:  c.chains(policies, egress),
		Ingress: c.chains(policies, ingress),
	}
}

type compiler struct {
	pods       []Pod
	namespaces map[string]labels.Set
}

func key(p *networkingv1.NetworkPolicy) string { return p.Namespace + "/" + p.Name }

// chains returns a chain for each set of policies that selects a pod.
func (c compiler) chains(policies []*networkingv1.NetworkPolicy, d direction) []Chain {
	chains := map[string]*Chain{}
	for _, pod := range c.pods {
		var names []string
		var selecting []*networkingv1.NetworkPolicy
		for _, p := range policies {
			if p.Namespace == pod.Namespace && holdsFor(p, d.kind) && matches(&p.Spec.PodSelector, pod.Labels) {
				names, selecting = append(names, key(p)), append(selecting, p)
			}
		}
		if len(selecting) == 0 {
			continue
		}
		name := strings.Join(names, ", ")
		if chains[name] == nil {
			chains[name] = &Chain{Comment: name, Rules: c.allowed(selecting, d)}
		}
		chains[name].Pods = append(chains[name].Pods, pod.Address)
	}
	var all []Chain
	for _, chain := range chains {
		slices.Sort(chain.Pods)
		all = append(all, *chain)
	}
	slices.SortFunc(all, func(a, b Chain) int { return cmp.Compare(a.Comment, b.Comment) })
	for i := range all {
		all[i].Name = fmt.Sprintf("%s-%d", d.name, i+1)
	}
	return all
}

// holdsFor says whether the policy is about the direction.
func holdsFor(p *networkingv1.NetworkPolicy, kind networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) == 0 { // As the API server defaults them.
		return kind == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
	}
	return slices.Contains(p.Spec.PolicyTypes, kind)
}

// allowed returns the rules of what the policies allow together, and then the
// rule that drops the remainder.
func (c compiler) allowed(policies []*networkingv1.NetworkPolicy, d direction) []string {
	var rules []string
	add := func(namespace string, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
		for _, peer := range c.peers(namespace, peers, d.field) {
			for _, port := range c.ports(ports) {
				rules = append(rules, strings.Join(slices.DeleteFunc([]string{peer, port, "return"}, isEmpty), " "))
			}
		}
	}
	for _, p := range policies {
		if d == egress {
			for _, r := range p.Spec.Egress {
				add(p.Namespace, r.To, r.Ports)
			}
			continue
		}
		for _, r := range p.Spec.Ingress {
			add(p.Namespace, r.From, r.Ports)
		}
	}
	return append(rules, "drop")
}

func isEmpty(s string) bool { return s == "" }

// peers returns the expressions that match one of the peers: an empty one, which
// matches everything, where the rule names no peer.
func (c compiler) peers(namespace string, peers []networkingv1.NetworkPolicyPeer, field string) []string {
	if len(peers) == 0 {
		return []string{""}
	}
	var matching []string
	var selected []networkingv1.NetworkPolicyPeer
	for _, peer := range peers {
		if peer.IPBlock == nil {
			selected = append(selected, peer)
		} else if e, ok := block(peer.IPBlock, field); ok {
			matching = append(matching, e)
		}
	}
	pods := addresses(c.pods, func(pod Pod) bool {
		return slices.ContainsFunc(selected, func(peer networkingv1.NetworkPolicyPeer) bool { return c.selects(peer, namespace, pod) })
	})
	if len(pods) > 0 {
		matching = append(matching, field+" "+anyOf(pods))
	}
	return matching
}

// selects says whether the selectors of a peer match the pod.
func (c compiler) selects(peer networkingv1.NetworkPolicyPeer, namespace string, pod Pod) bool {
	if peer.NamespaceSelector == nil && pod.Namespace != namespace {
		return false
	}
	if peer.NamespaceSelector != nil {
		of, known := c.namespaces[pod.Namespace]
		if !known || !matches(peer.NamespaceSelector, of) {
			return false
		}
	}
	return peer.PodSelector == nil || matches(peer.PodSelector, pod.Labels)
}

// matches is false for a selector that is not valid: the API server stores none.
func matches(selector *metav1.LabelSelector, of labels.Set) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(of)
}

// block returns the expression of an address range, and false for one of IPv6:
// pods have no such address.
func block(b *networkingv1.IPBlock, field string) (string, bool) {
	cidr, err := netip.ParsePrefix(b.CIDR)
	if err != nil || !cidr.Addr().Is4() {
		return "", false
	}
	var parts []string
	if cidr.Bits() > 0 {
		parts = append(parts, field+" "+cidr.Masked().String())
	}
	if except := disjoint(b.Except); len(except) > 0 {
		parts = append(parts, field+" != "+anyOf(except))
	}
	return strings.Join(parts, " "), true
}

// disjoint leaves out the ranges that are part of another one: a set of nftables
// has none that overlap.
func disjoint(cidrs []string) []string {
	var prefixes []netip.Prefix
	for _, cidr := range cidrs {
		if p, err := netip.ParsePrefix(cidr); err == nil && p.Addr().Is4() {
			prefixes = append(prefixes, p.Masked())
		}
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(a.Bits()-b.Bits(), a.Addr().Compare(b.Addr()))
	})
	var kept []netip.Prefix
	var out []string
	for _, p := range prefixes {
		if !slices.ContainsFunc(kept, func(k netip.Prefix) bool { return k.Contains(p.Addr()) }) {
			kept, out = append(kept, p), append(out, p.String())
		}
	}
	return out
}

// ports returns the expressions that match one of the ports: an empty one, which
// matches everything, where the rule names no port.
func (c compiler) ports(ports []networkingv1.NetworkPolicyPort) []string {
	if len(ports) == 0 {
		return []string{""}
	}
	var matching []string
	for _, p := range ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		header := strings.ToLower(string(protocol))
		switch {
		case p.Port == nil:
			matching = append(matching, "meta l4proto "+header)
		case p.Port.Type == intstr.String:
			matching = append(matching, c.named(p.Port.StrVal, protocol)...)
		case p.EndPort != nil:
			matching = append(matching, fmt.Sprintf("%s dport %d-%d", header, p.Port.IntVal, *p.EndPort))
		default:
			matching = append(matching, fmt.Sprintf("%s dport %d", header, p.Port.IntVal))
		}
	}
	return matching
}

// named returns the expressions of a port that the pod connected to gives a
// number to. Each pod may give another one.
func (c compiler) named(name string, protocol corev1.Protocol) []string {
	pods := map[int32][]string{}
	for _, pod := range c.pods {
		for _, p := range pod.Ports {
			if p.Name == name && cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol {
				pods[p.ContainerPort] = append(pods[p.ContainerPort], pod.Address)
			}
		}
	}
	var matching []string
	for number, of := range pods {
		slices.Sort(of)
		matching = append(matching, fmt.Sprintf("ip daddr %s %s dport %d", anyOf(of), strings.ToLower(string(protocol)), number))
	}
	slices.Sort(matching)
	return matching
}

// addresses returns the sorted addresses of the pods for which keep is true.
func addresses(pods []Pod, keep func(Pod) bool) []string {
	var out []string
	for _, pod := range pods {
		if keep(pod) {
			out = append(out, pod.Address)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func anyOf(elements []string) string { return "{ " + strings.Join(elements, ", ") + " }" }
