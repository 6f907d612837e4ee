// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench

package bench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

// programs are the programs that the ways are made of.
type programs struct {
	bridge, everything, node string
}

// prepare builds what is ours. What is not is in node_modules.
func prepare(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	p := programs{bridge: filepath.Join(dir, "bridge"), everything: filepath.Join(dir, "everything-server")}
	for program, pkg := range map[string]string{p.bridge: "../../cmd/bridge", p.everything: everythingServer} {
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, pkg).CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v: %s", pkg, err, out)
		}
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

func (p programs) directHTTP() way {
	return way{"direct", func(ctx context.Context, t *testing.T) (func() mcp.Transport, int) {
		url, pid := p.upstream(ctx, t)
		return overHTTP(t, url), pid
	}}
}

func (p programs) directStdio() way {
	return way{"direct", func(ctx context.Context, _ *testing.T) (func() mcp.Transport, int) {
		return func() mcp.Transport {
			return &mcp.CommandTransport{Command: exec.CommandContext(ctx, p.everything)}
		}, 0
	}}
}

func (p programs) bridgeHTTP() way {
	return way{"bridge", func(ctx context.Context, t *testing.T) (func() mcp.Transport, int) {
		url, _ := p.upstream(ctx, t)
		return p.serveBridge(ctx, t, fmt.Sprintf(`{"servers":{"everything":{"url":%q}}}`, url))
	}}
}

func (p programs) bridgeStdio() way {
	return way{"bridge", func(ctx context.Context, t *testing.T) (func() mcp.Transport, int) {
		return p.serveBridge(ctx, t, fmt.Sprintf(`{"servers":{"everything":{"command":%q}}}`, p.everything))
	}}
}

func (p programs) serveBridge(ctx context.Context, t *testing.T, config string) (func() mcp.Transport, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	address := free(t)
	pid := start(ctx, t, address, p.bridge, "serve", "--http", address, "--config", file)
	return overHTTP(t, "http://"+address+"/u/local/mcp"), pid
}

func (p programs) mcpProxy() way {
	return way{"mcp-proxy 6.7.19", func(ctx context.Context, t *testing.T) (func() mcp.Transport, int) {
		host, port := split(t, free(t))
		pid := start(ctx, t, net.JoinHostPort(host, port), p.node, "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
			"--host", host, "--port", port, "--server", "stream", "--", p.everything)
		return overHTTP(t, "http://"+net.JoinHostPort(host, port)+"/mcp"), pid
	}}
}

func (p programs) supergateway() way {
	return way{"supergateway 4.0.0", func(ctx context.Context, t *testing.T) (func() mcp.Transport, int) {
		address := free(t)
		_, port := split(t, address)
		pid := start(ctx, t, address, p.node, "node_modules/supergateway/dist/index.js",
			"--stdio", p.everything, "--outputTransport", "streamableHttp", "--stateful", "--port", port, "--logLevel", "none")
		return overHTTP(t, "http://"+address+"/mcp"), pid
	}}
}

// upstream starts the server that is called, with sessions.
func (p programs) upstream(ctx context.Context, t *testing.T) (url string, pid int) {
	t.Helper()
	address := free(t)
	pid = start(ctx, t, address, p.everything, "-http", address, "-stateless=false")
	return "http://" + address, pid
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

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// resident returns the process's own resident memory in MB, without that of the
// servers that it runs, or "-" for none.
func resident(t *testing.T, pid int) string {
	t.Helper()
	if pid == 0 {
		return "-"
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	found := residentLine.FindSubmatch(status)
	if found == nil {
		t.Fatalf("the status of process %d has no VmRSS", pid)
	}
	kb, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatFloat(float64(kb)/1024, 'f', 1, 64)
}
