// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestABridgeSaysWhetherTheNetworkIsolatesIt waits for what the operator found by
// its two pods. The local cluster's network enforces no policies; what others do
// is not known here, but that something was found is.
func TestABridgeSaysWhetherTheNetworkIsolatesIt(t *testing.T) {
	name := installed.name("isolated")
	if out, err := installed.runKubectl(t.Context(), manifest(name, "desiredState: Suspended"), "apply", "--filename=-"); err != nil {
		t.Fatalf("apply: %v: %s", err, out)
	}
	t.Cleanup(func() {
		_, _ = installed.runKubectl(t.Context(), "", "delete", "hostedbridge", name, "--wait=false")
	})
	want := []string{"True Enforced", "False NetworkPolicyNotEnforced"}
	if os.Getenv("CLUSTER") == "local" {
		want = want[1:]
	}
	const path = `jsonpath={range .status.conditions[?(@.type=="NetworkIsolated")]}{.status} {.reason}{end}`
	eventually(t, 2*time.Minute, "NetworkIsolated says what the probe found", func(ctx context.Context) error {
		out, err := installed.runKubectl(ctx, "", "get", "hostedbridge", name, "--output="+path)
		if got := strings.TrimSpace(out); err != nil || !slices.Contains(want, got) {
			return errors.Join(fmt.Errorf("it is %q, want %s", got, strings.Join(want, " or ")), err)
		}
		return nil
	})
	// The pods that tried are gone by then, or about to be.
	eventually(t, time.Minute, "the pods of the probe are removed", func(ctx context.Context) error {
		for _, pod := range []string{"hosted-bridge-probe-open", "hosted-bridge-probe-denied"} {
			out, err := installed.runKubectl(ctx, "", "get", "pod", pod, "--namespace="+systemNamespace, "--ignore-not-found", "--output=name")
			if err != nil || strings.TrimSpace(out) != "" {
				return errors.Join(fmt.Errorf("there is %q", out), err)
			}
		}
		return nil
	})
}
