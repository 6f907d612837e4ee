// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build load || testenv

package load

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/testenv"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// realTool is the tool of the servers behind real bridges. It returns its user's
// canary.
const realTool = "whoami"

// bridgeMemory is the memory limit of a bridge's container, as the operator sets it.
const bridgeMemory = 128 << 20

// hosted is a bridge as it ships, with a server of the Go SDK behind it.
type hosted struct {
	*tenant
	process *world.Process
	probes  string
	args    []string
}

// newReal makes a tenant whose bridge is a process, and runs it. Its servers are the
// tenant's own and more.
func (i *installation) newReal(t *testing.T, n int, more ...bridgeconfig.Server) *hosted {
	t.Helper()
	b := &hosted{tenant: i.newTenant(t, n), probes: world.UnusedAddress(t)}
	b.host = i.hosts.take()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: i.namespace, Name: v1alpha1.WorkloadName(b.user),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b.bridge, v1alpha1.GroupVersion.WithKind("HostedBridge"))},
	}}
	b.pod = i.podOf(b.tenant, b.user+"-real")
	b.pod.Spec.ServiceAccountName = account.Name
	testenv.ExpectApplied(t, i.client, account, b.pod)
	encoded, err := bridgeconfig.Config{
		UserID: b.user, BridgeUID: string(b.bridge.UID),
		Egress:  bridgeconfig.Egress{Allow: []string{"127.0.0.0/8"}},
		Servers: append([]bridgeconfig.Server{{Name: "own", URL: b.serve(t)}}, more...),
	}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b.args = []string{
		"pod", "--listen=" + net.JoinHostPort(b.host, world.BridgePort), "--probe-listen=" + b.probes,
		"--keybroker-url=" + i.keybroker, "--token-file=" + i.write("token-"+b.pod.Name, world.TokenOf(t, i.client, b.pod)), "--config-file=" + i.write("config-"+b.user, string(encoded)),
	}
	i.startReal(t, b)
	i.readyAt(t, b.pod, b.host)
	return b
}

// startReal starts the process, again after it was killed, and waits until it is
// ready.
func (i *installation) startReal(t *testing.T, b *hosted) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programDir, "bridgepod"), b.args...)
	// The limit of memory is what a bridge makes of that of its container. Nothing else of the
	// environment is in a pod.
	cmd.Env = []string{"KEYBROKER_CA=" + string(i.authority.CertificatePEM()), fmt.Sprintf("GOMEMLIMIT=%d", bridgeMemory/4*3)}
	b.process = i.launch(t, "bridge of "+b.user, cmd)
	b.process.AwaitOK(t, "http://"+b.probes+"/readyz")
}

// serve starts the user's server and returns its URL.
func (u *tenant) serve(t *testing.T) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "own", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: realTool, InputSchema: map[string]any{"type": "object"}},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: u.canary}}}, nil
		})
	h := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	h.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	h.Start()
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	return h.URL + "/mcp"
}

// begin begins a session of the earlier era and returns its id.
func (g *ingresses) begin(t *testing.T, u *tenant) string {
	t.Helper()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.pick().base()+"/u/"+u.user+"/mcp", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + u.key}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}
	res := must.Value(g.pick().clients[0].Do(r))(t)
	defer res.Body.Close()
	// Who leaves before the end of the answer has begun no session.
	must.Value(io.Copy(io.Discard, res.Body))(t)
	session := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("initialize: status %d, session %q", res.StatusCode, session)
	}
	return session
}

// startReals runs so many real bridges and waits until each answers.
func (g *ingresses) startReals(t *testing.T, first, n int) []*hosted {
	t.Helper()
	reals := make([]*hosted, n)
	for k := range reals {
		reals[k] = g.installation.newReal(t, first+k)
		c := call{of: reals[k].tenant, tool: realTool, modern: true}
		wait.Until(t, "an answer of the bridge of "+reals[k].user, func() bool { return g.send(t.Context(), c).answered(c) })
	}
	return reals
}

// TestRealBridgesAnswerTheirOwnUserAlone calls bridges as they ship, in both
// eras, also in the sessions of others.
func TestRealBridgesAnswerTheirOwnUserAlone(t *testing.T) {
	const users = 4
	i := install(t, users)
	g := i.startIngresses(t, 2)
	reals := g.startReals(t, 0, users)
	calls := make([]call, 0, 2*users)
	for _, b := range reals {
		calls = append(calls,
			call{of: b.tenant, tool: realTool, modern: true},
			call{of: b.tenant, tool: realTool, session: g.begin(t, b.tenant), http2: true})
	}
	for n := range 20 * len(calls) {
		c := calls[n%len(calls)]
		if r := g.send(t.Context(), c); !r.answered(c) || r.foreign(c.of) {
			t.Fatalf("modern %v: status %d, error %v: %s", c.modern, r.status, r.err, r.body)
		}
	}
	for n, b := range reals {
		theirs := call{of: b.tenant, tool: realTool, session: calls[(2*n+3)%len(calls)].session}
		r := g.send(t.Context(), theirs)
		if r.err != nil || r.status != http.StatusNotFound || r.foreign(b.tenant) {
			t.Errorf("in the session of another user: status %d, error %v: %s", r.status, r.err, r.body)
		}
	}
	g.expectAlive(t)
}
