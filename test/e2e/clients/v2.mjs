// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The TypeScript SDK's second version, which speaks both eras.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { run } from "./steps.mjs";

await run(async (asked, answer) => {
  const mode = asked.era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client(
    { name: "e2e-v2", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", answer);
  const headers = { Authorization: "Bearer " + process.env.HB_KEY };
  const Transport = asked.transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = new Transport(new URL(asked.url), { requestInit: { headers } });
  await client.connect(transport);
  return {
    transport,
    version: () => transport.protocolVersion ?? "",
    list: () => client.listTools(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
  };
});
