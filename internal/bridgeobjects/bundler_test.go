// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/netguard"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/repository"
)

// TestWhatMakesBundlesReachesTheAddressesOfUsersPrograms compares the chart, which has the ranges
// in a template, with package netguard.
func TestWhatMakesBundlesReachesTheAddressesOfUsersPrograms(t *testing.T) {
	text := must.Value(os.ReadFile(must.Value(repository.Path("config", "isolation", "policies.yaml"))(t)))(t)
	var policy networkingv1.NetworkPolicy
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var p networkingv1.NetworkPolicy
		if must.Succeed(t, yaml.Unmarshal([]byte(document), &p)); p.Name == "hosted-bridge-bundler" {
			policy = p
		}
	}
	if len(policy.Spec.Egress) == 0 {
		t.Fatal("there is no such policy")
	}
	var want networkingv1.NetworkPolicyEgressRule
	rules := must.Value(netguard.New(nil, nil, false))(t)
	must.Succeed(t, yaml.Unmarshal(must.Value(yaml.Marshal(upstreams(rules.Blocks())))(t), &want))
	if diff := cmp.Diff(want, policy.Spec.Egress[len(policy.Spec.Egress)-1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
