// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// toolsOf returns what the bridge answers the ingress about its tools, one in a word each.
func (r *rig) toolsOf(t *testing.T) string {
	t.Helper()
	req := must.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(r.url, "/u/alice/mcp")+"/tools", nil))(t)
	res := must.Value(r.http.Do(req))(t)
	defer res.Body.Close()
	body := must.Value(io.ReadAll(res.Body))(t)
	l := must.Value(health.ReadTools(bytes.NewReader(body), health.ToolPage{Limit: health.MaxTools}))(t)
	var words []string
	for _, tool := range l.Tools {
		word := tool.Server + "/" + tool.Tool + "=" + tool.Name
		if tool.Denied {
			word += "!"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestABridgeSaysWhichToolsClientsSeeAndWhichAreDenied(t *testing.T) {
	t.Parallel()
	calls := make(chan string, 1)
	for name, tt := range map[string]struct {
		mode bridgeconfig.Mode
		both bool
		want string
	}{
		"one server":      {bridgeconfig.Direct, false, "one/a=a one/b=!"},
		"several servers": {bridgeconfig.Direct, true, "one/a=one_a two/legacy=two_legacy one/b=!"},
		"mode Router":     {bridgeconfig.Router, true, "one/a=a two/legacy=legacy one/b=!"},
	} {
		t.Run(name, func(t *testing.T) {
			one := served(t, "one", pagedServer(calls, "a", "b"), "modern")
			one.Tools = bridgeconfig.Tools{Deny: []string{"b"}}
			servers := []bridgeconfig.Server{one}
			if tt.both {
				servers = append(servers, served(t, "two", pagedServer(calls, "legacy"), "modern"))
			}
			r := newGuardedRig(t, bridgeconfig.Config{
				UserID: "alice", BridgeUID: "uid-1", Mode: tt.mode, Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: servers,
			})
			must.Value(r.connect(t, "modern", nil).ListTools(t.Context(), nil))(t)
			if got := r.toolsOf(t); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
