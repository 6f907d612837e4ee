// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package isolation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// TestPoliciesAreEvaluatedAsTheAPIDefinesThem has a case for each sentence of the
// API's documentation of NetworkPolicySpec and of what it is made of.
func TestPoliciesAreEvaluatedAsTheAPIDefinesThem(t *testing.T) {
	a := end{namespace: "x", labels: map[string]string{"app": "a"}, address: "10.0.0.1"}
	b := end{namespace: "x", labels: map[string]string{"app": "b"}, address: "10.0.0.2", ports: map[string]int32{"web": 80}}
	far := end{namespace: "y", labels: map[string]string{"app": "a"}, address: "10.0.1.1"}
	outside := end{address: "1.1.1.1"}
	web := func(from, to end) flow { return flow{from, to, corev1.ProtocolTCP, 80} }
	tests := map[string]struct {
		spec string
		flow flow
		want bool
	}{
		"nobody is selected":                          {`{podSelector: {matchLabels: {app: c}}}`, web(a, b), true},
		"an empty selector selects all":               {`{podSelector: {}}`, web(a, b), false},
		"only pods of the policy's namespace":         {`{podSelector: {}}`, web(b, far), true},
		"no rules let nobody in":                      {`{podSelector: {matchLabels: {app: b}}}`, web(a, b), false},
		"without types and egress rules it is egress": {`{podSelector: {matchLabels: {app: a}}, egress: [{to: [{ipBlock: {cidr: 2.0.0.0/8}}]}]}`, web(a, outside), false},
		"without types and egress rules it is none":   {`{podSelector: {matchLabels: {app: a}}}`, web(a, b), true},
		"types say which":                             {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress]}`, web(a, b), false},
		"egress says nothing of ingress":              {`{podSelector: {matchLabels: {app: b}}, policyTypes: [Egress]}`, web(a, b), true},
		"an empty rule lets all in":                   {`{podSelector: {}, ingress: [{}]}`, web(outside, b), true},
		"a peer by its labels":                        {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}`, web(a, b), true},
		"a peer by labels is of the same namespace":   {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: a}}}]}]}`, web(far, b), false},
		"a peer by its namespace":                     {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "y"}}}]}]}`, web(far, b), true},
		"all namespaces":                              {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {}}]}]}`, web(far, b), true},
		"all namespaces are not all addresses":        {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {}}]}]}`, web(outside, b), false},
		"both selectors must match: the namespace":    {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: z}}, podSelector: {}}]}]}`, web(far, b), false},
		"both selectors must match: the pod":          {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{namespaceSelector: {}, podSelector: {matchLabels: {app: c}}}]}]}`, web(far, b), false},
		"one peer of several is enough":               {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: c}}}, {namespaceSelector: {}}]}]}`, web(far, b), true},
		"one rule of several is enough":               {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 81}]}, {ports: [{port: 80}]}]}`, web(a, b), true},
		"peer and port are of one rule":               {`{podSelector: {matchLabels: {app: b}}, ingress: [{from: [{podSelector: {matchLabels: {app: c}}}], ports: [{port: 80}]}, {from: [{podSelector: {}}], ports: [{port: 81}]}]}`, web(a, b), false},
		"a port":                                      {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 80}]}]}`, web(a, b), true},
		"another port":                                {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 81}]}]}`, web(a, b), false},
		"a protocol without a port is all ports":      {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{protocol: TCP}]}]}`, web(a, b), true},
		"another protocol":                            {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{protocol: UDP, port: 80}]}]}`, web(a, b), false},
		"without a protocol it is TCP":                {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 80}]}]}`, flow{a, b, corev1.ProtocolUDP, 80}, false},
		"a range of ports":                            {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 79, endPort: 80}]}]}`, web(a, b), true},
		"beside a range of ports":                     {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: 70, endPort: 79}]}]}`, web(a, b), false},
		"a named port":                                {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: web}]}]}`, web(a, b), true},
		"a name that the pod does not have":           {`{podSelector: {matchLabels: {app: b}}, ingress: [{ports: [{port: api}]}]}`, web(a, b), false},
		"an address block":                            {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 1.0.0.0/8}}]}]}`, web(a, outside), true},
		"an exception of a block":                     {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 1.0.0.0/8, except: [1.1.0.0/16]}}]}]}`, web(a, outside), false},
		"an exception is of its block alone":          {`{podSelector: {matchLabels: {app: a}}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 1.0.0.0/8, except: [1.1.0.0/16]}}, {ipBlock: {cidr: 1.1.1.0/24}}]}]}`, web(a, outside), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := networkingv1.NetworkPolicy{}
			p.Namespace = "x"
			must.Succeed(t, yaml.UnmarshalStrict([]byte(tt.spec), &p.Spec))
			if got := (cluster{policies: []networkingv1.NetworkPolicy{p}}).allows(tt.flow); got != tt.want {
				t.Errorf("allowed: %v, want %v", got, tt.want)
			}
		})
	}
}
