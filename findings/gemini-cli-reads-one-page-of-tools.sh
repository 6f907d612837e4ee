#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# @google/gemini-cli 0.61.0 reads only the first page of tools/list. A server that answers with
# nextCursor, as the Model Context Protocol has it for long lists, is never asked for the rest,
# and its other tools are not offered to the model. Nothing says so. The client of
# @modelcontextprotocol/client 2.4.0 reads both pages of the same server. The model here is a
# stand-in, which says one word and notes the tools that it is offered.
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @google/gemini-cli@0.61.0 @modelcontextprotocol/client@2.4.0 >/dev/null
cat >server.mjs <<'END'
import { createServer } from "node:http";
import { appendFileSync, writeFileSync } from "node:fs";

const tool = (name) => ({ name, description: name, inputSchema: { type: "object" } });
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "pages", version: "1" } }),
  ping: () => ({}),
  "tools/list": (p) => (p?.cursor === "2" ? { tools: [tool("on_page_two")] } : { tools: [tool("on_page_one")], nextCursor: "2" }),
};
createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  if (request.url !== "/mcp") {
    const offered = (JSON.parse(body || "{}").tools ?? []).flatMap((t) => t.functionDeclarations ?? []);
    for (const { name } of offered) appendFileSync("offered", name + "\n");
    const answer = { candidates: [{ content: { role: "model", parts: [{ text: "Done." }] }, finishReason: "STOP" }] };
    const stream = request.url.includes("stream");
    response.setHeader("Content-Type", stream ? "text/event-stream" : "application/json");
    return response.end((stream ? "data: " : "") + JSON.stringify(answer) + "\n\n");
  }
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  if (method === "tools/list") appendFileSync("asked", `cursor ${params?.cursor ?? "none"}\n`);
  const known = answers[method];
  response.setHeader("Content-Type", "application/json");
  const said = known ? { result: known(params) } : { error: { code: -32601, message: "Method not found" } };
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}).listen(0, "127.0.0.1", function () { writeFileSync("port", String(this.address().port)); });
END
node server.mjs &
server=$!
until [[ -s port ]]; do sleep 0.1; done
url=http://127.0.0.1:$(cat port)
mkdir -p home/.gemini
cat >home/.gemini/settings.json <<END
{
  "general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
  "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": false}},
  "mcpServers": {"pages": {"httpUrl": "$url/mcp"}}
}
END
HOME=$folder/home GEMINI_API_KEY=none GOOGLE_GEMINI_BASE_URL=$url TERM=xterm-256color NO_COLOR=1 \
    timeout 100 node node_modules/@google/gemini-cli/bundle/gemini.js --prompt Hello --model gemini-2.5-pro --yolo 2>/dev/null
mv asked asked.gemini
cat >list.mjs <<'END'
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
const client = new Client({ name: "client", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
console.log((await client.listTools()).tools.map((t) => t.name).join(" "));
await client.close();
END
echo "Gemini CLI asked with: $(sort -u asked.gemini), and the model was offered: $(grep -o 'on_page_.*' offered | sort -u)"
echo "the TypeScript SDK lists: $(node list.mjs "$url/mcp")" | tee said
[[ $(sort -u asked.gemini) == "cursor none" ]]
[[ $(grep -o 'on_page_.*' offered | sort -u) == on_page_one ]]
grep -qx 'the TypeScript SDK lists: on_page_one on_page_two' said
