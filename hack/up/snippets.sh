# shellcheck shell=bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# What the user pastes. Sourced; needs nothing.

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

# snippets URL KEY  prints how MCP clients are pointed at the bridge.
snippets() {
    local url=$1 key=$2
    cat <<EOF
Claude Code

claude mcp add --transport http hosted-bridge $url --header "Authorization: Bearer $key"

VS Code, .vscode/mcp.json

{
  "servers": {
    "hosted-bridge": {
      "type": "http",
      "url": "$url",
      "headers": { "Authorization": "Bearer $key" }
    }
  }
}

Cursor, ~/.cursor/mcp.json

{
  "mcpServers": {
    "hosted-bridge": {
      "url": "$url",
      "headers": { "Authorization": "Bearer $key" }
    }
  }
}

curl

$(curl_snippet "$url" "$key")
EOF
}
