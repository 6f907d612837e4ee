// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// TestABridgeThatEndsIsBackInSecondsWithoutTheServerThatEndsIt has the process
// of a bridge crash again and again while a call to one server waits.
func TestABridgeThatEndsIsBackInSecondsWithoutTheServerThatEndsIt(t *testing.T) {
	t.Parallel()
	n := newTenant(t, "ends", "waits", "everything")
	// An end counts for a server that alone has had a request for a while. On a busy machine the other one may
	// have one then, too.
	for ends, out := 0, false; !out; {
		if !endWhileWaiting(t, n, "waits") {
			return // The pod was deleted instead, which is no fault of a server's.
		}
		wait.NoError(t, wait.Limit, "the end is in the status", func(ctx context.Context) error {
			b, err := getBridge(ctx, n.name)
			if err != nil {
				return err
			}
			if len(b.Status.Terminations) <= ends {
				return fmt.Errorf("the ends are %v", b.Status.Terminations)
			}
			// The same write has the ends and what follows from them.
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable)
			ends, out = len(b.Status.Terminations), c != nil && c.Reason == v1alpha1.ReasonServersOutOfService
			return nil
		})
	}
	wait.NoError(t, wait.Limit, "the server is out of service", func(ctx context.Context) error {
		c, err := stableOf(ctx, n)
		if err == nil && (c == nil || c.Reason != v1alpha1.ReasonServersOutOfService || !strings.Contains(c.Message, "server waits: ")) {
			err = fmt.Errorf("the condition is %+v", c)
		}
		if err == nil {
			err = callNamed(ctx, n, "everything_"+tool)
		}
		return err
	})
	wait.NoError(t, wait.Limit, "its calls are told so", func(ctx context.Context) error {
		if err := callNamed(ctx, n, "waits_"+tool); err == nil || !strings.Contains(err.Error(), "the server is out of service until") {
			return fmt.Errorf("a call: %w", errors.Join(err, errors.New("it is not refused as wanted")))
		}
		return nil
	})
	b := must.Value(getBridge(t.Context(), n.name))(t)
	before := b.DeepCopy()
	b.Spec.Servers[0].Description = "mended"
	must.Succeed(t, installed.client.Patch(t.Context(), b, client.MergeFrom(before)))
	wait.NoError(t, wait.Limit, "the changed server is in service", func(ctx context.Context) error {
		if c, err := stableOf(ctx, n); err != nil || c != nil && c.Reason == v1alpha1.ReasonServersOutOfService {
			return fmt.Errorf("the condition is %+v: %w", c, errors.Join(err, errors.New("not in service")))
		}
		return callNamed(ctx, n, "waits_"+tool)
	})
	// The ends of the former server do not count, and the pod is replaced again.
	endWhileWaiting(t, n, "waits")
	wait.NoError(t, wait.Limit, "the changed server stays in service", func(ctx context.Context) error { return callNamed(ctx, n, "waits_"+tool) })
}

// endWhileWaiting has the bridge's process crash while a call to the server
// waits, and its other server answer again soon. It returns false where the
// process cannot be made to crash from here.
func endWhileWaiting(t *testing.T, n tenant, server string) bool {
	t.Helper()
	release := holdCall(t, n, server)
	defer release()
	crashed := crash(t, n, server)
	took := wait.NoError(t, wait.Limit, "the other server answers again", func(ctx context.Context) error { return callNamed(ctx, n, "everything_"+tool) })
	t.Logf("the other server answers after %s", took.Round(time.Millisecond))
	return crashed
}

func stableOf(ctx context.Context, n tenant) (*stability, error) {
	b, err := getBridge(ctx, n.name)
	if err != nil {
		return nil, err
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStable)
	if c == nil {
		return nil, nil
	}
	return &stability{c.Reason, c.Message}, nil
}

// stability is what the condition Stable says.
type stability struct{ Reason, Message string }

// callNamed calls a tool of one of several servers.
func callNamed(ctx context.Context, n tenant, name string) error {
	a, err := send(ctx, newHTTPClient(false), n.url(), n.key.secret, modern("tools/call", name, `{"name":"`+name+`","arguments":{}}`))
	if err != nil {
		return err
	}
	return a.toolAnswered()
}

// holdCall has a call to the server wait for its client, until release is called.
func holdCall(t *testing.T, n tenant, server string) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{}, 1)
	options := &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	sdk := newSDKClient(n, legacyVersion)
	made := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, options)
	transport := &mcp.StreamableClientTransport{Endpoint: n.url(), HTTPClient: sdk.http}
	session := must.Value(made.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: legacyVersion}))(t)
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: server + "_test_elicitation", Arguments: map[string]any{"message": "wait"}})
		ended <- err
	}()
	select {
	case <-asked:
	case err := <-ended:
		t.Fatalf("the call does not wait: %v", err)
	case <-time.After(callTimeout):
		t.Fatal("the client is never asked")
	}
	return func() {
		cancel()
		if err := session.Close(); err != nil {
			t.Log("close the session of a bridge that ended:", err)
		}
		if err := <-ended; err != nil {
			t.Log("the call that waited:", err)
		}
	}
}

// crash ends the bridge's process as an error in the program does, once it has
// noted the server. Where the processes of the node are not seen from here, it
// deletes the pod, and returns false.
func crash(t *testing.T, n tenant, server string) bool {
	t.Helper()
	pod := bridgePod(t, n.uid)
	processes := processesIn(t, pod, bridgeContainerOf(t, pod))
	if len(processes) == 0 {
		kill(t, pod)
		return false
	}
	log := filepath.Join("/proc", strconv.Itoa(processes[0]), "root/dev/termination-log")
	wait.NoError(t, wait.Limit, "the process has noted the server", func(context.Context) error {
		if noted, err := os.ReadFile(log); err != nil || !strings.Contains(string(noted), `"server":"`+server+`"`) {
			return fmt.Errorf("the note is %q (%w)", noted, err)
		}
		return nil
	})
	for _, pid := range processes {
		if err := syscall.Kill(pid, syscall.SIGABRT); err != nil {
			t.Fatalf("end process %d of pod %s: %v", pid, pod.Name, err)
		}
	}
	return true
}

func bridgeContainerOf(t *testing.T, pod corev1.Pod) corev1.ContainerStatus {
	t.Helper()
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == v1alpha1.BridgeContainer {
			return s
		}
	}
	t.Fatalf("pod %s has no container of the bridge", pod.Name)
	return corev1.ContainerStatus{}
}
