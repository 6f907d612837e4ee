# shellcheck shell=bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What the user pastes. Sourced from the repository's root.

# The body of a tools/list in the protocol of 2026-07-28, which needs no
# session and so fits into one curl.
readonly list_tools='{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}'

# curl_snippet URL KEY
curl_snippet() {
    cat <<EOF
curl -sS '$1' \\
  -H 'Authorization: Bearer $2' \\
  -H 'Content-Type: application/json' \\
  -H 'Accept: application/json, text/event-stream' \\
  -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \\
  -d '$list_tools'
EOF
}

# snippets BASE_URL USER KEY  prints how MCP clients are pointed at the user's bridge.
snippets() {
    local url=$1/u/$2/mcp key=$3
    go run -buildvcs=false ./hack/up/snippets "$url" <<<"$key"
    cat <<EOF
curl

$(curl_snippet "$url" "$key")

$1/connect has the text for other clients, such as Codex, Gemini CLI,
Copilot CLI, opencode, Qwen Code and Cline.
EOF
}
