// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	"github.com/hostedbridge/hostedbridge/internal/ingress/bridgeclient"
	"github.com/hostedbridge/hostedbridge/internal/ingress/h1"
	"github.com/hostedbridge/hostedbridge/internal/mcp/methods"
	"github.com/hostedbridge/hostedbridge/internal/pki"
	"github.com/hostedbridge/hostedbridge/internal/route"
)

// echo is a bridge that does nothing, so that what is measured is the way.
func echo(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(body)
}

// call makes one call and reads its answer.
func call(b *testing.B, client *http.Client, url, key string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(toolCall))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != toolCall {
		b.Fatalf("%d %s %v", res.StatusCode, body, err)
	}
}

// BenchmarkProxied is a call through the ingress; BenchmarkDirect is the same
// call over the second half of that way alone.
func BenchmarkProxied(b *testing.B) {
	w, alice := oneUser(b, defaults(), echo)
	w.server.observer.log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	b.ReportAllocs()
	for b.Loop() {
		call(b, w.client, "http://"+w.addr+"/u/alice/mcp", alice)
	}
}

// BenchmarkProxiedParallel is BenchmarkProxied by many clients at once.
func BenchmarkProxiedParallel(b *testing.B) {
	w, alice := oneUser(b, defaults(), echo)
	w.server.observer.log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	w.client.Transport.(*http.Transport).MaxIdleConnsPerHost = bridgeclient.IdlePerBridge
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			call(b, w.client, "http://"+w.addr+"/u/alice/mcp", alice)
		}
	})
}

func BenchmarkDirect(b *testing.B) {
	w, alice := oneUser(b, defaults(), echo)
	transport := &http.Transport{TLSClientConfig: w.ClientTLS(pki.BridgeURI("uid-alice"))}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := "https://" + w.listeners[hosts[0]].Addr().String() + "/u/alice/mcp"
	b.ReportAllocs()
	for b.Loop() {
		call(b, client, url, alice)
	}
}

// chained is an audit trail that goes nowhere.
type chained struct {
	mu   sync.Mutex
	head audit.Head
	buf  []byte
}

// Write implements AuditTrail.
func (c *chained) Write(e audit.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buf = c.head.Append(c.buf[:0], e)
	return nil
}

// still is a way to bridges that answer without a connection, and tell of the
// call as bridges do.
type still struct{ trailer http.Header }

func (still) Address(route.Backend) string { return "127.0.0.2:8443" }

func (s still) Send(_ context.Context, _ route.Backend, r h1.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(r.Body)),
		Body: io.NopCloser(bytes.NewReader(r.Body)), Trailer: s.trailer,
	}, nil
}

// unread is an http.ResponseWriter whose client takes everything.
type unread struct{ header http.Header }

func (u unread) Header() http.Header               { return u.header }
func (unread) Write(b []byte) (int, error)         { return len(b), nil }
func (unread) WriteHeader(int)                     {}
func (unread) Flush()                              {}
func (unread) SetReadDeadline(time.Time) error     { return nil }
func (unread) SetWriteDeadline(time.Time) error    { return nil }
func (unread) EnableFullDuplex() error             { return nil }
func (u unread) WriteString(s string) (int, error) { return len(s), nil }

// BenchmarkServed is what the ingress itself does for a call: without a server
// before it and a connection behind it.
func BenchmarkServed(b *testing.B) {
	w := newWorldWith(b, defaults(), func(d *Deps) { d.Audit = &chained{head: audit.NewChain("bench")} })
	alice := w.addUser("alice")
	w.serveBridge(hosts[0], "uid-alice", echo)
	w.setPod("alice", "alice-1", hosts[0])
	w.server.observer.log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	told := audit.EncodeTrailer([]audit.Call{{
		ID: "c1", Server: "files", Tool: "echo", Method: methods.CallTool, ParamKeys: []string{"message"}, Status: audit.Success,
		LatencyMS: 3, BytesIn: 20, BytesOut: 120, ProtocolVersion: "2025-11-25",
	}})
	for name, trailer := range map[string]http.Header{"told": {audit.TrailerName: {told}}, "silent": nil} {
		b.Run(name, func(b *testing.B) {
			w.server.router.proxy.Bridges = still{trailer}
			r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/u/alice/mcp", nil)
			r.Header = http.Header{
				"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Authorization": {"Bearer " + alice},
				"Mcp-Protocol-Version": {"2025-11-25"}, "Mcp-Session-Id": {"b59a1c32-9f4e-4a60-8f0b-0d1fdd5b1a5c"}, "User-Agent": {"bench/1.0"},
			}
			r.ContentLength = int64(len(toolCall))
			b.ReportAllocs()
			for b.Loop() {
				again := *r
				again.Body = io.NopCloser(strings.NewReader(toolCall))
				w.server.ServeHTTP(unread{make(http.Header, 8)}, &again)
			}
		})
	}
}
