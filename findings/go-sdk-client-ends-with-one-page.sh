#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# One answer with the status 200 that is neither JSON nor an event stream, such as a page of a gateway,
# ends the session of a client of github.com/modelcontextprotocol/go-sdk v1.8.0: calls in flight still
# get their answers, each later call fails with "client is closing" and the page's media type, and the
# server keeps the session, since nobody tells it. The same page with the status 503 fails its own call
# alone.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOTOOLCHAIN=auto
go mod init example.com/page >/dev/null 2>&1
cat >main.go <<'END'
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	for _, status := range []int{200, 503} {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		release := make(chan struct{})
		mcp.AddTool(s, &mcp.Tool{Name: "slow"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			<-release
			return &mcp.CallToolResult{}, nil, nil
		})
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
		var deleted atomic.Bool
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			deleted.Store(deleted.Load() || r.Method == http.MethodDelete)
			if strings.Contains(string(body), `"page"`) { // A gateway answers for the server.
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(status)
				fmt.Fprint(w, "<p>Please wait.")
				return
			}
			handler.ServeHTTP(w, r)
		}))
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, nil)
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		if err != nil {
			panic(err)
		}
		slow := make(chan error, 1)
		go func() {
			_, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "slow"})
			slow <- err
		}()
		time.Sleep(time.Second)
		_, page := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "page"})
		time.Sleep(time.Second)
		_, later := session.ListTools(context.Background(), nil)
		told := deleted.Load()
		close(release)
		inFlight := <-slow
		fmt.Printf("%d: its own call fails: %t, one in flight fails: %t, a later one fails: %t, DELETE: %t\n", status, page != nil, inFlight != nil, later != nil, told)
		if later != nil {
			fmt.Println(later)
		}
		server.CloseClientConnections()
	}
}
END
go get github.com/modelcontextprotocol/go-sdk@v1.8.0 >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[[ $seen == "200: its own call fails: true, one in flight fails: false, a later one fails: true, DELETE: false
connection closed: calling \"tools/list\": client is closing: sending \"tools/call\": unsupported content type \"text/html\"
503: its own call fails: true, one in flight fails: false, a later one fails: false, DELETE: false" ]]
