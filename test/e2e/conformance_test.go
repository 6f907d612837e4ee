// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// conformanceTimeout bounds one run of the suite, which takes some seconds.
const conformanceTimeout = 3 * time.Minute

// The protocol's conformance suite in its two lines.
const (
	suite   = "@modelcontextprotocol/conformance/dist/index.js"
	suite01 = "conformance-0.1/dist/index.js"
)

// TestConformance runs the protocol's conformance suite through ingress and
// bridge before the SDK's conformance server. No failure is expected: the list
// of expected ones is empty. The suite does not count the tasks extension's
// scenarios, which the SDK does not implement.
func TestConformance(t *testing.T) {
	tests := []struct {
		name     string
		upstream int
		suite    string
		args     []string
	}{
		{"2025-11-25", 0, suite, []string{"--requirements", "2025-11-25"}},
		{"2026-07-28", 1, suite, []string{"--requirements", "2026-07-28"}},
		{"the line for versions up to 2025-11-25", 0, suite01, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newTenantOf(t, "conforms-"+tt.name[:4], tt.upstream)
			expected := filepath.Join(t.TempDir(), "expected-failures.yaml")
			if err := os.WriteFile(expected, []byte("server: []\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), conformanceTimeout)
			defer cancel()
			args := append([]string{module(t, tt.suite), "server", "--url", withKey(t, n), "--expected-failures", expected}, tt.args...)
			cmd := exec.CommandContext(ctx, nodeProgram(t), args...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v:\n%s", err, redact(string(out), n.key.secret))
			}
		})
	}
}

// withKey returns a URL on the loopback that leads to the tenant's with the key:
// the suite cannot send one. Everything else passes as it is, so that the Host
// and the Origin that the suite tries are those that the ingress sees.
func withKey(t *testing.T, n tenant) string {
	t.Helper()
	target, err := url.Parse(installed.url)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+n.key.secret)
		},
	})
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return proxy.URL + "/u/" + n.name + "/mcp"
}
