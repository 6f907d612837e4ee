#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A server over Streamable HTTP that does not know a session any more answers 404, and the Model
# Context Protocol of 2025-11-25 has the client begin another one. @ai-sdk/mcp 2.0.99,
# @langchain/mcp-adapters 1.1.4 and @modelcontextprotocol/client 2.4.0 do not: this call and all
# later ones fail until the program makes another client. @ai-sdk/mcp sends the later ones without
# a session, and says of them that the server does not support HTTP. mcp-remote 0.15.1 begins
# another session by itself and repeats the call. So a server that loses its sessions when it is
# started again loses the clients of running agents.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error \
    @ai-sdk/mcp@2.0.99 @langchain/mcp-adapters@1.1.4 @modelcontextprotocol/client@2.4.0 mcp-remote@0.15.1 >/dev/null
cat >lose.mjs <<'END'
import { createServer } from "node:http";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { createMCPClient } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const sessions = new Set();
let made = 0;
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "forgets", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: "tool", inputSchema: { type: "object" } }] }),
  "tools/call": () => ({ content: [{ type: "text", text: "done" }] }),
};
const server = createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  if (!request.url.startsWith("/mcp")) return response.writeHead(404).end();
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  response.setHeader("Content-Type", "application/json");
  if (method === "initialize") {
    sessions.add(`session-${++made}`);
    response.setHeader("Mcp-Session-Id", `session-${made}`);
  } else if (method !== "server/discover" && !sessions.has(request.headers["mcp-session-id"])) {
    return response.writeHead(404).end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }));
  }
  if (id === undefined) return response.writeHead(202).end();
  const said = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "Method not found" } };
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.on("listening", listening));
const url = `http://127.0.0.1:${server.address().port}/mcp`;

/** Each returns what calls the tool once, and what ends the client. */
const clients = {
  "@ai-sdk/mcp": async () => {
    const client = await createMCPClient({ transport: { type: "http", url } });
    const { tool } = await client.tools();
    return [() => tool.execute({}, { messages: [], toolCallId: "1" }), () => client.close()];
  },
  "@langchain/mcp-adapters": async () => {
    const client = new MultiServerMCPClient({ mcpServers: { forgets: { transport: "http", url } } });
    const [tool] = await client.getTools();
    return [() => tool.invoke({}), () => client.close()];
  },
  "@modelcontextprotocol/client": async () => {
    const client = new Client({ name: "client", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return [() => client.callTool({ name: "tool", arguments: {} }), () => client.close()];
  },
  "mcp-remote": async () => {
    const remote = spawn("node_modules/.bin/mcp-remote", [url, "--allow-http", "--transport", "http-only"], { stdio: ["pipe", "pipe", "ignore"] });
    const lines = createInterface({ input: remote.stdout })[Symbol.asyncIterator]();
    const ask = async (method, params) => {
      remote.stdin.write(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) + "\n");
      const { error } = JSON.parse((await lines.next()).value);
      if (error) throw new Error(error.message);
    };
    await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "client", version: "1" } });
    remote.stdin.write(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }) + "\n");
    return [() => ask("tools/call", { name: "tool", arguments: {} }), () => remote.stdin.end()];
  },
};
for (const [name, start] of Object.entries(clients)) {
  const [call, close] = await start();
  await call();
  sessions.clear();
  const before = made;
  for (const time of ["first", "second"]) {
    const said = await call().then(() => "works", (error) => (String(error).includes("does not support HTTP") ? "fails, since the server does not support HTTP" : "fails"));
    console.log(`${name}: the ${time} call after that ${said}`);
  }
  console.log(`${name}: sessions begun after that: ${made - before}`);
  await close();
}
server.close();
process.exit();
END
export HOME=$folder
timeout 100 node lose.mjs | tee seen
cmp seen - <<'END'
@ai-sdk/mcp: the first call after that fails
@ai-sdk/mcp: the second call after that fails, since the server does not support HTTP
@ai-sdk/mcp: sessions begun after that: 0
@langchain/mcp-adapters: the first call after that fails
@langchain/mcp-adapters: the second call after that fails
@langchain/mcp-adapters: sessions begun after that: 0
@modelcontextprotocol/client: the first call after that fails
@modelcontextprotocol/client: the second call after that fails
@modelcontextprotocol/client: sessions begun after that: 0
mcp-remote: the first call after that works
mcp-remote: the second call after that works
mcp-remote: sessions begun after that: 1
END
