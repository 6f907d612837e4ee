#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Two libraries give a model other things than the result of an MCP tool has.
# @ai-sdk/mcp 2.0.99 gives it the text of a result with isError like that of any other one, and
# nothing says that the call failed. Audio and embedded resources become their JSON as text, with
# all of the base64; an image is an image.
# @langchain/mcp-adapters 1.1.4 throws for isError, and keeps the text of an embedded resource from
# the model: it is in the artifact of the message alone, and the content is empty.
# So a server whose text is in embedded resources says nothing to agents of the second, and one
# with audio fills the context of the first.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @ai-sdk/mcp@2.0.99 @langchain/mcp-adapters@1.1.4 >/dev/null
cat >see.mjs <<'END'
import { createServer } from "node:http";
import { createMCPClient } from "@ai-sdk/mcp";
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const results = {
  error: { isError: true, content: [{ type: "text", text: "There is no such file." }] },
  embedded: { content: [{ type: "resource", resource: { uri: "file:///notes", text: "Buy milk." } }] },
  image: { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] },
  audio: { content: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }] },
};
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "results", version: "1" } }),
  "tools/list": () => ({ tools: Object.keys(results).map((name) => ({ name, inputSchema: { type: "object" } })) }),
  "tools/call": (p) => results[p.name],
};
const server = createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse(body);
  if (id === undefined) return response.writeHead(202).end();
  const said = answers[method] ? { result: answers[method](params) } : { error: { code: -32601, message: "Method not found" } };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}).listen(0, "127.0.0.1");
await new Promise((listening) => server.on("listening", listening));
const url = `http://127.0.0.1:${server.address().port}/mcp`;

const ai = await createMCPClient({ transport: { type: "http", url } });
for (const [name, tool] of Object.entries(await ai.tools())) {
  const output = await tool.execute({}, { messages: [], toolCallId: "1" });
  const { value } = await tool.toModelOutput({ toolCallId: "1", input: {}, output });
  console.log("AI SDK", name, JSON.stringify(value.map(({ type, text }) => (text ? { type, text } : { type }))));
}
await ai.close();

const chain = new MultiServerMCPClient({ mcpServers: { results: { transport: "http", url } } });
for (const tool of await chain.getTools()) {
  const call = { type: "tool_call", id: "1", name: tool.name, args: {} };
  const seen = await tool.invoke(call).catch((error) => ({ content: `throws: ${error.message.split("error: ").at(-1)}` }));
  const types = typeof seen.content === "string" ? seen.content : seen.content.map(({ type }) => type);
  console.log("LangChain", tool.name, JSON.stringify(types), JSON.stringify(seen.artifact?.map((a) => a.resource?.text) ?? []));
}
await chain.close();
server.close();
END
timeout 100 node see.mjs | tee seen
cmp seen - <<'END'
AI SDK error [{"type":"text","text":"There is no such file."}]
AI SDK embedded [{"type":"text","text":"{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///notes\",\"text\":\"Buy milk.\"}}"}]
AI SDK image [{"type":"file"}]
AI SDK audio [{"type":"text","text":"{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"audio/wav\"}"}]
LangChain error "throws: There is no such file." []
LangChain embedded [] ["Buy milk."]
LangChain image ["image_url"] []
LangChain audio ["audio"] []
END
