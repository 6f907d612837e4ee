// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package ingress

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/pki"
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
	w.server.log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	b.ReportAllocs()
	for b.Loop() {
		call(b, w.client, "http://"+w.addr+"/u/alice/mcp", alice)
	}
}

// BenchmarkProxiedParallel is BenchmarkProxied by many clients at once.
func BenchmarkProxiedParallel(b *testing.B) {
	w, alice := oneUser(b, defaults(), echo)
	w.server.log = slog.New(slog.NewJSONHandler(io.Discard, nil))
	w.client.Transport.(*http.Transport).MaxIdleConnsPerHost = idlePerBridge
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
