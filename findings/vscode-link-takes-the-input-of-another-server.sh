#!/usr/bin/env bash
# Copyright 2026 The hosted-bridge Authors.
# SPDX-License-Identifier: Apache-2.0
#
# A link vscode:mcp/install?{json} may have inputs, by which VS Code asks the person for the key of
# the server. VS Code adds an input to the person's mcp.json only if no input there has its id, and
# adds the server all the same. So of two servers whose links call their input "key", nobody is
# asked for the key of the second one, which is sent that of the first one. Nothing says so. An id
# of the server's own has no such effect. The code is that of VS Code as
# @codingame/monaco-vscode-mcp-service-override 36.2.7 has it; the file is in memory.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module", "dependencies": {"@codingame/monaco-vscode-mcp-service-override": "36.2.7"}}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null
cat >links.mjs <<'END'
import { URI } from "@codingame/monaco-vscode-api/vscode/vs/base/common/uri";
import { VSBuffer } from "@codingame/monaco-vscode-api/vscode/vs/base/common/buffer";
import { McpResourceScannerService } from "@codingame/monaco-vscode-mcp-service-override/vscode/vs/platform/mcp/common/mcpResourceScannerService";
import { McpWorkbenchService } from "@codingame/monaco-vscode-mcp-service-override/vscode/vs/workbench/contrib/mcp/browser/mcpWorkbenchService";

const link = (name, id) => "vscode:mcp/install?" + encodeURIComponent(JSON.stringify({
  name, type: "http", url: `http://127.0.0.1/${name}`, headers: { Authorization: "Bearer ${input:" + id + "}" },
  inputs: [{ type: "promptString", id, description: `Key of ${name}`, password: true }],
}));

let text = "{}";
const files = {
  readFile: async () => ({ value: VSBuffer.fromString(text) }),
  writeFile: async (_, content) => { text = content.toString(); },
};
const scanner = new McpResourceScannerService(files, {});
// What VS Code opens for a link: the page of the server, whose button installs it.
const workbench = Object.assign(Object.create(McpWorkbenchService.prototype), {
  mcpGalleryService: { isEnabled: () => false },
  instantiationService: { createInstance: (...made) => made.at(-1) },
  open(server) { this.opened = server; },
});
for (const each of [link("one", "key"), link("two", "key"), link("three", "key-of-three")]) {
  if (!(await workbench.handleURL(URI.parse(each)))) throw new Error("the link is not taken");
  await scanner.addMcpServers([workbench.opened], URI.file("/mcp.json"));
}
const { servers, inputs } = JSON.parse(text);
for (const [name, { headers }] of Object.entries(servers)) console.log(`${name}: ${headers.Authorization}`);
console.log(`asked for: ${inputs.map((i) => i.description).join(", ")}`);
END
seen=$(node links.mjs)
echo "$seen"
# shellcheck disable=SC2016
[[ $seen == 'one: Bearer ${input:key}
two: Bearer ${input:key}
three: Bearer ${input:key-of-three}
asked for: Key of one, Key of three' ]]
