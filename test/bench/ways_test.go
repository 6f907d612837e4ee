// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package bench

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// The versions of the two eras: with sessions and without.
const (
	sessions  = "2025-11-25"
	stateless = "2026-07-28"
)

// directly is the name of the ways that lead to the upstream itself. What the
// ways below one add is compared with it.
const directly = "direct"

// programs are the programs that the ways are made of. former is another bridge
// to compare with, empty for none: one that was built from an earlier commit,
// with the build tag bench.
type programs struct {
	bridge, former, everything, node, vmcp string
}

// prepare builds what is ours, and toolhive's vMCP. The others are in node_modules.
func prepare(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	p := programs{former: os.Getenv("FORMER"), bridge: filepath.Join(dir, "bridge"), everything: filepath.Join(dir, "everything-server"), vmcp: filepath.Join(dir, "vmcp")}
	for program, pkg := range map[string]string{p.bridge: "../../cmd/bridge", p.everything: everythingServer} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-tags=bench", "-ldflags=-s -w", "-o", program, pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", pkg, err, out)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "-C", "../../hack/toolhive", "build", "-trimpath", "-ldflags=-s -w", "-o", p.vmcp, "github.com/stacklok/toolhive/cmd/vmcp")
	build.Env = append(os.Environ(), "GOFLAGS=", "GOTOOLCHAIN=auto") // It is another module, for another Go.
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build vMCP, which takes minutes the first time: %v: %s", err, out)
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	node, err := filepath.Abs("node_modules/node-" + runtime.GOOS + "-" + arch + "/bin/node")
	if err != nil {
		t.Fatal(err)
	}
	p.node = node
	return p
}

// overHTTP returns the ways to an upstream over HTTP. It speaks the version of
// its clients, but for the last bridge, which translates.
func (p programs) overHTTP() []way {
	ways := []way{p.directHTTP(sessions)}
	ways = append(ways, p.bridgesHTTP(sessions, sessions)...)
	ways = append(ways, p.toolhive())
	ways = append(ways, p.directHTTP(stateless))
	ways = append(ways, p.bridgesHTTP(stateless, stateless)...)
	return append(ways, p.bridgesHTTP(stateless, sessions)...)
}

func (p programs) directHTTP(version string) way {
	return way{name: directly, version: version, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
		return overHTTP(t, p.upstream(ctx, t, version)), process{}
	}}
}

func (p programs) directStdio() way {
	return way{name: directly, version: sessions, start: func(ctx context.Context, _ *testing.T) (func() mcp.Transport, process) {
		return func() mcp.Transport {
			return &mcp.CommandTransport{Command: exec.CommandContext(ctx, p.everything)}
		}, process{}
	}}
}

// bridgesHTTP returns the ways through the bridge, and the former one, to an
// upstream that may speak another version than the clients.
func (p programs) bridgesHTTP(version, upstream string) []way {
	programs := map[string]string{"bridge": p.bridge, "former bridge": p.former}
	var ways []way
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		program := programs[name]
		if program == "" {
			continue
		}
		if version != upstream {
			name += " before " + upstream
		}
		ways = append(ways, way{name: name, version: version, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
			return serveBridge(ctx, t, program, fmt.Sprintf(`{"servers":{"everything":{"url":%q}}}`, p.upstream(ctx, t, upstream)))
		}})
	}
	return ways
}

func (p programs) bridgeStdio() way {
	return way{name: "bridge", version: sessions, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
		return serveBridge(ctx, t, p.bridge, fmt.Sprintf(`{"servers":{"everything":{"command":%q}}}`, p.everything))
	}}
}

func serveBridge(ctx context.Context, t *testing.T, program, config string) (func() mcp.Transport, process) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address, probe := free(t), free(t)
	t.Setenv("BENCH_LISTEN", probe)
	pid := start(ctx, t, address, program, "serve", "--http", address, "--config", file)
	return overHTTP(t, "http://"+address+"/u/local/mcp"), process{pid, "http://" + probe}
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

// toolhive is measured with one client: it connects to the upstream for each call, and with
// eight clients has too many files open after some seconds.
func (p programs) toolhive() way {
	return way{name: "toolhive vMCP 0.47.0", version: sessions, alone: true, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
		file := filepath.Join(t.TempDir(), "vmcp.yaml")
		if err := os.WriteFile(file, fmt.Appendf(nil, vmcpConfig, p.upstream(ctx, t, sessions)), 0o600); err != nil {
			t.Fatal(err)
		}
		address := free(t)
		host, port := split(t, address)
		pid := start(ctx, t, address, p.vmcp, "serve", "--config", file, "--host", host, "--port", port)
		return overHTTP(t, "http://"+address+"/mcp"), process{pid: pid}
	}}
}

func (p programs) mcpProxy() way {
	return way{name: "mcp-proxy 6.7.19", version: sessions, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
		host, port := split(t, free(t))
		pid := start(ctx, t, net.JoinHostPort(host, port), p.node, "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
			"--host", host, "--port", port, "--server", "stream", "--", p.everything)
		return overHTTP(t, "http://"+net.JoinHostPort(host, port)+"/mcp"), process{pid: pid}
	}}
}

func (p programs) supergateway() way {
	return way{name: "supergateway 4.0.0", version: sessions, start: func(ctx context.Context, t *testing.T) (func() mcp.Transport, process) {
		address := free(t)
		_, port := split(t, address)
		pid := start(ctx, t, address, p.node, "node_modules/supergateway/dist/index.js",
			"--stdio", p.everything, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none")
		return overHTTP(t, "http://"+address+"/mcp"), process{pid: pid}
	}}
}

// upstream starts the server that is called.
func (p programs) upstream(ctx context.Context, t *testing.T, version string) (url string) {
	t.Helper()
	address := free(t)
	start(ctx, t, address, p.everything, "-http", address, fmt.Sprintf("-stateless=%t", version == stateless))
	return "http://" + address
}

func overHTTP(t *testing.T, url string) func() mcp.Transport {
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	t.Cleanup(transport.CloseIdleConnections)
	return func() mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: transport}, DisableStandaloneSSE: true}
	}
}

// free returns an address of the loopback that nobody listens at.
func free(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func split(t *testing.T, address string) (host, port string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return host, port
}

// start runs a program until the test ends and waits until it listens.
func start(ctx context.Context, t *testing.T, address, program string, args ...string) (pid int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		timer := time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer timer.Stop()
		_ = cmd.Wait()
	})
	dialer := net.Dialer{Timeout: time.Second}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
			return cmd.Process.Pid
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not listen at %s", filepath.Base(program), address)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
