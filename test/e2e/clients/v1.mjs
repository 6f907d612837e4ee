// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The TypeScript SDK's first version, which knows sessions alone.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitationCompleteNotificationSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { login, sendTo } from "./login.mjs";
import { opensPages, run } from "./steps.mjs";

await run(async (asked, answer) => {
  const elicitation = opensPages(asked) ? { url: {} } : {};
  const client = new Client({ name: "e2e-v1", version: "1" }, { capabilities: { elicitation } });
  client.setRequestHandler(ElicitRequestSchema, answer);
  // What is between the client and the server logs the person in, where there is such a program.
  const provider = asked.login && asked.transport !== "stdio"
    ? await login(client, asked.login, (p) => transport(asked, p), (t, answer) => t.finishAuth(answer.get("code")))
    : await client.connect(transport(asked));
  return {
    provider,
    transport: client.transport,
    version: () => client.transport.protocolVersion ?? "",
    list: () => client.listTools(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, CallToolResultSchema, options),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
    onComplete: (then) =>
      client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => then(params.elicitationId)),
  };
});

function transport(asked, authProvider) {
  const requestInit = authProvider ? {} : { headers: { Authorization: "Bearer " + process.env.HB_KEY } };
  switch (asked.transport) {
    case "stdio": {
      const [command, ...args] = asked.command;
      const stdio = new StdioClientTransport({ command, args, env: process.env, stderr: asked.login ? "pipe" : "inherit" });
      stdio.stderr?.on("data", sendTo);
      return stdio;
    }
    case "sse":
      return new SSEClientTransport(new URL(asked.url), { authProvider, requestInit });
    default:
      return new StreamableHTTPClientTransport(new URL(asked.url), { authProvider, requestInit });
  }
}
