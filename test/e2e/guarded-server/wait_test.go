// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestACancelledCallIsCounted(t *testing.T) {
	url := serve(t, "the token")
	session := must.Value(connect(t, url, http.Header{"Authorization": {"Bearer the token"}}))(t)
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"})
		ended <- err
	}()
	expect := func(want waits) {
		t.Helper()
		wait.Until(t, "the counts are as expected", func() bool { return countsOf(t, session) == want })
	}
	expect(waits{Begun: 1})
	cancel()
	if err := <-ended; err == nil {
		t.Error("the cancelled call has an answer")
	}
	expect(waits{Begun: 1, Cancelled: 1})
}

func countsOf(t *testing.T, session *mcp.ClientSession) (w waits) {
	t.Helper()
	result := must.Value(session.CallTool(t.Context(), &mcp.CallToolParams{Name: "waits"}))(t)
	raw := must.Value(json.Marshal(result.StructuredContent))(t)
	must.Succeed(t, json.Unmarshal(raw, &w))
	return w
}
