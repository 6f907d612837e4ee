// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestAChangeReachesTheBridgeWithoutEndingIt has two servers become one tool that
// finds and calls theirs, under a client that stays connected. It is of two users,
// as the operator's right to annotate is on every pod.
func TestAChangeReachesTheBridgeWithoutEndingIt(t *testing.T) {
	t.Parallel()
	for _, short := range []string{"reloaded", "reloaded-too"} {
		t.Run(short, func(t *testing.T) { changeReachesBridge(t, newTenant(t, short, "first", "second")) })
	}
}

func changeReachesBridge(t *testing.T, n tenant) {
	t.Helper()
	session := must.Value(newSDKClient(n, legacyVersion).connect(t.Context()))(t)
	defer session.Close()
	awaitTools(t, session, "first_"+tool, "second_"+tool)
	pod := bridgePod(t, n.uid)

	b := must.Value(getBridge(t.Context(), n.name))(t)
	before := b.DeepCopy()
	b.Spec.Mode = v1alpha1.ModeRouter
	must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
	began := time.Now()
	wait.NoError(t, wait.Limit, "one tool is listed", func(ctx context.Context) error {
		list, err := session.ListTools(ctx, nil)
		if err == nil && (len(list.Tools) != 1 || list.Tools[0].Name != "mcp") {
			err = fmt.Errorf("there are %d tools", len(list.Tools))
		}
		return err
	})
	t.Logf("taken over after %s", time.Since(began).Round(time.Millisecond))
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "mcp", Arguments: map[string]any{"server": "second", "tool": tool},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := isToolText(result); err != nil {
		t.Error(err)
	}
	if now := bridgePod(t, n.uid); now.UID != pod.UID || restarts(now) != restarts(pod) {
		t.Error("the bridge's process is another")
	}
}
