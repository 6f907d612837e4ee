#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A client of github.com/modelcontextprotocol/go-sdk v1.8.0 that wants to hear of changed lists of a
# server of 2026-07-28 opens one subscriptions/listen stream when it connects. When the server ends
# that stream, as when it restarts, the client neither opens another one nor says so: requests go on,
# Wait does not return, and no later change is heard. The GET stream of the versions before is opened
# again by the same client.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOFLAGS=-mod=mod GOTOOLCHAIN=auto
go mod init example.com/listen >/dev/null 2>&1
cat >main.go <<'END'
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const note = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":%q,\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}%s}}\n\n"

// main has a client hear of one change, and then waits for longer than a client waits before it opens a stream again.
func main() {
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		var streams, heard atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			_ = json.NewDecoder(r.Body).Decode(&m)
			result := ""
			switch {
			case m.Method == "subscriptions/listen" || r.Method == http.MethodGet:
				streams.Add(1)
				id := "1"
				w.Header().Set("Content-Type", "text/event-stream")
				if m.ID != nil {
					id = string(m.ID)
					fmt.Fprintf(w, note, "notifications/subscriptions/acknowledged", id, `,"notifications":{"toolsListChanged":true}`)
				}
				fmt.Fprintf(w, note, "notifications/tools/list_changed", id, "")
				return
			case m.Method == "server/discover" && version == "2026-07-28":
				result = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private"}`
			case m.Method == "initialize":
				result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}`
			case m.Method == "tools/list":
				result = `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[]}`
			case m.ID == nil:
				w.WriteHeader(http.StatusAccepted)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			if result == "" {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
				return
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		}))
		client := mcp.NewClient(&mcp.Implementation{Name: "client", Version: "1"}, &mcp.ClientOptions{
			ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard.Add(1) },
		})
		session, err := client.Connect(context.Background(), &mcp.StreamableClientTransport{Endpoint: server.URL}, nil)
		if err != nil {
			panic(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- session.Wait() }()
		time.Sleep(6 * time.Second)
		_, err = session.ListTools(context.Background(), nil)
		fmt.Printf("%s: more than one stream: %t, more than one change heard: %t, the session ended: %t, a request: %v\n",
			version, streams.Load() > 1, heard.Load() > 1, len(ended) > 0, err)
		server.CloseClientConnections()
	}
}
END
go get github.com/modelcontextprotocol/go-sdk@v1.8.0 >/dev/null 2>&1
seen=$(go run .)
echo "$seen"
[[ $seen == "2026-07-28: more than one stream: false, more than one change heard: false, the session ended: false, a request: <nil>
2025-11-25: more than one stream: true, more than one change heard: true, the session ended: false, a request: <nil>" ]]
