// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// eras are the inspector's names of the two eras that one URL serves.
var eras = []string{"legacy", "modern"}

func TestTheInspectorListsCallsAndReads(t *testing.T) {
	t.Parallel()
	alice := newTenant(t, "alice", "everything")
	ways := []struct{ name, era, url string }{
		{"legacy", "legacy", alice.url()},
		{"modern", "modern", alice.url()},
		{"over SSE", "legacy", alice.base() + "/sse"},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			names := must.Value(inspectorTools(t, way.era, way.url, alice.key.secret))(t)
			// One server: its names are its own, without a prefix.
			if !slices.Contains(names, tool) {
				t.Errorf("the list is %v, want %s in it", names, tool)
			}
			text := must.Value(inspectorCall(t, way.era, way.url, alice.key.secret, tool))(t)
			if diff := cmp.Diff(toolText, text); diff != "" {
				t.Errorf("the tool's answer differs (-want +got):\n%s", diff)
			}
			prompt, resource := must.Values(inspectorReads(t, way.era, way.url, alice.key.secret))(t)
			if prompt != promptText || resource != resourceText {
				t.Errorf("the prompt is %q and the resource %q", prompt, resource)
			}
		})
	}
}

func TestTwoServersShowTheirToolsUnderTheirNames(t *testing.T) {
	t.Parallel()
	bob := newTenant(t, "bob", "first", "second")
	want := []string{"first_" + tool, "second_" + tool}
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			names := must.Value(inspectorTools(t, era, bob.url(), bob.key.secret))(t)
			for _, name := range names {
				if !strings.HasPrefix(name, "first_") && !strings.HasPrefix(name, "second_") {
					t.Errorf("tool %s is listed without its server's name", name)
				}
			}
			for _, name := range want {
				if !slices.Contains(names, name) {
					t.Fatalf("the list is %v, want %s in it", names, name)
				}
				text := must.Value(inspectorCall(t, era, bob.url(), bob.key.secret, name))(t)
				if text != toolText {
					t.Errorf("%s answers %q, want %q", name, text, toolText)
				}
			}
		})
	}
}

func TestTheGoSDKsClientCallsATool(t *testing.T) {
	t.Parallel()
	carol := newTenant(t, "carol", "everything")
	for version, era := range map[string]string{legacyVersion: "legacy", modernVersion: "modern"} {
		t.Run(era, func(t *testing.T) {
			session := must.Value(newSDKClient(carol, version).connect(t.Context()))(t)
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("version %s is negotiated, want %s", got, version)
			}
			result := must.Value(session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool}))(t)
			if err := isToolText(result); err != nil {
				t.Error(err)
			}
		})
	}
}
