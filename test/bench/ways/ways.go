// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ways

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/load/world"
	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// The versions of the two eras: with sessions and without.
const (
	Sessions  = "2025-11-25"
	Stateless = "2026-07-28"
)

const (
	// root is the folder of the module, and toolhive that of the module of toolhive,
	// from the folders of the tests, which are two below.
	root     = "../.."
	toolhive = root + "/hack/toolhive"

	everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
)

// Programs are the programs that the ways are made of. Packages of npm are in
// node_modules of test/bench, and so is the node that they run on.
type Programs struct{ Everything, VMCP, Thv, Node, Modules string }

// Prepare builds the server that is called, and the named programs of toolhive, which
// takes minutes the first time.
func Prepare(t *testing.T, peers ...string) Programs {
	t.Helper()
	modules := must.Value(filepath.Abs(root + "/test/bench/node_modules"))(t)
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	p := Programs{Everything: Build(t, root, everythingServer), Modules: modules, Node: filepath.Join(modules, "node-"+runtime.GOOS+"-"+arch, "bin", "node")}
	for _, name := range peers {
		program := Build(t, toolhive, "github.com/stacklok/toolhive/cmd/"+name)
		switch name {
		case "vmcp":
			p.VMCP = program
		case "thv":
			p.Thv = program
		}
	}
	return p
}

// Upstream starts the server that is called.
func (p Programs) Upstream(t *testing.T, version string) (url string) {
	t.Helper()
	address := world.UnusedAddress(t)
	Serve(t, "http://"+address, p.Everything, "-http", address, fmt.Sprintf("-stateless=%t", version == Stateless))
	return "http://" + address
}

// Direct leads to the server itself.
func (p Programs) Direct(version string) Way {
	return Way{Name: Directly, Version: version, Start: func(t *testing.T) (func() mcp.Transport, Process) {
		return OverHTTP(t, p.Upstream(t, version), ""), Process{}
	}}
}

// vmcpConfig names a server as toolhive's operator would. Names of tools stay as they
// are, and nobody is asked for a login.
const vmcpConfig = `name: bench
groupRef: bench
backends:
- {name: everything, url: %q, transport: streamable-http, type: entry}
incomingAuth: {type: anonymous}
outgoingAuth: {source: inline, default: {type: unauthenticated}}
aggregation:
  conflictResolution: priority
  conflictResolutionConfig: {priorityOrder: [everything]}
`

// ToolhiveVMCP leads through vMCP alone. It is measured with one client: it connects to
// the upstream for each call, and with eight clients has too many files open after some
// seconds.
func (p Programs) ToolhiveVMCP() Way {
	return Way{Name: "toolhive vMCP 0.47.0", Version: Sessions, Most: 1, Start: func(t *testing.T) (func() mcp.Transport, Process) {
		return p.vmcp(t, p.Upstream(t, Sessions))
	}}
}

// ToolhiveProxy leads through the transparent proxy that toolhive has before each
// server.
func (p Programs) ToolhiveProxy() Way {
	return Way{Name: "toolhive proxy 0.47.0", Version: Sessions, Start: func(t *testing.T) (func() mcp.Transport, Process) {
		url, proxy := p.proxy(t)
		return OverHTTP(t, url, ""), proxy
	}}
}

// Toolhive leads through both, as in a cluster, with one client for the reason above.
func (p Programs) Toolhive() Way {
	return Way{Name: "toolhive vMCP and proxy 0.47.0", Version: Sessions, Most: 1, Start: func(t *testing.T) (func() mcp.Transport, Process) {
		url, proxy := p.proxy(t)
		connect, vmcp := p.vmcp(t, url)
		return connect, Process{PIDs: append(vmcp.PIDs, proxy.PIDs...)}
	}}
}

func (p Programs) vmcp(t *testing.T, upstream string) (func() mcp.Transport, Process) {
	t.Helper()
	host, port := Free(t)
	return Serve(t, "http://"+net.JoinHostPort(host, port)+"/mcp", p.VMCP,
		"serve", "--config", File(t, fmt.Sprintf(vmcpConfig, upstream)), "--host", host, "--port", port)
}

func (p Programs) proxy(t *testing.T) (url string, measured Process) {
	t.Helper()
	host, port := Free(t)
	url = "http://" + net.JoinHostPort(host, port)
	// Without a runtime of containers or the name of one it does not start. The proxy asks none.
	_, measured = Serve(t, url, "env", "TOOLHIVE_RUNTIME=kubernetes", "TOOLHIVE_SKIP_UPDATE_CHECK=true", p.Thv,
		"proxy", "everything", "--target-uri", p.Upstream(t, Sessions), "--host", host, "--port", port)
	return url, measured
}

// MCPHub leads through the hub of npm, whose clients speak the transport of 2024-11-05.
func (p Programs) MCPHub() Way {
	return Way{Name: "mcp-hub 4.2.1", Version: Sessions, Tool: "everything__" + tool, Start: func(t *testing.T) (func() mcp.Transport, Process) {
		host, port := Free(t)
		base := "http://" + net.JoinHostPort(host, port)
		_, hub := Serve(t, base, p.Node, filepath.Join(p.Modules, "mcp-hub/dist/cli.js"),
			"--port", port, "--config", File(t, fmt.Sprintf(`{"mcpServers":{"everything":{"url":%q}}}`, p.Upstream(t, Sessions))))
		wait.Until(t, "the hub connects to the server", func() bool {
			said, err := world.Get(base + "/api/health")
			return err == nil && bytes.Contains(said, []byte(`"status":"connected"`))
		})
		client := newClient(t, "")
		return func() mcp.Transport { return &mcp.SSEClientTransport{Endpoint: base + "/mcp", HTTPClient: client} }, hub
	}}
}

// OverHTTP returns how clients connect to a URL over streamable HTTP, with a key unless
// that is empty.
func OverHTTP(t *testing.T, url, key string) func() mcp.Transport {
	client := newClient(t, key)
	return func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true}
	}
}

// newClient returns a client that keeps a connection for each of those who call at once.
func newClient(t *testing.T, key string) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 512}
	t.Cleanup(transport.CloseIdleConnections)
	if key == "" {
		return &http.Client{Transport: transport}
	}
	return &http.Client{Transport: bearer{transport, key}}
}

// bearer sends a key with each request.
type bearer struct {
	transport *http.Transport
	key       string
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.transport.RoundTrip(r)
}
