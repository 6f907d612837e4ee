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
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// What the everything server's prompt and resource say.
const (
	promptText   = "Prompt with arguments: arg1='one', arg2='two'"
	resourceText = "This is the content of the static text resource."
)

// task is what a client of clients/ is asked to do.
type task struct {
	Transport string   `json:"transport"`
	URL       string   `json:"url,omitempty"`
	Command   []string `json:"command,omitempty"`
	Era       string   `json:"era,omitempty"`
	// Elicit is the tool of that step, Arguments are what it is called with, and
	// Answer is what its server is told.
	Elicit    string            `json:"elicit,omitempty"`
	Arguments map[string]string `json:"arguments,omitempty"`
	Answer    map[string]string `json:"answer,omitempty"`
	// Slow is the tool of the step cancel, and Connect that of a server whose
	// account the person connects.
	Slow    string   `json:"slow,omitempty"`
	Connect string   `json:"connect,omitempty"`
	Steps   []string `json:"steps"`
	// Login has the client log its person in, instead of with the tenant's key.
	Login *known `json:"login,omitempty"`
}

// said is what a client prints.
type said struct {
	Version  string
	List     []string
	Call     string
	Prompt   string
	Resource string
	Progress []float64
	Elicit   string
	Cancel   string
	Refresh  string
	Connect  string
	// Go is where the client sends its person, before it says the rest.
	Go string
}

// outsider is a client that is not ours, on one of the ways to a bridge.
type outsider struct {
	name string
	// program is the file in clients/, empty for the Go SDK's client.
	program string
	era     string
	// path is what follows the tenant's URL.
	path string
	// remote are the arguments of mcp-remote, where the client reaches the
	// bridge through it.
	remote []string
	// version is the protocol's version that the client then speaks; empty
	// where its transport does not tell.
	version string
}

var outsiders = []outsider{
	{name: "TypeScript SDK 1", program: "v1.mjs", path: "/mcp", version: legacyVersion},
	{name: "TypeScript SDK 1 over SSE", program: "v1.mjs", path: "/sse"},
	{name: "TypeScript SDK 2, legacy", program: "v2.mjs", era: "legacy", path: "/mcp", version: legacyVersion},
	{name: "TypeScript SDK 2, modern", program: "v2.mjs", era: "modern", path: "/mcp", version: modernVersion},
	{name: "TypeScript SDK 2 over SSE", program: "v2.mjs", era: "legacy", path: "/sse"},
	{name: "Go SDK, legacy", path: "/mcp", version: legacyVersion},
	{name: "Go SDK, modern", path: "/mcp", version: modernVersion},
	{name: "Go SDK over SSE", path: "/sse"},
	{name: "mcp-remote", program: "v1.mjs", path: "/mcp", remote: []string{"--transport", "http-only"}},
	{name: "mcp-remote over SSE", program: "v1.mjs", path: "/sse", remote: []string{"--transport", "sse-only"}},
	{name: "mcp-remote that tries HTTP first", program: "v1.mjs", path: "/sse", remote: []string{"--transport", "http-first"}},
}

// run has the client carry the steps out at the tenant's URL.
func (o outsider) run(t *testing.T, n tenant, asked task) (said, error) {
	t.Helper()
	if o.program == "" {
		return o.goRun(t, n, asked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wait.Limit)
	defer cancel()
	cmd := o.command(ctx, t, n, asked)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return said{}, fmt.Errorf("%s: %w: %.2000s", o.name, err, redact(stderr.String(), n.key.secret))
	}
	var s said
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		return said{}, fmt.Errorf("%s: read its output: %w in %.300q", o.name, err, stdout.String())
	}
	return s, nil
}

// command is the program that does what is asked at the tenant's URL.
func (o outsider) command(ctx context.Context, t *testing.T, n tenant, asked task) *exec.Cmd {
	t.Helper()
	asked.Transport, asked.Era = "http", o.era
	if asked.URL == "" {
		asked.URL = n.base() + o.path
	}
	if o.path == "/sse" {
		asked.Transport = "sse"
	}
	if o.remote != nil {
		asked.Transport = "stdio"
		asked.Command = append([]string{nodeProgram(t), module(t, "mcp-remote/dist/proxy.js"), asked.URL, "--allow-http"}, o.remote...)
		asked.Command = append(asked.Command, asked.Login.remote()...)
	}
	argument := must.Value(json.Marshal(asked))(t)
	cmd := exec.CommandContext(ctx, nodeProgram(t), "clients/"+o.program, string(argument))
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "BROWSER=true", "HB_KEY="+n.key.secret, "HB_AUTHORIZATION=Bearer "+n.key.secret)
	// What the client started itself must end with it, and not keep its streams open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// TestOutsideClientsDoEverything has each client use each of the protocol's
// features before a server of each era.
func TestOutsideClientsDoEverything(t *testing.T) {
	t.Parallel()
	upstreams := []struct {
		name   string
		number int
		task   task
	}{
		{"a server with sessions", 0, task{
			Elicit:    "test_elicitation",
			Arguments: map[string]string{"message": "who are you?"},
			Answer:    map[string]string{"username": "alice", "email": "alice@example.com"},
		}},
		{"a server without sessions", 1, task{
			Elicit: "test_input_required_result_elicitation",
			Answer: map[string]string{"name": "alice"},
		}},
	}
	for _, upstream := range upstreams {
		n := newTenantOf(t, fmt.Sprintf("outside-%d", upstream.number), upstream.number)
		for _, o := range outsiders {
			t.Run(o.name+" before "+upstream.name, func(t *testing.T) {
				t.Parallel()
				asked := upstream.task
				asked.Steps = []string{"list", "call", "prompt", "resource", "progress", "elicit"}
				got := must.Value(o.run(t, n, asked))(t)
				checkSaid(t, o, got)
			})
		}
	}
}

func checkSaid(t *testing.T, o outsider, got said) {
	t.Helper()
	if o.version != "" && got.Version != o.version {
		t.Errorf("version %q, want %q", got.Version, o.version)
	}
	if !slices.Contains(got.List, tool) {
		t.Errorf("the list is %v, want %s in it", got.List, tool)
	}
	if got.Call != toolText {
		t.Errorf("the call answers %q, want %q", got.Call, toolText)
	}
	if got.Prompt != promptText {
		t.Errorf("the prompt is %q, want %q", got.Prompt, promptText)
	}
	if got.Resource != resourceText {
		t.Errorf("the resource is %q, want %q", got.Resource, resourceText)
	}
	if diff := cmp.Diff([]float64{0, 50, 100}, got.Progress); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	if !bytes.Contains([]byte(got.Elicit), []byte("alice")) {
		t.Errorf("the tool that asks answers %q, want what it was told in it", got.Elicit)
	}
}

// TestACancelledCallIsCancelledAtTheServer has each client cancel a call while
// the server works on it.
func TestACancelledCallIsCancelledAtTheServer(t *testing.T) {
	t.Parallel()
	n := newGuardedTenant(t, "cancelling", left)
	mustPut(t, n, left.secret, left.token(t), http.StatusCreated)
	wait.NoError(t, wait.Limit, "the guarded server is connected", func(ctx context.Context) error {
		_, err := askWaits(ctx, n)
		return err
	})
	for _, o := range outsiders {
		t.Run(o.name, func(t *testing.T) {
			before := must.Value(askWaits(t.Context(), n))(t)
			got := must.Value(o.run(t, n, task{Slow: left.name + "_wait", Steps: []string{"cancel"}}))(t)
			if got.Cancel != "cancelled" {
				t.Errorf("the call is %s, want cancelled", got.Cancel)
			}
			wait.NoError(t, callTimeout, "the server hears of it", func(ctx context.Context) error {
				after, err := askWaits(ctx, n)
				if err != nil {
					return err
				}
				if after.Begun != before.Begun+1 || after.Cancelled != before.Cancelled+1 {
					return fmt.Errorf("%+v, before %+v", after, before)
				}
				return nil
			})
		})
	}
}

// waits is what the guarded server says of the calls of its tool wait.
type waits struct{ Begun, Cancelled int }

func askWaits(ctx context.Context, n tenant) (w waits, err error) {
	a, err := send(ctx, newHTTPClient(false), n.url(), n.key.secret, modern("tools/call", left.name+"_waits", `{"name":"`+left.name+`_waits","arguments":{}}`))
	if err != nil {
		return w, err
	}
	var message struct {
		Result struct {
			StructuredContent *waits
		}
	}
	if err := json.Unmarshal(a.message(), &message); err != nil {
		return w, fmt.Errorf("read the counts: %w", err)
	}
	if message.Result.StructuredContent == nil {
		return w, fmt.Errorf("status %d and no counts", a.status)
	}
	return *message.Result.StructuredContent, nil
}

// newTenantOf makes a tenant with one server, which is that upstream.
func newTenantOf(t *testing.T, short string, upstream int) tenant {
	t.Helper()
	n := tenant{name: installed.name(short), key: mint(t)}
	b := bridge(n.name, []credential{n.key})
	b.Spec.Servers = []v1alpha1.Server{{
		Name:      "everything",
		Transport: v1alpha1.Transport{Type: v1alpha1.TransportStreamableHTTP, URL: installed.upstreamURL(upstream)},
	}}
	n.uid = create(t, b)
	awaitReady(t, n.name)
	return n
}
