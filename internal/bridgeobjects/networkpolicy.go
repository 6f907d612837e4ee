// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/netguard"
)

// PolicyName is the name of the NetworkPolicy of each namespace with tenants.
const PolicyName = "hosted-bridge-tenants"

// Components of an installation that a tenant's pod communicates with.
const (
	componentIngress   = "ingress"
	componentKeybroker = "keybroker"
	componentStore     = "store"
	// componentTenants is on objects that all tenants of a namespace share.
	componentTenants = "tenants"
)

// keybrokerPort is where the keybroker's pods listen. A policy is about pods
// and does not know the Service's port.
const keybrokerPort = 8443

// bundlesPort is where the store's pod has the bundles of programs, and nothing else.
const bundlesPort = 8444

// namespaceName is the label that the API server gives each namespace, and that
// nobody can take from it.
const namespaceName = corev1.LabelMetadataName

// Network is what the policies of an installation's tenants depend on.
type Network struct {
	// Namespace is the installation's own.
	Namespace string
	// Egress is where bridges may connect to: programs beside them may go to the
	// same addresses.
	Egress bridgeconfig.Egress
	// Bundles means that bridges fetch bundles of programs from the store.
	Bundles bool
	// DNS is where names are resolved.
	DNS DNS
	// OTLPEndpoint is where bridges send traces, empty for nowhere.
	OTLPEndpoint string
	// Scrapers are the namespaces whose pods may read the bridges' metrics.
	Scrapers []string
}

// DNS is where a cluster's resolvers are.
type DNS struct {
	// Namespace and Labels select their pods.
	Namespace string
	Labels    map[string]string
	// CIDRs are those of resolvers that are not pods with an address of their
	// own, such as a cache on each node.
	CIDRs []string
	// Port is where they listen.
	Port int32
}

// NetworkPolicy returns the one policy that holds for the pods of all tenants of
// a namespace. It selects them by labels that all of them have: a policy for each
// user, or a label for each, would cost a network plugin an identity for each.
func NetworkPolicy(namespace string, n Network) (*networkingv1ac.NetworkPolicyApplyConfiguration, error) {
	rules, err := netguard.New(n.Egress.Allow, n.Egress.Deny, n.Egress.Unrestricted)
	if err != nil {
		return nil, fmt.Errorf("build NetworkPolicy %s: %w", PolicyName, err)
	}
	egress := []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration{
		resolvers(n.DNS),
		egressTo(podsOf(n.Namespace, component(componentKeybroker))).WithPorts(port(corev1.ProtocolTCP, keybrokerPort)),
	}
	if n.Bundles {
		egress = append(egress, egressTo(podsOf(n.Namespace, component(componentStore))).WithPorts(port(corev1.ProtocolTCP, bundlesPort)))
	}
	if traces := collector(n.OTLPEndpoint); traces != nil {
		egress = append(egress, traces)
	}
	if blocks := rules.Blocks(); len(blocks) > 0 {
		egress = append(egress, upstreams(blocks)) // A rule to nobody in particular would be one to all.
	}
	return networkingv1ac.NetworkPolicy(PolicyName, namespace).
		WithLabels(map[string]string{
			v1alpha1.LabelName:      v1alpha1.NameValue,
			v1alpha1.LabelComponent: componentTenants,
			v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue,
		}).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(v1alpha1.BridgePodLabels())).
			WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress).
			// Probes come from the pod's node, which no policy keeps out.
			WithIngress(callers(n)...).
			WithEgress(egress...)), nil
}

// component returns the labels that all pods of a component have.
func component(name string) map[string]string {
	return map[string]string{v1alpha1.LabelName: v1alpha1.NameValue, v1alpha1.LabelComponent: name}
}

// callers admits the callers of bridges, and the readers of their metrics.
// Those are served beside the probes.
func callers(n Network) []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration {
	calls := networkingv1ac.NetworkPolicyIngressRule().
		WithFrom(podsOf(n.Namespace, component(componentIngress))).
		WithPorts(port(corev1.ProtocolTCP, servingPort))
	if len(n.Scrapers) == 0 {
		return []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration{calls}
	}
	reads := networkingv1ac.NetworkPolicyIngressRule().WithPorts(port(corev1.ProtocolTCP, probePort))
	for _, namespace := range n.Scrapers {
		reads.WithFrom(podsOf(namespace, nil))
	}
	return []*networkingv1ac.NetworkPolicyIngressRuleApplyConfiguration{calls, reads}
}

// upstreams lets the pods connect to the addresses that a bridge may dial, over
// TCP alone: all servers use it.
func upstreams(blocks []netguard.Block) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyEgressRule().
		WithPorts(networkingv1ac.NetworkPolicyPort().WithProtocol(corev1.ProtocolTCP))
	for _, b := range blocks {
		block := networkingv1ac.IPBlock().WithCIDR(b.CIDR.String())
		for _, e := range b.Except {
			block.WithExcept(e.String())
		}
		rule.WithTo(networkingv1ac.NetworkPolicyPeer().WithIPBlock(block))
	}
	return rule
}

// resolvers lets the pods ask for names. What is asked leaves the cluster where
// the resolver asks on: a policy of addresses cannot see names.
func resolvers(d DNS) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := egressTo(podsOf(d.Namespace, d.Labels)).WithPorts(port(corev1.ProtocolUDP, d.Port), port(corev1.ProtocolTCP, d.Port))
	for _, cidr := range d.CIDRs {
		rule.WithTo(addresses(cidr))
	}
	return rule
}

// collector lets the pods send traces to the endpoint, nil where it is at a
// public address or nobody can say where it is. Of a Service's name the
// namespace is known, and its pods are taken to listen at the Service's port.
func collector(endpoint string) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	to := endpointPeer(u.Hostname())
	if to == nil {
		return nil
	}
	return egressTo(to).WithPorts(port(corev1.ProtocolTCP, portOf(u)))
}

func endpointPeer(host string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	if a, err := netip.ParseAddr(host); err == nil {
		a = a.Unmap().WithZone("")
		return addresses(netip.PrefixFrom(a, a.BitLen()).String())
	}
	if words := strings.Split(host, "."); len(words) > 2 && words[2] == "svc" {
		return podsOf(words[1], nil)
	}
	return nil
}

func portOf(u *url.URL) int32 {
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
		return int32(n)
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

// podsOf selects the pods with the labels in a namespace, all of them where
// there are no labels.
func podsOf(namespace string, labels map[string]string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	peer := networkingv1ac.NetworkPolicyPeer().
		WithNamespaceSelector(metav1ac.LabelSelector().WithMatchLabels(map[string]string{namespaceName: namespace}))
	if len(labels) > 0 {
		peer.WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labels))
	}
	return peer
}

func addresses(cidr string) *networkingv1ac.NetworkPolicyPeerApplyConfiguration {
	return networkingv1ac.NetworkPolicyPeer().WithIPBlock(networkingv1ac.IPBlock().WithCIDR(cidr))
}

func egressTo(to *networkingv1ac.NetworkPolicyPeerApplyConfiguration) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	return networkingv1ac.NetworkPolicyEgressRule().WithTo(to)
}

func port(protocol corev1.Protocol, number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(number))
}
