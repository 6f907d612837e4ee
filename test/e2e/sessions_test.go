// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestASessionOutlivesItsPod keeps one session of a client that never
// initializes another.
func TestASessionOutlivesItsPod(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(*testing.T, tenant)
	}{
		{"its pod is deleted", func(t *testing.T, n tenant) { remove(t, bridgePod(t, n.uid)) }},
		{"its process is killed", func(t *testing.T, n tenant) { kill(t, bridgePod(t, n.uid)) }},
		{"its bridge is suspended and resumed", suspendAndResume},
		{"its Deployment is restarted", func(t *testing.T, n tenant) {
			mustKubectl(t, "rollout", "restart", "deployment/"+n.name+"-bridge")
		}},
	}
	for upstream, what := range []string{"a server with sessions", "a server without sessions"} {
		n := newTenantOf(t, fmt.Sprintf("lasting-%d", upstream), upstream)
		sdk := newSDKClient(n, legacyVersion)
		session := must.Value(sdk.connect(t.Context()))(t)
		defer session.Close()
		id := session.ID()
		if id == "" {
			t.Fatal("the session has no id: the protocol has no sessions then")
		}
		for _, tt := range tests {
			t.Run("before "+what+", "+tt.name, func(t *testing.T) {
				callInSession(t, session)
				old := bridgePod(t, n.uid)
				tt.end(t, n)
				wait.NoError(t, wait.Limit, "the bridge's process is another", func(ctx context.Context) error {
					return startedAgain(ctx, n, old)
				})
				callInSession(t, session)
				if said := sdk.refused.take(); len(said) > 0 {
					t.Errorf("the client was refused: %v", said)
				}
				if session.ID() != id {
					t.Error("the session is another")
				}
			})
		}
	}
}

// callInSession lists, and calls the tool once.
func callInSession(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTimeout)
	defer cancel()
	if _, err := session.ListTools(ctx, nil); err != nil {
		t.Fatalf("list: %v", err)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		t.Fatalf("call: %v", err)
	}
	if err := isToolText(result); err != nil {
		t.Error(err)
	}
}

func suspendAndResume(t *testing.T, n tenant) {
	t.Helper()
	desire := func(state v1alpha1.DesiredState) {
		t.Helper()
		b := must.Value(getBridge(t.Context(), n.name))(t)
		before := b.DeepCopy()
		b.Spec.DesiredState = state
		must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
	}
	desire(v1alpha1.StateSuspended)
	wait.NoError(t, wait.Limit, "the bridge has no pod", func(ctx context.Context) error {
		pods, err := bridgePods(ctx, n.uid)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("there are %d pods", len(pods))
		}
		return err
	})
	desire(v1alpha1.StateRunning)
	awaitReady(t, n.name)
}
