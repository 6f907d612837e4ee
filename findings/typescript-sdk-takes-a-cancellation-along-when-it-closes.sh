#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A program that cancels a call and then closes its client never tells the server, with
# @modelcontextprotocol/sdk 1.32.2 and @modelcontextprotocol/client 2.4.0 (sessions over Streamable
# HTTP): the call rejects before notifications/cancelled is sent, nothing returns a promise for the
# notification, and close() aborts its request. So the tool goes on, for a minute here. If the
# program makes another request before it closes, the server is told.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0 >/dev/null
cat >cancel.mjs <<'END'
import { createServer } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";

const [, , name, then] = process.argv;
const [Client, Transport] = name === "sdk" ? [Client1, Transport1] : [Client2, Transport2];
const answers = {
  initialize: () => ({ protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "slow", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "work", inputSchema: { type: "object" } }] }),
  "tools/call": () => after(60_000, {}, { ref: false }),
};
const heard = [];
let called;
const begun = new Promise((resolve) => (called = resolve));
const server = createServer(async (request, response) => {
  const body = (await request.toArray().catch(() => [])).join("");
  if (request.method !== "POST" || !body) return response.writeHead(405).end();
  const { id, method } = JSON.parse(body);
  heard.push(method);
  if (method === "tools/call") called();
  if (id === undefined) return response.writeHead(202).end();
  const result = answers[method] ? { result: await answers[method]() } : { error: { code: -32601, message: "Method not found" } };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...result }));
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.on("listening", listening));

const client = new Client({ name: "client", version: "1" });
await client.connect(new Transport(new URL(`http://127.0.0.1:${server.address().port}/mcp`)));
const abort = new AbortController();
const options = { signal: abort.signal };
const call = name === "sdk" ? client.callTool({ name: "work" }, undefined, options) : client.callTool({ name: "work" }, options);
await begun;
abort.abort("enough");
await call.catch(() => {});
if (then === "list") await client.listTools();
await client.close();
await after(2000);
console.log(`${name}, ${then}: the server is told: ${heard.includes("notifications/cancelled")}`);
process.exit();
END
for name in sdk client; do
    for next in close list; do node cancel.mjs "$name" "$next"; done
done | tee said
for name in sdk client; do
    grep -qx "$name, close: the server is told: false" said
    grep -qx "$name, list: the server is told: true" said
done
