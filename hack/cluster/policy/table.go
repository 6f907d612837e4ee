// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import "sigs.k8s.io/knftables"

// Table is the name of the table, of family inet.
const Table = "network-policies"

// Write adds to the transaction what replaces the table's content by the rules.
// The kernel applies a transaction at once, so that no packet meets a part.
//
// bridge is the interface that all pods are connected to. Packets between pods
// are bridged, not routed; they meet the forward hook because the node's
// namespace has br_netfilter switched on. Packets from a pod to the node itself
// meet the input hook, those from the node to a pod neither.
func Write(tx *knftables.Transaction, bridge string, r Rules) {
	tx.Add(&knftables.Table{})
	tx.Delete(&knftables.Table{})
	tx.Add(&knftables.Table{Comment: new("NetworkPolicies of the local cluster")})
	tx.Add(&knftables.Set{Name: "pods", Type: "ipv4_addr"})
	tx.Add(&knftables.Set{Name: "itself", Type: "ipv4_addr . ipv4_addr"})
	for _, address := range r.Pods {
		tx.Add(&knftables.Element{Set: "pods", Key: []string{address}})
		tx.Add(&knftables.Element{Set: "itself", Key: []string{address, address}})
	}
	writeChains(tx, egress.name, r.Egress)
	writeChains(tx, ingress.name, r.Ingress)

	from, to := `iifname "`+bridge+`"`, `oifname "`+bridge+`"`
	sender := []string{
		"ct state established,related accept",
		// No pod has an address of IPv6, and no policy would hold for the one that
		// the kernel gives each interface.
		from + " meta nfproto ipv6 drop",
		// A pod is known before its containers start. Nobody else is let in.
		from + " ip saddr != @pods drop",
		"ip saddr . ip daddr @itself accept",
		from + " ip saddr vmap @" + egress.name,
	}
	writeHook(tx, knftables.InputHook, sender)
	writeHook(tx, knftables.ForwardHook, append(sender, to+" meta nfproto ipv6 drop", to+" ip daddr vmap @"+ingress.name))
}

// writeChains adds the chains, and the map that leads each pod to its own.
func writeChains(tx *knftables.Transaction, name string, chains []Chain) {
	tx.Add(&knftables.Map{Name: name, Type: "ipv4_addr : verdict"})
	for _, chain := range chains {
		comment := chain.Comment[:min(len(chain.Comment), knftables.CommentLengthMax)]
		tx.Add(&knftables.Chain{Name: chain.Name, Comment: &comment})
		for _, rule := range chain.Rules {
			tx.Add(&knftables.Rule{Chain: chain.Name, Rule: rule})
		}
		for _, pod := range chain.Pods {
			tx.Add(&knftables.Element{Map: name, Key: []string{pod}, Value: []string{"jump " + chain.Name}})
		}
	}
}

func writeHook(tx *knftables.Transaction, hook knftables.BaseChainHook, rules []string) {
	tx.Add(&knftables.Chain{
		Name: string(hook), Type: new(knftables.FilterType),
		Hook: new(hook), Priority: new(knftables.FilterPriority),
	})
	for _, rule := range rules {
		tx.Add(&knftables.Rule{Chain: string(hook), Rule: rule})
	}
}
