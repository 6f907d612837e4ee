// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

func TestCollisionsAreToldByName(t *testing.T) {
	tool := func(server, original string) health.Renamed {
		return health.Renamed{Kind: "tool", Name: original + "_2", Server: server, Original: original}
	}
	many := func(n int) (renamed []health.Renamed) {
		for i := range n {
			renamed = append(renamed, tool("a", fmt.Sprintf("tool_%02d", i)))
		}
		return renamed
	}
	for _, test := range []struct {
		name    string
		renamed []health.Renamed
		want    []string
	}{
		{"none", nil, nil},
		{"one tool of several servers, in order", []health.Renamed{tool("jira", "search"), tool("github", "search"), tool("jira", "search")}, []string{`tool "search": github, jira`}},
		{"several kinds", []health.Renamed{tool("b", "x"), {Kind: "prompt", Server: "a", Original: "x"}, {Kind: "resource", Server: "My server", Original: "file:///x"}},
			[]string{`prompt "x": a`, `resource "file:///x": My server`, `tool "x": b`}},
		{"a kind that is none", []health.Renamed{{Kind: "evil", Server: "a", Original: "x"}}, nil},
		{"a server's name that is none", []health.Renamed{tool("a\nb", "x"), tool("", "x"), tool(strings.Repeat("a", 65), "x")}, nil},
		{"a name with what a terminal obeys", []health.Renamed{tool("a", "\x1b[2J\u202e")}, []string{`tool "\x1b[2J\u202e": a`}},
		{"as many as there may be", many(16), slices.Collect(func(yield func(string) bool) {
			for i := range 16 {
				yield(fmt.Sprintf(`tool "tool_%02d": a`, i))
			}
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, collisions(test.renamed)); diff != "" {
				t.Errorf("collisions (-want +got):\n%s", diff)
			}
		})
	}
	if got := collisions(many(20)); len(got) != maxCollisions || got[15] != "and 5 more" || got[14] != `tool "tool_14": a` {
		t.Errorf("of 20: %q", got)
	}
	long := []health.Renamed{}
	for i := range 100 {
		long = append(long, tool(fmt.Sprintf("server-%02d-%s", i, strings.Repeat("a", 50)), strings.Repeat("ü", 1000)))
	}
	if got := collisions(long); len(got) != 1 || len(got[0]) > maxCollision || !utf8.ValidString(got[0]) {
		t.Errorf("a long one: %q", got)
	}
}

func TestNoCollisionRemovesTheField(t *testing.T) {
	b := &v1alpha1.HostedBridge{Status: v1alpha1.HostedBridgeStatus{Collisions: []string{"x"}}}
	fields := pendingUpdate{health: &health.Report{}}.reported(effective.Of(b), time.Time{})
	if got, err := json.Marshal(fields["collisions"]); err != nil || string(got) != "null" {
		t.Errorf("%s, %v", got, err)
	}
}
