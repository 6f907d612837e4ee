// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgeobjects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestNetworkPolicy builds the policy of each testdata/networkpolicy/*.in.yaml
// and compares it with the *.out.yaml beside it, as TestObjects does.
func TestNetworkPolicy(t *testing.T) {
	inputs, err := filepath.Glob("testdata/networkpolicy/*.in.yaml")
	if err != nil || len(inputs) == 0 {
		t.Fatalf("no inputs: %v", err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".in.yaml"), func(t *testing.T) {
			data := must.Value(os.ReadFile(input))(t)
			var n Network
			must.Succeed(t, yaml.UnmarshalStrict(data, &n))
			policy := must.Value(NetworkPolicy("tenants", n))(t)
			got := must.Value(yaml.Marshal(policy))(t)
			expectGolden(t, strings.TrimSuffix(input, ".in.yaml")+".out.yaml", got)
		})
	}
}

func TestNoRuleIsToNobodyInParticular(t *testing.T) {
	n := Network{
		Namespace: "hosted-bridge-system", DNS: DNS{Namespace: "kube-system", Port: 53},
		Egress: bridgeconfig.Egress{Deny: []string{"0.0.0.0/0", "::/0"}},
	}
	policy := must.Value(NetworkPolicy("tenants", n))(t)
	for i, rule := range policy.Spec.Egress {
		if len(rule.To) == 0 {
			t.Errorf("egress[%d] is to everybody", i)
		}
	}
}

func TestARangeThatIsNoneMakesNoPolicy(t *testing.T) {
	if policy, err := NetworkPolicy("tenants", Network{Egress: bridgeconfig.Egress{Allow: []string{"10.0.0.1"}}}); err == nil {
		t.Errorf("policy %v", policy)
	}
}
