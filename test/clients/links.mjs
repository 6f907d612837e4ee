// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// links.mjs LINK  prints the mcp.json that VS Code has after it followed a link and the person
// pressed Install. The code is VS Code's own; the file is in memory.

import { URI } from "@codingame/monaco-vscode-api/vscode/vs/base/common/uri";
import { VSBuffer } from "@codingame/monaco-vscode-api/vscode/vs/base/common/buffer";
import { McpResourceScannerService } from "@codingame/monaco-vscode-mcp-service-override/vscode/vs/platform/mcp/common/mcpResourceScannerService";
import { McpWorkbenchService } from "@codingame/monaco-vscode-mcp-service-override/vscode/vs/workbench/contrib/mcp/browser/mcpWorkbenchService";

let text = "{}";
const files = {
  readFile: async () => ({ value: VSBuffer.fromString(text) }),
  writeFile: async (_, content) => {
    text = content.toString();
  },
};
const workbench = Object.assign(Object.create(McpWorkbenchService.prototype), {
  mcpGalleryService: { isEnabled: () => false },
  instantiationService: { createInstance: (...made) => made.at(-1) },
  // The page of the server, which has the button.
  open(server) {
    this.opened = server;
  },
});
if (!(await workbench.handleURL(URI.parse(process.argv[2])))) {
  throw new Error("VS Code does not take the link");
}
await new McpResourceScannerService(files, {}).addMcpServers([workbench.opened], URI.file("/mcp.json"));
process.stdout.write(text);
