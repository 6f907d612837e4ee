#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The client of @modelcontextprotocol/sdk 1.32.2 cannot list the tools of a server of
# github.com/modelcontextprotocol/go-sdk v1.8.0 that has a tool with an argument of Go's type
# any. The Go SDK derives the schema true for it, which is a valid schema of JSON Schema
# 2020-12 and accepts everything. The TypeScript SDK wants an object for each property, and
# refuses the whole answer to tools/list: the other tools of the server are lost too, in every
# client that is built on it. @modelcontextprotocol/client 2.4.0 takes the same list.
set -euo pipefail

folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
cat >go.mod <<'END'
module example.com/server

go 1.26

require github.com/modelcontextprotocol/go-sdk v1.8.0
END
cat >main.go <<'END'
package main

import (
	"context"
	"log"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func add[In any](s *mcp.Server, name string) {
	mcp.AddTool(s, &mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
}

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "server", Version: "1"}, nil)
	add[struct {
		Text string `json:"text"`
	}](s, "plain")
	add[struct {
		Value any `json:"value"`
	}](s, "anything")
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
END
cat >list.mjs <<'END'
const v1 = process.argv[2] === "1";
const { Client } = await import(v1 ? "@modelcontextprotocol/sdk/client/index.js" : "@modelcontextprotocol/client");
const { StdioClientTransport } = await import(v1 ? "@modelcontextprotocol/sdk/client/stdio.js" : "@modelcontextprotocol/client/stdio");
const client = new Client({ name: "client", version: "1" });
await client.connect(new StdioClientTransport({ command: "./server" }));
try {
  const { tools } = await client.listTools();
  console.log("listed:", tools.map((t) => t.name + " " + JSON.stringify(t.inputSchema.properties)).sort().join(", "));
} catch (error) {
  console.log("refused:", error.message.replace(/\s+/g, " "));
}
await client.close();
END
GOFLAGS=-mod=mod go build -o server . 2>/dev/null
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 >/dev/null
for version in 1 2; do
    echo "version $version $(node list.mjs "$version")" | tee "said.$version"
done
grep -q '^version 1 refused: .*properties' said.1
grep -q '^version 2 listed: anything {"value":true}, plain ' said.2
