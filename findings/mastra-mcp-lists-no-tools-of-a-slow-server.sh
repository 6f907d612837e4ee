#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# @mastra/mcp 2.0.0 returns an empty list of tools, and throws nothing, if a server takes 4 s for
# its first answer, as one does that has to start first. listTools() gives up after 3 s, although
# the client's timeout is 60 s, and resolves to {}. A program that does not ask
# listToolsWithErrors() instead cannot tell that from a server without tools. @modelcontextprotocol/client 2.4.0 waits, and lists the tool of the same server.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @mastra/mcp@2.0.0 @modelcontextprotocol/client@2.4.0 >/dev/null
cat >list.mjs <<'END'
import { createServer } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import { MCPClient } from "@mastra/mcp";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const delay = Number(process.argv[2]);
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "tool", inputSchema: { type: "object" } }] }),
};
let first = true;
const server = createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (first) {
    first = false;
    await after(delay);
  }
  if (id === undefined) return response.writeHead(202).end();
  const said = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "Method not found" } };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.on("listening", listening));
const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);

const mastra = new MCPClient({ servers: { slow: { url } }, timeout: 60_000 });
let said;
try {
  said = "lists " + JSON.stringify(Object.keys(await mastra.listTools()));
} catch (error) {
  said = "throws " + error.message;
}
console.log(`first answer after ${delay} ms: Mastra ${said}`);
first = true;
const client = new Client({ name: "client", version: "1" });
await client.connect(new StreamableHTTPClientTransport(url));
console.log(`first answer after ${delay} ms: the TypeScript SDK lists ${JSON.stringify((await client.listTools()).tools.map((t) => t.name))}`);
process.exit();
END
for delay in 0 4000; do node list.mjs "$delay" 2>"errors.$delay"; done | grep '^first answer' | tee said
grep -qx 'first answer after 0 ms: Mastra lists \["slow_tool"\]' said
grep -qx 'first answer after 4000 ms: Mastra lists \[\]' said
grep -qx 'first answer after 4000 ms: the TypeScript SDK lists \["tool"\]' said
