// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/test/wait"
)

func TestACancelledCallIsCounted(t *testing.T) {
	url := serve(t, "the token")
	session, err := connect(t, url, http.Header{"Authorization": {"Bearer the token"}})
	if err != nil {
		t.Fatal(err)
	}
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
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "waits"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	return w
}
