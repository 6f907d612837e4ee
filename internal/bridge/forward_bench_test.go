// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/message"
	"github.com/hostedbridge/hostedbridge/internal/bridge/upstream"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// BenchmarkForward calls a tool whose result is 4 KiB of text: past all that can
// be configured, with nothing configured, with everything but the cache, and
// with everything, where the answer is a kept one.
func BenchmarkForward(b *testing.B) {
	line := "a line of plain text, as tools write them, with some <b>markup</b>\n"
	result, err := json.Marshal(map[string]any{"content": []any{map[string]any{"type": "text", "text": strings.Repeat(line, 4096/len(line))}}})
	if err != nil {
		b.Fatal(err)
	}
	for name, configure := range map[string]func(*bridgeconfig.Server){
		"delivery alone": nil,
		"nothing":        func(*bridgeconfig.Server) {},
		"everything but the cache": func(s *bridgeconfig.Server) {
			s.Trust, s.MaxResultBytes, s.Retry = bridgeconfig.Sanitize, 3000, thrice
			s.Timeouts.Call = bridgeconfig.Duration(time.Minute)
		},
		"everything": func(s *bridgeconfig.Server) {
			s.Trust, s.MaxResultBytes, s.Retry, s.CacheTTL = bridgeconfig.Sanitize, 3000, thrice, anHour
			s.Timeouts.Call = bridgeconfig.Duration(time.Minute)
		},
	} {
		b.Run(name, func(b *testing.B) { benchmarkForward(b, string(result), configure) })
	}
}

func benchmarkForward(b *testing.B, result string, configure func(*bridgeconfig.Server)) {
	s := &script{annotations: readOnly, answer: same(result), counts: map[string]int{}}
	front := httptest.NewServer(s)
	defer front.Close()
	server := bridgeconfig.Server{Name: "one", URL: front.URL}
	forward := func(b *Bridge, ctx context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error) {
		return b.pipeline.Forward(ctx, q, u)
	}
	if configure == nil {
		forward = func(b *Bridge, ctx context.Context, q *message.Request, u *upstream.Server) (mcp.Result, error) {
			result, _, err := b.delivery.deliver(ctx, q, u)
			return result, err
		}
	} else {
		configure(&server)
	}
	c := bridgeconfig.Config{UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true}, Servers: []bridgeconfig.Server{server}}
	bridge := New(b.Context(), c, Options{Log: slog.New(slog.DiscardHandler)})
	defer bridge.Close()
	u := bridge.set.servers()[0]
	must.Value(u.Shared(b.Context()))(b)
	b.ReportAllocs()
	for b.Loop() {
		q := &message.Request{Method: methods.CallTool, Era: message.Modern, Params: &mcp.CallToolParamsRaw{Name: "t", Arguments: json.RawMessage(`{"a":1,"b":"x"}`)}}
		if _, err := forward(bridge, b.Context(), q, u); err != nil {
			b.Fatal(err)
		}
	}
}
