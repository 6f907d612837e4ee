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
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// conformanceTimeout bounds one run of the suite, which takes some seconds.
const conformanceTimeout = 3 * time.Minute

// The protocol's conformance suite in its two lines.
const (
	suite   = "@modelcontextprotocol/conformance/dist/index.js"
	suite01 = "conformance-0.1/dist/index.js"
)

// unscored begins the names of the scenarios of the tasks extension, which the
// SDK does not implement and the suite does not count.
const unscored = "tasks-"

// hasty is the scenario that gives the first events of a stream one second, which is too
// short where many processes start. A suite in which it alone failed runs once more.
const hasty = "server-stateless"

// failedScenario is how the suite sums up a scenario that failed.
var failedScenario = regexp.MustCompile(`✗ (\S+): `)

// TestConformance runs the protocol's conformance suite through ingress and
// bridge before the SDK's conformance server. No failure is expected: there is
// no list of expected ones.
func TestConformance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		tenant   string
		upstream int
		suite    string
		args     []string
	}{
		{"2025-11-25", "conforms-2025", 0, suite, []string{"--requirements", "2025-11-25"}},
		{"2026-07-28", "conforms-2026", 1, suite, []string{"--requirements", "2026-07-28"}},
		{"the line for versions up to 2025-11-25", "conforms-01", 0, suite01, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newTenantOf(t, tt.tenant, tt.upstream)
			args := append([]string{module(t, tt.suite), "server", "--url", withKey(t, n)}, tt.args...)
			failed, out := runSuite(t, args)
			if slices.Equal(failed, []string{hasty}) {
				failed, out = runSuite(t, args)
			}
			out = redact(out, n.key.secret)
			if !strings.Contains(out, "✓ tools-call-simple-text: ") {
				t.Errorf("the suite called no tool:\n%s", out)
			}
			if len(failed) > 0 {
				t.Errorf("scenarios %q failed:\n%s", failed, out)
			}
		})
	}
}

// runSuite returns the scored scenarios that failed, and what the suite wrote.
func runSuite(t *testing.T, args []string) (failed []string, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), conformanceTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeProgram(t), args...)
	cmd.Dir = t.TempDir()
	wrote, err := cmd.CombinedOutput()
	for _, match := range failedScenario.FindAllStringSubmatch(string(wrote), -1) {
		if !strings.HasPrefix(match[1], unscored) {
			failed = append(failed, match[1])
		}
	}
	if err != nil && len(failed) == 0 {
		failed = []string{err.Error()}
	}
	return failed, string(wrote)
}

// withKey returns a URL on the loopback that leads to the tenant's with the key:
// the suite cannot send one. Everything else passes as it is, so that the Host
// and the Origin that the suite tries are those that the ingress sees.
func withKey(t *testing.T, n tenant) string {
	t.Helper()
	target := must.Value(url.Parse(installed.url))(t)
	transport := &http.Transport{}
	forward := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+n.key.secret)
		},
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// An answer may begin before the proxy has found that the request is over.
		// Without this, net/http then ends both.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return proxy.URL + "/u/" + n.name + "/mcp"
}
