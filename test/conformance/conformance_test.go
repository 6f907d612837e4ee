// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build conformance

// Package conformance runs the protocol's own conformance suite against a
// bridge before the SDK's conformance server. It needs npm and the npm
// registry: go test -tags conformance ./test/conformance
package conformance

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridge"
	"github.com/hostedbridge/hostedbridge/internal/bridge/config"
)

// The suite and the Node that it needs; Debian's is too old for it.
var packages = []string{"node@22.23.3", "@modelcontextprotocol/conformance@0.2.0-alpha.12"}

const everythingServer = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"

func TestSuite(t *testing.T) {
	tools := installSuite(t)
	server := filepath.Join(t.TempDir(), "everything-server")
	run(t, exec.CommandContext(t.Context(), "go", "build", "-o", server, everythingServer))
	tests := map[string]struct {
		stateless    string
		requirements string
	}{
		"sessions, 2025-11-25":    {"false", "2025-11-25"},
		"no sessions, 2026-07-28": {"true", "2026-07-28"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			upstream := startServer(t, server, "-stateless="+tt.stateless)
			b := bridge.New(t.Context(), config.Config{
				UserID:    "alice",
				BridgeUID: "conformance",
				Egress:    config.Egress{Unrestricted: true},
				Servers:   []config.Server{{Name: "everything", URL: "http://" + upstream}},
			}, bridge.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
			front := httptest.NewServer(localOnly(b.Handler()))
			t.Cleanup(func() {
				front.CloseClientConnections()
				b.Close()
				front.Close()
			})
			suite := exec.CommandContext(t.Context(), filepath.Join(tools, "node_modules/node/bin/node"),
				filepath.Join(tools, "node_modules/.bin/conformance"), "server",
				"--url", front.URL+"/u/alice/mcp", "--requirements", tt.requirements)
			run(t, suite)
		})
	}
}

// localOnly is the part of the ingress that the suite looks at: a foreign Host
// or Origin is refused.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, err := url.Parse(r.Header.Get("Origin"))
		if err != nil || !local(r.Host) || origin.Host != "" && !local(origin.Host) {
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// installSuite installs the packages, once for all runs, and returns where.
func installSuite(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("CONFORMANCE_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		dir = filepath.Join(cache, "hosted-bridge", "conformance")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules/.bin/conformance")); err == nil {
		return dir
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, exec.CommandContext(t.Context(), "npm", append([]string{"install", "--no-audit", "--no-fund", "--prefix", dir}, packages...)...))
	// Newer npm leaves out the step that fetches Node's program.
	run(t, exec.CommandContext(t.Context(), "npm", "rebuild", "--prefix", dir, "--ignore-scripts=false", "node"))
	return dir
}

// startServer starts the program on a free port and returns its address.
func startServer(t *testing.T, program string, args ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, append(args, "-http", address)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
	}
	t.Fatalf("%s did not listen on %s", program, address)
	return ""
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	t.Logf("%s\n%s", cmd, out)
	if err != nil {
		t.Fatalf("%s: %v", filepath.Base(cmd.Path), err)
	}
}
