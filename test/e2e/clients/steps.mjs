// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What every client does, whatever SDK it is of: the steps, in the words that
// the tests compare. A client is a few functions over its SDK.

import { createInterface } from "node:readline";
import { send } from "./login.mjs";

const text = (result) => (result.content ?? []).map((c) => c.text ?? "").join("");

/**
 * progressed makes a call and returns the progress that came in with the call's
 * token. It is taken where messages enter the SDK, which forgets whom to tell of
 * progress once it has the answer: of what it reads in one go with that, nothing.
 */
async function progressed(transport, call) {
  const { send, onmessage } = transport;
  const seen = [];
  let token;
  transport.send = (message, options) => {
    token ??= message.params?._meta?.progressToken;
    return send.call(transport, message, options);
  };
  transport.onmessage = (message, extra) => {
    if (message.method === "notifications/progress" && message.params.progressToken === token) {
      seen.push(message.params.progress);
    }
    onmessage.call(transport, message, extra);
  };
  await call();
  Object.assign(transport, { send, onmessage });
  return seen;
}

let back;

/** goes sends the person to a page, and returns when they say that they were there. */
async function goes(url) {
  back ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  send(url);
  await back.next();
}

/** opensPages is what a client declares that can send its person to a page. */
export const opensPages = (asked) => asked.steps.includes("connect");

/**
 * connected makes a call for which the person has to connect an account first. In
 * the modern era the SDK asks for that, by the answer of run; in a session the
 * call fails, and its server says when it can be made again.
 */
async function connected(client, name) {
  const done = new Promise((resolve) => client.onComplete(resolve));
  try {
    return await client.call(name, {});
  } catch (error) {
    if (error.code !== -32042) {
      throw error;
    }
    const [{ url, elicitationId }] = error.data.elicitations;
    await goes(url);
    if ((await done) !== elicitationId) {
      throw new Error("something else was completed");
    }
  }
  return client.call(name, {});
}

/**
 * run does what the arguments ask for and prints one JSON object on stdout.
 * @param connect returns {provider, transport, list, call, prompt, read, version, close,
 *   onComplete}; provider is there after a login
 */
export async function run(connect) {
  const asked = JSON.parse(process.argv[2]);
  // What the person behind the client answers when a server asks.
  const client = await connect(asked, async ({ params }) => {
    if (params.mode !== "url") {
      return { action: "accept", content: asked.answer };
    }
    await goes(params.url);
    return { action: "accept" };
  });
  const said = { version: client.version() };
  const steps = {
    list: async () => (await client.list()).tools.map((t) => t.name),
    call: async () => text(await client.call("test_simple_text", {})),
    prompt: async () =>
      (await client.prompt("test_prompt_with_arguments", { arg1: "one", arg2: "two" })).messages[0].content.text,
    resource: async () => (await client.read("test://static-text")).contents[0].text,
    progress: () =>
      progressed(client.transport, () => client.call("test_tool_with_progress", {}, { onprogress: () => {} })),
    elicit: async () => text(await client.call(asked.elicit, asked.arguments)),
    connect: async () => text(await connected(client, asked.connect)),
    // The access token is no good any more, and the SDK gets another by itself.
    refresh: async () => {
      const { provider } = client;
      const before = provider.kept.refresh_token;
      provider.kept = { ...provider.kept, access_token: provider.kept.access_token + "x" };
      await client.call("test_simple_text", {});
      return provider.kept.refresh_token === before ? "the same" : "another";
    },
    // The call ends by its client's will, and the next ones are answered. SDKs do not wait until
    // the server has the notification, so the client must not leave before.
    cancel: async () => {
      const heard = async () => (await client.call(`${asked.slow}s`, {})).structuredContent.cancelled;
      const before = await heard();
      const abort = new AbortController();
      const call = client.call(asked.slow, {}, { signal: abort.signal, onprogress: () => abort.abort("enough") });
      let ended = "answered";
      try {
        await call;
      } catch {
        ended = abort.signal.aborted ? "cancelled" : "failed";
      }
      while (ended === "cancelled" && (await heard()) === before) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return ended;
    },
  };
  for (const name of asked.steps) {
    said[name] = await steps[name]();
  }
  await client.close();
  process.stdout.write(JSON.stringify(said) + "\n");
  process.exit(0);
}
