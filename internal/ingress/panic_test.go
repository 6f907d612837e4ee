// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/route"
)

// brokenActivity panics with what it is told.
type brokenActivity struct{ Activity }

func (brokenActivity) Began(route.Backend, time.Time) { panic("canary") }

func TestAPanicIsAnInternalErrorAndNoMore(t *testing.T) {
	w, alice := oneUser(t, defaults(), servedBy("alice"))
	w.server.router.proxy.Activity = brokenActivity{w.activity}
	got := w.do(w.request("POST", "/u/alice/mcp", alice, toolCall))
	if want := `{"jsonrpc":"2.0","error":{"code":-32603,"message":"Internal error.","data":{"code":"internal"}}}`; got.status != http.StatusInternalServerError || got.body != want {
		t.Errorf("got %d %s, want 500 %s", got.status, got.body, want)
	}
	if log := w.logs.String(); !strings.Contains(log, `"msg":"panic"`) || !strings.Contains(log, "panic_test.go") || strings.Contains(log, "canary") {
		t.Errorf("the log does not tell the place, or tells the value:\n%s", log)
	}
}

func TestAPanicAfterTheFirstByteBreaksTheAnswerOff(t *testing.T) {
	w := newWorld(t, defaults())
	w.server.handler = http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, "half")
		_ = http.NewResponseController(rw).Flush()
		panic("broken")
	})
	server := w.server.HTTPServer()
	l := w.listen("127.0.0.1:0")
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	defer func() { _ = server.Close(); <-done }()
	w.addr = l.Addr().String()
	res, err := w.client.Do(w.request("GET", "/u/alice/mcp", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("read %q without an error", body)
	}
}
