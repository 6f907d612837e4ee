// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridgestate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// TestServersKeepTheNamesOfTheirToolsWhileOthersComeAndGo reconciles a bridge again and again. Each
// state has the servers of the spec, and those of the configuration, of which the one without a
// prefix is in brackets.
func TestServersKeepTheNamesOfTheirToolsWhileOthersComeAndGo(t *testing.T) {
	for name, states := range map[string][][2]string{
		"the first one keeps its names":             {{"a", "[a]"}, {"a b", "[a] b"}, {"a b c", "[a] b c"}, {"a", "[a]"}},
		"whichever order the spec has":              {{"b", "[b]"}, {"a b", "[b] a"}, {"a c b", "[b] a c"}},
		"one that is left keeps its prefix":         {{"a", "[a]"}, {"a b", "[a] b"}, {"b", "b"}, {"b c", "b c"}, {"c", "c"}},
		"the first one comes back":                  {{"a", "[a]"}, {"a b", "[a] b"}, {"b", "b"}, {"b a", "[a] b"}},
		"several that come together have prefixes":  {{"a b", "a b"}, {"a", "a"}, {"a c", "a c"}},
		"a bridge without servers begins again":     {{"a", "[a]"}, {"", ""}, {"b", "[b]"}, {"a b", "[b] a"}},
		"a bridge without servers has several next": {{"", ""}, {"a b", "a b"}},
	} {
		t.Run(name, func(t *testing.T) {
			var status v1alpha1.HostedBridgeStatus
			for i, state := range states {
				b := &v1alpha1.HostedBridge{Status: status}
				for server := range strings.FieldsSeq(state[0]) {
					b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: server, Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: "https://x"}})
				}
				in := effective.Of(b)
				if diff := cmp.Diff(state[1], namesIn(Configuration(in, bridgeconfig.Egress{}, ""))); diff != "" {
					t.Errorf("state %d (-want +got):\n%s", i, diff)
				}
				status.UnprefixedServer = Unprefixed(in)
				for _, server := range b.Spec.Servers {
					if alone := strings.Contains(state[1], "["+server.Name+"]"); HasPrefix(in, server.Name) == alone {
						t.Errorf("state %d: %s has a prefix: %v", i, server.Name, !alone)
					}
				}
			}
		})
	}
}

// namesIn returns the servers of a configuration, the one whose tools have no prefix in brackets.
func namesIn(c bridgeconfig.Config) string {
	var names []string
	for _, s := range c.Servers {
		name := s.Name
		if c.Single() || c.Unprefixed != nil && *c.Unprefixed == name {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// TestConfigurationsOfBridgesThatExistStay looks at bridges of which the operator has not said
// which server has no prefix: an operator that says it for the first time changes no configuration.
func TestConfigurationsOfBridgesThatExistStay(t *testing.T) {
	for _, servers := range []string{"", "a", "a b"} {
		b := &v1alpha1.HostedBridge{}
		for server := range strings.FieldsSeq(servers) {
			b.Spec.Servers = append(b.Spec.Servers, v1alpha1.Server{Name: server})
		}
		in := effective.Of(b)
		before := Configuration(in, bridgeconfig.Egress{}, "")
		b.Status.UnprefixedServer = Unprefixed(in)
		if after := Configuration(in, bridgeconfig.Egress{}, ""); before.Unprefixed != nil || after.Unprefixed != nil {
			t.Errorf("%q: %v, then %v", servers, before.Unprefixed, after.Unprefixed)
		}
	}
}
