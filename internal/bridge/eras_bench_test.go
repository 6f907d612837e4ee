// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/test/must"
)

// BenchmarkCall calls a tool over HTTP on loopback: the server itself, and
// through a bridge in each era. Client, bridge and server are one process, so
// the bytes are those of all three. Neither client nor server uses the SDK,
// and the server answers calls with an event stream, as most servers do.
func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(serveOneTool))
	b.Cleanup(server.Close)
	served := New(b.Context(), bridgeconfig.Config{
		UserID: "alice", BridgeUID: "uid-1", Egress: bridgeconfig.Egress{Unrestricted: true},
		Servers: []bridgeconfig.Server{{Name: "one", URL: server.URL}},
	}, Options{Log: slog.New(slog.DiscardHandler)})
	front := httptest.NewServer(served.Handler())
	b.Cleanup(func() {
		front.CloseClientConnections()
		served.Close()
		front.Close()
	})
	for _, way := range []struct{ name, url, version string }{
		{"direct", server.URL, "2025-11-25"},
		{"2025-11-25", front.URL + "/u/alice/mcp", "2025-11-25"},
		{"2026-07-28", front.URL + "/u/alice/mcp", "2026-07-28"},
	} {
		client := newRawClient(b, way.url, way.version)
		b.Run(way.name, func(b *testing.B) {
			measure(b, func() {
				for b.Loop() {
					client.call(b)
				}
			})
		})
		b.Run(way.name+", 8 clients", func(b *testing.B) {
			b.SetParallelism(4) // of two cores
			measure(b, func() {
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						client.call(b)
					}
				})
			})
		})
	}
}

// measure reports the CPU time of a call beside the others: what else the
// machine does is not in it.
func measure(b *testing.B, run func()) {
	b.Helper()
	b.ReportAllocs()
	before := cpuTime(b)
	run()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns what the process has used of the CPU.
func cpuTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	must.Succeed(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// rawClient is a client that writes its messages itself.
type rawClient struct {
	http   *http.Client
	url    string
	header http.Header
	params string
	ids    atomic.Int64
}

// newRawClient returns a client that is ready to call.
func newRawClient(b *testing.B, url, version string) *rawClient {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	b.Cleanup(transport.CloseIdleConnections)
	c := &rawClient{http: &http.Client{Transport: transport}, url: url, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {version},
	}}
	if version == "2025-11-25" {
		_, header := c.post(b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
		c.header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
		c.post(b, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		c.params = `{"name":"t","arguments":{"text":"hello"}}`
		return c
	}
	c.header.Set("Mcp-Method", "tools/call")
	c.header.Set("Mcp-Name", "t")
	c.params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},` +
		`"name":"t","arguments":{"text":"hello"}}`
	return c
}

// call makes one call and looks at its answer.
func (c *rawClient) call(b *testing.B) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, c.ids.Add(1), c.params)
	if answer, _ := c.post(b, body); !bytes.Contains(answer, []byte(`"hello from the tool"`)) {
		b.Errorf("the call was answered with %s", answer)
	}
}

// post sends a message and returns the answer.
func (c *rawClient) post(b *testing.B, body string) ([]byte, http.Header) {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, c.url, bytes.NewReader([]byte(body)))
	if err != nil {
		b.Error(err)
		return nil, nil
	}
	request.Header = c.header
	response, err := c.http.Do(request)
	if err != nil {
		b.Error(err)
		return nil, nil
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		b.Error(err)
	}
	return answer, response.Header
}

// serveOneTool is a server of 2025-11-25 with one tool, t.
func serveOneTool(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	result := `"result":{}`
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "one")
		result = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
	case "tools/list":
		result = `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	case "tools/call":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hello from the tool\"}]}}\n\n", m.ID)
		return
	case "server/discover":
		result = `"error":{"code":-32601,"message":"method not found"}`
	}
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, result)
}
