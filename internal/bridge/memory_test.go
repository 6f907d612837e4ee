// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hostedbridge/hostedbridge/internal/bridge/budget"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// newSmallRig starts a bridge that has budget.Floor for messages, for which they wait.
func newSmallRig(t *testing.T, wait time.Duration, servers ...bridgeconfig.Server) *rig {
	t.Helper()
	return newPolicyRig(t, Options{timing: &fast, runs: runMemory, Memory: budget.Reserve, patience: wait}, bridgeconfig.Config{Servers: servers})
}

// outcome is the answer to a call in its form on the wire.
type outcome struct {
	ID     json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Message string
		Data    struct {
			Code              string
			RetryAfterSeconds int
		}
	}
}

// callOf calls a tool with an argument of size bytes.
func (r *rig) callOf(ctx context.Context, tool string, size int) (outcome, error) {
	body := modernBody(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":{"x":%q},`, tool, strings.Repeat("x", size)))
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		return outcome{}, err
	}
	for key, value := range modernHeader("tools/call", tool) {
		q.Header.Set(key, value)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := r.http.Do(q)
	if err != nil {
		return outcome{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return outcome{}, err
	}
	var got outcome
	b = b[bytes.LastIndex(b, []byte("data: "))+1:]
	return got, json.Unmarshal(bytes.TrimPrefix(b, []byte("ata: ")), &got)
}

// expectBusy reports an answer other than that there is no memory.
func expectBusy(t *testing.T, got outcome, err error) {
	t.Helper()
	if err != nil || got.Error == nil || got.Error.Data.Code != "bridge_busy" || got.Error.Data.RetryAfterSeconds <= 0 || string(got.ID) != "7" {
		t.Errorf("the answer is %+v with error %+v, %v, want bridge_busy", got, got.Error, err)
	}
}

// newScript returns the URL of a server that answers calls of its tool t with f.
func newScript(t *testing.T, f func(w http.ResponseWriter, m sentMessage)) string {
	t.Helper()
	server := httptest.NewServer(&script{annotations: "{}", counts: map[string]int{}, answer: func(w http.ResponseWriter, _ *http.Request, m sentMessage, _ int) string {
		f(w, m)
		return ""
	}})
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// writeAnswer writes an answer of size bytes, or only its first half.
func writeAnswer(w http.ResponseWriter, m sentMessage, size int, half bool) {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, m.ID, strings.Repeat("x", size))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", fmt.Sprint(len(b)))
	if half {
		b = b[:len(b)/2]
	}
	_, _ = w.Write(b)
	_ = http.NewResponseController(w).Flush()
}

func TestARequestThatFindsNoMemoryIsRefused(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	slow := newScript(t, func(w http.ResponseWriter, m sentMessage) {
		close(began)
		<-release
		writeAnswer(w, m, 10, false)
	})
	quick := newScript(t, func(w http.ResponseWriter, m sentMessage) { writeAnswer(w, m, 10, false) })
	r := newSmallRig(t, 50*time.Millisecond, bridgeconfig.Server{Name: "slow", URL: slow}, bridgeconfig.Server{Name: "quick", URL: quick})
	first := make(chan outcome, 1)
	go func() {
		got, err := r.callOf(t.Context(), "slow_t", 1<<20)
		if err != nil {
			t.Error(err)
		}
		first <- got
	}()
	<-began
	got, err := r.callOf(t.Context(), "quick_t", 1<<20)
	expectBusy(t, got, err)
	if got, err := r.callOf(t.Context(), "quick_t", 100); err != nil || got.Error != nil {
		t.Errorf("a small call fails meanwhile: %+v, %v", got.Error, err)
	}
	close(release)
	if got := <-first; got.Error != nil {
		t.Errorf("the call that had the memory fails: %+v", got.Error)
	}
	// A request ends after its client has the answer.
	free := func() bool { return r.bridge.memory.Used() == 0 }
	wait.Until(t, "no memory is in use", free)
	if got, err := r.callOf(t.Context(), "quick_t", 1<<20); err != nil || got.Error != nil {
		t.Errorf("a large call fails afterwards: %+v, %v", got.Error, err)
	}
	wait.Until(t, "no memory is in use afterwards", free)
}

// TestAServerThatStopsInALargeAnswerGivesWay lets a server keep the memory of an answer, and asks
// another one for an answer that needs it.
func TestAServerThatStopsInALargeAnswerGivesWay(t *testing.T) {
	t.Parallel()
	stopped, release := make(chan struct{}), make(chan struct{})
	hangs := newScript(t, func(w http.ResponseWriter, m sentMessage) {
		writeAnswer(w, m, 2<<20, true)
		close(stopped)
		<-release
	})
	defer close(release)
	quick := newScript(t, func(w http.ResponseWriter, m sentMessage) { writeAnswer(w, m, 2<<20, false) })
	r := newSmallRig(t, 10*time.Second, bridgeconfig.Server{Name: "hangs", URL: hangs}, bridgeconfig.Server{Name: "quick", URL: quick})
	first := make(chan struct{})
	go func() {
		defer close(first)
		got, err := r.callOf(t.Context(), "hangs_t", 10)
		expectBusy(t, got, err)
	}()
	<-stopped
	got, err := r.callOf(t.Context(), "quick_t", 10)
	if err != nil || got.Error != nil || len(got.Result) < 2<<20 {
		t.Errorf("the answer of the other server is lost: %+v, %v", got.Error, err)
	}
	<-first
}

func TestAServerThatSaysTooMuchOfItselfIsOutOfService(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		server func() *mcp.Server
		want   string
	}{
		"instructions": {func() *mcp.Server {
			return mcp.NewServer(&mcp.Implementation{Name: "much", Version: "1"}, &mcp.ServerOptions{Instructions: strings.Repeat("x", 2<<20)})
		}, "introduces itself with more than 1 MiB"},
		"resources": {func() *mcp.Server {
			s := mcp.NewServer(&mcp.Implementation{Name: "much", Version: "1"}, nil)
			for i := range 5001 {
				s.AddResource(&mcp.Resource{Name: "r", URI: fmt.Sprintf("file:///%d", i)}, nil)
			}
			return s
		}, "at most 5000 resources"},
		"bytes of tools": {func() *mcp.Server {
			s := mcp.NewServer(&mcp.Implementation{Name: "much", Version: "1"}, nil)
			for i := range 50 {
				s.AddTool(&mcp.Tool{Name: fmt.Sprint("t", i), Description: strings.Repeat("x", 100<<10), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			}
			return s
		}, "tools of 4 MiB in total"},
	}
	for name, tt := range tests {
		for _, kind := range kinds {
			t.Run(name+" over "+string(kind), func(t *testing.T) {
				t.Parallel()
				good := serveMCP(t, echoServer("good"), "legacy")
				t.Cleanup(good.Close)
				r := newRig(t, fast, serveOver(t, kind, tt.server(), "legacy"), bridgeconfig.Server{Name: "good", URL: good.URL})
				if got, err := r.callOf(t.Context(), "good_echo", 10); err != nil || got.Error != nil {
					t.Errorf("the other server does not answer: %+v, %v", got.Error, err)
				}
				wait.Until(t, "the server is out of service because of "+tt.want, func() bool {
					return strings.Contains(r.bridge.Health().Servers["one"].Error, tt.want)
				})
			})
		}
	}
}
