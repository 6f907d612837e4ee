// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// laptop is the bridge's program on a person's machine.
type laptop struct {
	program string
	env     []string
}

// newLaptop has the tenant's bridge as one server, and a program of its own as
// another.
func newLaptop(t *testing.T, n tenant) laptop {
	t.Helper()
	home := t.TempDir()
	// Nothing but their home: clients hand little more on to what they start.
	l := laptop{program: filepath.Join(home, "bridge"), env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}}
	local := filepath.Join(home, "everything-server")
	for program, pkg := range map[string]string{l.program: "../../cmd/bridge", local: everythingServer} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", pkg, err, out)
		}
	}
	config, err := json.Marshal(map[string]any{"servers": map[string]any{
		"hosted": map[string]any{"url": n.url(), "headers": map[string]string{"Authorization": "Bearer ${HOSTED_KEY}"}},
		"local":  map[string]any{"command": local},
	}})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(home, ".config", "hosted-bridge")
	must.Succeed(t, os.MkdirAll(folder, 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(folder, "config.json"), config, 0o600))
	set := exec.CommandContext(t.Context(), l.program, "secret", "set", "HOSTED_KEY")
	set.Env, set.Stdin = l.env, strings.NewReader(n.key.secret)
	if out, err := set.CombinedOutput(); err != nil {
		t.Fatalf("keep the key: %v: %s", err, redact(string(out), n.key.secret))
	}
	return l
}

// TestALaptopsBridgeHasTheHostedOneAmongItsServers goes the whole way: inspector,
// the laptop's bridge over stdio, ingress, pod, server.
func TestALaptopsBridgeHasTheHostedOneAmongItsServers(t *testing.T) {
	n := newTenantOf(t, "hybrid", 0)
	l := newLaptop(t, n)
	inspector := func(args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
		defer cancel()
		// What follows the inspector's own name is the server's command.
		command := append([]string{module(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
			"--cli", l.program, "serve", "--format", "json"}, args...)
		cmd := exec.CommandContext(ctx, nodeProgram(t), command...)
		cmd.Env = append(slices.Clone(l.env), "NO_COLOR=1")
		cmd.WaitDelay = time.Second
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			return "", fmt.Errorf("inspector: %w: %.2000s", err, redact(errs.String(), n.key.secret))
		}
		return out.String(), nil
	}
	list := must.Value(inspector("--method", "tools/list"))(t)
	for _, name := range []string{"hosted_" + tool, "local_" + tool} {
		if !strings.Contains(list, `"`+name+`"`) {
			t.Errorf("%s is not in the list %.500s", name, list)
		}
		answer := must.Value(inspector("--method", "tools/call", "--tool-name", name))(t)
		if !strings.Contains(answer, toolText) {
			t.Errorf("%s answers %.500s", name, answer)
		}
	}
}

// TestALaptopsBridgeOutlivesThePodOfTheHostedOne keeps one client connected.
func TestALaptopsBridgeOutlivesThePodOfTheHostedOne(t *testing.T) {
	n := newTenantOf(t, "hybrid-pod", 0)
	l := newLaptop(t, n)
	cmd := exec.CommandContext(t.Context(), l.program, "serve")
	cmd.Env = l.env
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	session := must.Value(client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil))(t)
	defer session.Close()
	awaitTools(t, session, "hosted_"+tool)
	old := bridgePod(t, n.uid)
	remove(t, old)
	wait.NoError(t, wait.Limit, "the bridge's process is another", func(ctx context.Context) error {
		return startedAgain(ctx, n, old)
	})
	wait.NoError(t, callTimeout, "the hosted tool answers", func(ctx context.Context) error {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "hosted_" + tool})
		if err != nil {
			return err
		}
		return isToolText(result)
	})
}

// TestALoopOfBridgesIsRefused makes two tenants each other's server.
func TestALoopOfBridgesIsRefused(t *testing.T) {
	t.Parallel()
	there, back := newLooped(t, "there", "back"), newLooped(t, "back", "there")
	for n, other := range map[*tenant]*tenant{there: back, back: there} {
		mustPut(t, *n, "OTHER_KEY", other.key.secret, http.StatusCreated)
	}
	began := time.Now()
	wait.NoError(t, wait.Limit, "the loop is named", func(ctx context.Context) error {
		a, err := send(ctx, newHTTPClient(false), there.url(), there.key.secret, modern("tools/list", "", `{}`))
		if err != nil {
			return err
		}
		if !bytes.Contains(a.body, []byte("loop")) {
			return fmt.Errorf("status %d: %.300s", a.status, a.body)
		}
		return nil
	})
	t.Logf("named after %s", time.Since(began).Round(time.Millisecond))
}

// newLooped makes a tenant whose one server is the other tenant's bridge, as it
// is reached inside the cluster.
func newLooped(t *testing.T, short, other string) *tenant {
	t.Helper()
	n := &tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key})
	b.Spec.Servers = []v1alpha1.Server{{
		Name:    "other",
		Secrets: []v1alpha1.SecretName{"OTHER_KEY"},
		Transport: v1alpha1.Transport{
			Type:    v1alpha1.TransportStreamableHTTP,
			URL:     "http://hosted-bridge-ingress." + systemNamespace + ".svc/u/" + installed.name(other) + "/mcp",
			Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${OTHER_KEY}"}},
		},
	}}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}
