#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# @modelcontextprotocol/inspector 2.12.0 reads each --tool-arg NAME=VALUE of its CLI as JSON if
# that is possible, whatever type the tool's inputSchema has for the argument. A text of digits
# becomes a number, and one of 20 digits another number; "true" and "null" are no texts either.
# Quotes inside of the value keep it a text. mcporter 0.12.3 keeps digits for an argument of type
# string, and turns "true" and "null" too. So a server that checks its arguments refuses such a
# call, and one that does not looks for another account.
set -euo pipefail

folder=$(mktemp -d)
trap 'kill "${server:-}" 2>/dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
npm install --ignore-scripts --no-audit --no-fund --loglevel=error @modelcontextprotocol/inspector@2.12.0 mcporter@0.12.3 >/dev/null
cat >server.mjs <<'END'
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";

const find = { name: "find", description: "Finds an account.", inputSchema: { type: "object", properties: { account: { type: "string" } } } };
const answers = {
  initialize: (p) => ({ protocolVersion: p.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "accounts", version: "1" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [find] }),
  "tools/call": (p) => (writeFileSync("called", JSON.stringify(p.arguments)), { content: [{ type: "text", text: "found" }] }),
};
createServer(async (request, response) => {
  if (request.method !== "POST") return response.writeHead(405).end();
  const { id, method, params } = JSON.parse((await request.toArray()).join(""));
  if (id === undefined) return response.writeHead(202).end();
  const known = answers[method];
  const said = known ? { result: known(params) } : { error: { code: -32601, message: "Method not found" } };
  response.setHeader("Content-Type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", id, ...said }));
}).listen(0, "127.0.0.1", function () { writeFileSync("port", String(this.address().port)); });
END
node server.mjs &
server=$!
until [[ -s port ]]; do sleep 0.1; done
url=http://127.0.0.1:$(cat port)/mcp
export HOME=$folder

for value in 12345 12345678901234567890 true null '"12345"'; do
    rm -f called
    node_modules/.bin/mcp-inspector --cli "$url" --transport http --method tools/call --tool-name find --tool-arg "account=$value" >/dev/null
    echo "inspector account=$value sends $(cat called)"
    rm -f called
    node_modules/.bin/mcporter call --http-url "$url" --allow-http find "account=$value" >/dev/null
    echo "mcporter account=$value sends $(cat called)"
done | tee seen
cmp seen - <<'END'
inspector account=12345 sends {"account":12345}
mcporter account=12345 sends {"account":"12345"}
inspector account=12345678901234567890 sends {"account":12345678901234567000}
mcporter account=12345678901234567890 sends {"account":"12345678901234567890"}
inspector account=true sends {"account":true}
mcporter account=true sends {"account":true}
inspector account=null sends {"account":null}
mcporter account=null sends {"account":null}
inspector account="12345" sends {"account":"12345"}
mcporter account="12345" sends {"account":"\"12345\""}
END
