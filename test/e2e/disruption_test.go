// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

// slowestCall bounds a call with all the attempts that it took. Once a process
// is gone, the cluster leads half of the new connections to its address until
// the kubelet has seen it, which takes a second or two.
const slowestCall = 10 * time.Second

func TestCallsGoOnWhileAProcessEnds(t *testing.T) {
	tests := []struct {
		name       string
		deployment string
		end        func(*testing.T, ...corev1.Pod)
		// pods is how many are ended; 0 is all of them.
		pods int
		// cuts says that calls go through what is ended: attempts may stay
		// without an answer.
		cuts bool
	}{
		{name: "the operator is killed", deployment: "hosted-bridge-operator", end: kill},
		{name: "every keybroker is killed", deployment: "hosted-bridge-keybroker", end: kill},
		{name: "the store is killed", deployment: "hosted-bridge-store", end: kill},
		{name: "one ingress is killed", deployment: "hosted-bridge-ingress", end: kill, pods: 1, cuts: true},
		{name: "one ingress pod is deleted", deployment: "hosted-bridge-ingress", end: remove, pods: 1, cuts: true},
	}
	kim := newTenant(t, "kim", "everything")
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			loop := startCalls(t, kim)
			loop.await(t, 20)
			pods := podsOf(t, tt.deployment)
			victims := pods
			if tt.pods > 0 {
				victims = pods[:tt.pods]
			}
			tt.end(t, victims...)
			// Calls go on until the installation is whole again, and after.
			awaitReplaced(t, tt.deployment, len(pods), victims)
			loop.await(t, 20)
			for _, c := range loop.stop() {
				if len(c.failures) > 0 {
					t.Errorf("%s: %d of %d calls failed, the first: %s", c.name, len(c.failures), c.calls, c.failures[0])
				}
				if c.lost > 0 && !tt.cuts {
					t.Errorf("%s: %d attempts in %d calls had no answer", c.name, c.lost, c.calls)
				}
				if c.slowest > slowestCall {
					t.Errorf("%s: a call took %s, want at most %s", c.name, c.slowest, slowestCall)
				}
				t.Logf("%s: %d calls, %d attempts without an answer, the slowest call %s", c.name, c.calls, c.lost, c.slowest)
			}
			// What comes back also does its work.
			after := newTenant(t, fmt.Sprintf("after-%d", i), "everything")
			if err := callTool(t.Context(), newHTTPClient(false), after.url(), after.key.secret); err != nil {
				t.Errorf("a tenant made afterwards: %v", err)
			}
		})
	}
}

func TestTheNextCallWaitsForTheBridgesPod(t *testing.T) {
	t.Parallel()
	leo := newTenant(t, "leo", "everything")
	ends := []struct {
		name string
		end  func(*testing.T, ...corev1.Pod)
	}{
		{"after its process was killed", kill},
		{"after its pod was deleted", remove},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			old := bridgePod(t, leo.uid)
			tt.end(t, old)
			start := time.Now()
			answerWithin(t, leo, wait.Limit)
			t.Logf("answered after %s", time.Since(start).Round(time.Millisecond))
			// A pod that ends in good order may have given that answer.
			wait.NoError(t, wait.Limit, "the bridge's process is another", func(ctx context.Context) error {
				return startedAgain(ctx, leo, old)
			})
			answerWithin(t, leo, wait.Limit)
		})
	}
}

func TestKubectlRolloutRestartWorksOnABridge(t *testing.T) {
	t.Parallel()
	mia := newTenant(t, "mia", "everything")
	old := bridgePod(t, mia.uid)
	deployment := "deployment/" + mia.name + "-bridge"
	mustKubectl(t, "rollout", "restart", deployment)
	answerWithin(t, mia, wait.Limit)
	mustKubectl(t, "rollout", "status", deployment, "--timeout=60s")
	if pod := bridgePod(t, mia.uid); pod.UID == old.UID {
		t.Error("the bridge's pod is the old one")
	}
	awaitReady(t, mia.name)
	// The operator has reconciled since and left the restart's mark alone,
	// or it would have rolled the pod back.
	restarted := mustKubectl(t, "get", deployment, `--output=jsonpath={.spec.template.metadata.annotations.kubectl\.kubernetes\.io/restartedAt}`)
	if restarted == "" {
		t.Error("the operator removed the annotation of kubectl rollout restart")
	}
}

// answerWithin calls the tool until it answers. The ingress holds a call while
// the pod starts, and may answer that it is not there yet.
func answerWithin(t *testing.T, n tenant, timeout time.Duration) {
	t.Helper()
	c := newHTTPClient(false)
	wait.NoError(t, timeout, "the bridge answers", func(ctx context.Context) error {
		return callTool(ctx, c, n.url(), n.key.secret)
	})
}

// startedAgain returns nil where the bridge has one ready pod that is another
// than the old one, or has been started again.
func startedAgain(ctx context.Context, n tenant, old corev1.Pod) error {
	pods, err := bridgePods(ctx, n.uid)
	if err != nil {
		return err
	}
	if len(pods) != 1 {
		return fmt.Errorf("there are %d pods", len(pods))
	}
	if pods[0].UID == old.UID && restarts(pods[0]) == restarts(old) {
		return fmt.Errorf("pod %s is the old one", old.Name)
	}
	if !isReady(pods[0]) {
		return fmt.Errorf("pod %s is not ready", pods[0].Name)
	}
	return nil
}
