// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The TypeScript SDK's second version, which speaks both eras.

import { Client, SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { login } from "./login.mjs";
import { opensPages, run } from "./steps.mjs";

await run(async (asked, answer) => {
  const mode = asked.era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const elicitation = opensPages(asked) ? { url: {} } : { form: {} };
  const client = new Client(
    { name: "e2e-v2", version: "1" },
    { capabilities: { elicitation }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", answer);
  const Transport = asked.transport === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
  const transport = (authProvider) =>
    new Transport(new URL(asked.url), {
      authProvider,
      requestInit: authProvider ? {} : { headers: { Authorization: "Bearer " + process.env.HB_KEY } },
    });
  const provider = asked.login
    ? await login(client, asked.login, transport, (t, answer) => t.finishAuth(answer))
    : await client.connect(transport());
  return {
    provider,
    transport: client.transport,
    version: () => client.transport.protocolVersion ?? "",
    list: () => client.listTools(),
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    prompt: (name, args) => client.getPrompt({ name, arguments: args }),
    read: (uri) => client.readResource({ uri }),
    close: () => client.close(),
    onComplete: (then) =>
      client.setNotificationHandler("notifications/elicitation/complete", ({ params }) => then(params.elicitationId)),
  };
});
