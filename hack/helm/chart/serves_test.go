// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestHelmTestIsLetIn has policies that let in those they name alone.
func TestHelmTestIsLetIn(t *testing.T) {
	files := render(t, exposed+"isolation: {networkPolicy: {ingressFrom: [{namespaceSelector: {matchLabels: {name: gateways}}}]}}")
	asks := strict[corev1.Pod](t, files["tests/serves.yaml"]).Labels
	policies := map[string]*networkingv1.NetworkPolicy{}
	for document := range strings.SplitSeq(strings.TrimPrefix(files["isolation-policies.yaml"], "---\n"), "\n---\n") {
		p := strict[networkingv1.NetworkPolicy](t, document)
		policies[p.Name] = p
	}
	for name, port := range map[string]int{"hosted-bridge-ingress": 8080, "hosted-bridge-keybroker": 8443} {
		let := slices.ContainsFunc(policies[name].Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool {
			return r.Ports[0].Port.IntValue() == port && slices.ContainsFunc(r.From, func(peer networkingv1.NetworkPolicyPeer) bool {
				return peer.PodSelector != nil && peer.NamespaceSelector == nil && len(peer.PodSelector.MatchLabels) > 0 && within(peer.PodSelector.MatchLabels, asks)
			})
		})
		if !let {
			t.Errorf("the policy %s does not let the labels %v in", name, asks)
		}
	}
	// Nor is it taken for a process, to which the Service would lead.
	for _, component := range []string{"operator", "keybroker", "ingress"} {
		if asks["app.kubernetes.io/component"] == component {
			t.Errorf("the pod has the labels of the %s", component)
		}
	}
}

func within(part, all map[string]string) bool {
	return maps.Equal(part, func() map[string]string {
		both := map[string]string{}
		for k := range part {
			if v, ok := all[k]; ok {
				both[k] = v
			}
		}
		return both
	}())
}

func TestHelmTestCallsTheIngressByANameThatItKnows(t *testing.T) {
	const kept = "masterKey: {existingSecret: kept}\n"
	for _, test := range []struct {
		name, values string
		want         []string
	}{
		{"any", kept, []string{"--host=127.0.0.1"}},
		{"that of users", kept + "baseURL: https://mcp.example.com:8443\ningress: {allowedHosts: [other.example.com, mcp.example.com]}", []string{"--host=mcp.example.com"}},
		{"one that a proxy gives it", kept + "baseURL: https://mcp.example.com\ningress: {allowedHosts: [inner.example.com]}", []string{"--host=inner.example.com"}},
		{"with TLS, for as long as ingresses take to read a certificate", exposed, []string{"--host=mcp.example.com", "--public-url=https://mcp.example.com", "--timeout=150s"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := strict[corev1.Pod](t, render(t, test.values)["tests/serves.yaml"]).Spec.Containers[0].Args
			for _, want := range test.want {
				if !slices.Contains(args, want) {
					t.Errorf("no %s among %v", want, args)
				}
			}
		})
	}
}

// TestTheGracePeriodIsLongerThanTheDrain adds up 5 s of delay, the drain and 15 s.
func TestTheGracePeriodIsLongerThanTheDrain(t *testing.T) {
	for value, want := range map[string]int64{"70s": 90, "45s": 65, "10m": 620} {
		values := "masterKey: {existingSecret: kept}\ningress: {drainTimeout: " + value + "}"
		deployment, _, _ := strings.Cut(strings.TrimPrefix(render(t, values)["ingress.yaml"], "---\n"), "\n---\n")
		spec := strict[appsv1.Deployment](t, deployment).Spec.Template.Spec
		if got := *spec.TerminationGracePeriodSeconds; got != want || !slices.Contains(spec.Containers[0].Args, "--drain-timeout="+value) {
			t.Errorf("a drain of %s has %d s: %v", value, got, spec.Containers[0].Args)
		}
	}
}

func TestADrainThatLeavesTheGracePeriodBehindIsRefused(t *testing.T) {
	_, err := renderAt(t, nil, "ingress: {extraArgs: [--drain-timeout=10m]}")
	expectRefusal(t, err, []string{"set ingress.drainTimeout"})
}
