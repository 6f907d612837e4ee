// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// programs.mjs CLIENT  is what a program does that uses one of the libraries: it connects to
// HB_URL, lists the tools, and calls those that the stand-in at MODEL_URL names.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const url = process.env.HB_URL;
const headers = process.env.HB_KEY ? { Authorization: "Bearer " + process.env.HB_KEY } : {};

// textOf returns the text of a result, which libraries give in several forms.
function textOf(result) {
  if (result?.isError) throw new Error(result.content.map((c) => c.text).join(" "));
  return result?.content?.map?.((c) => c.text).join(" ") ?? String(result?.text ?? result);
}

const clients = {
  async "@modelcontextprotocol/sdk"() {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return sdk(new Client({ name: "program", version: "1" }), StreamableHTTPClientTransport);
  },
  async "@modelcontextprotocol/client"() {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    return sdk(new Client({ name: "program", version: "1" }), StreamableHTTPClientTransport);
  },
  async "@langchain/mcp-adapters"() {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ mcpServers: { hb: { transport: "http", url, headers } } });
    const tools = await client.getTools();
    return {
      names: tools.map((t) => t.name),
      call: async (name) => textOf(await tools.find((t) => t.name === name).invoke({})),
      close: () => client.close(),
    };
  },
  async "@mastra/mcp"() {
    const { MCPClient } = await import("@mastra/mcp");
    const client = new MCPClient({ servers: { hb: { url: new URL(url), requestInit: { headers } } } });
    const tools = await client.listTools();
    return {
      names: Object.keys(tools),
      call: async (name) => textOf(await tools[name].execute({}, {})),
      close: () => client.disconnect(),
    };
  },
  async "@ai-sdk/mcp"() {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    const tools = await client.tools();
    return {
      names: Object.keys(tools),
      call: async (name) => textOf(await tools[name].execute({}, { messages: [], toolCallId: "1" })),
      close: () => client.close(),
    };
  },
  // A command for each step, as its users type them.
  async mcporter() {
    const program = fileURLToPath(import.meta.resolve("mcporter/cli"));
    const run = async (...args) => {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, ...args]);
      process.stderr.write(stderr);
      return stdout;
    };
    const list = JSON.parse(await run("list", "hb", "--json"));
    if (!list.tools) throw new Error(list.error ?? JSON.stringify(list));
    return { names: list.tools.map((t) => t.name), call: (name) => run("call", "hb." + name), close() {} };
  },
};

async function sdk(client, Transport) {
  await client.connect(new Transport(new URL(url), { requestInit: { headers } }));
  const { tools } = await client.listTools();
  return {
    names: tools.map((t) => t.name),
    call: async (name) => textOf(await client.callTool({ name, arguments: {} })),
    close: () => client.close(),
  };
}

// ask returns what the stand-in says next.
async function ask(tools, results) {
  const body = JSON.stringify({ tools, results });
  const answer = await fetch(process.env.MODEL_URL + "/program", { method: "POST", body });
  return answer.json();
}

try {
  const client = await clients[process.argv[2]]();
  const results = [];
  let next = await ask(client.names, results);
  while (next.call) {
    results.push(await client.call(next.call));
    next = await ask(client.names, results);
  }
  console.log(next.text);
  await client.close();
} catch (error) {
  console.error(error.stdout || error.stderr || error.message);
  process.exitCode = 1;
}
