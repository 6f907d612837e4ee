#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# mcp-remote 0.15.1 begins two sessions at an MCP server over Streamable HTTP each time that it
# starts: one of its own, with its newest protocol version, before its client has said anything,
# and then that of its client. It never uses the first one again, and ends neither of them by
# DELETE: not when its client closes standard input, as clients over stdio do, and not at a signal.
# So a server has two sessions more for each start until they expire, and a limit of sessions for
# each user is reached after half as many starts as one would think.
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error mcp-remote@0.15.1 >/dev/null
cat >server.mjs <<'END'
import { createServer } from "node:http";
import { appendFileSync, writeFileSync } from "node:fs";

let sessions = 0;
createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  if (!request.url.startsWith("/mcp")) return response.writeHead(404).end();
  const given = request.headers["mcp-session-id"];
  if (request.method === "DELETE") appendFileSync("seen", `${given} is ended\n`);
  if (request.method !== "POST") return response.writeHead(request.method === "DELETE" ? 200 : 405).end();
  const { id, method, params } = JSON.parse(body);
  const session = given ?? `session-${++sessions}`;
  appendFileSync("seen", `${session} ${method}${method === "initialize" ? " " + params.protocolVersion : ""}\n`);
  if (id === undefined) return response.writeHead(202).end();
  response.setHeader("Content-Type", "application/json");
  if (!given) response.setHeader("Mcp-Session-Id", session);
  const introduction = { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "sessions", version: "1" } };
  response.end(JSON.stringify({ jsonrpc: "2.0", id, result: method === "initialize" ? introduction : { tools: [] } }));
}).listen(0, "127.0.0.1", function () { writeFileSync("port", String(this.address().port)); });
END
cat >client.mjs <<'END'
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [url, end] = process.argv.slice(2);
const remote = spawn("node_modules/.bin/mcp-remote", [url, "--allow-http", "--transport", "http-only"], { stdio: ["pipe", "pipe", "ignore"] });
const say = (message) => remote.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const answers = createInterface({ input: remote.stdout })[Symbol.asyncIterator]();
say({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "client", version: "1" } } });
await answers.next();
say({ method: "notifications/initialized" });
say({ id: 2, method: "tools/list", params: {} });
await answers.next();
if (end === "signal") remote.kill("SIGTERM");
else remote.stdin.end();
await new Promise((resolve) => remote.on("exit", resolve));
END
export HOME=$folder
node server.mjs &
server=$!
until [[ -s port ]]; do sleep 0.1; done
for end in input signal; do
    timeout 60 node client.mjs "http://127.0.0.1:$(cat port)/mcp" "$end"
done
cat seen
cmp seen - <<'END'
session-1 initialize 2025-11-25
session-1 notifications/initialized
session-2 initialize 2025-06-18
session-2 notifications/initialized
session-2 tools/list
session-3 initialize 2025-11-25
session-3 notifications/initialized
session-4 initialize 2025-06-18
session-4 notifications/initialized
session-4 tools/list
END
