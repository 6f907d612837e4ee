// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What every client does, whatever SDK it is of: the steps, in the words that
// the tests compare. A client is a few functions over its SDK.

const text = (result) => (result.content ?? []).map((c) => c.text ?? "").join("");

/**
 * steps runs what the arguments ask for and prints one JSON object on stdout.
 * @param connect returns {list, call, prompt, read, version, close}
 */
export async function run(connect) {
  const asked = JSON.parse(process.argv[2]);
  // What the person behind the client answers when a server asks.
  const client = await connect(asked, () => ({ action: "accept", content: asked.answer }));
  const said = { version: client.version() };
  const steps = {
    list: async () => (await client.list()).tools.map((t) => t.name),
    call: async () => text(await client.call("test_simple_text", {})),
    prompt: async () =>
      (await client.prompt("test_prompt_with_arguments", { arg1: "one", arg2: "two" })).messages[0].content.text,
    resource: async () => (await client.read("test://static-text")).contents[0].text,
    progress: async () => {
      const seen = [];
      await client.call("test_tool_with_progress", {}, { onprogress: (p) => seen.push(p.progress) });
      return seen;
    },
    elicit: async () => text(await client.call(asked.elicit, asked.arguments)),
    // The call ends by its client's will, and the next one is answered.
    cancel: async () => {
      const abort = new AbortController();
      const call = client.call(asked.slow, {}, { signal: abort.signal, onprogress: () => abort.abort("enough") });
      let ended = "answered";
      try {
        await call;
      } catch {
        ended = abort.signal.aborted ? "cancelled" : "failed";
      }
      await client.list();
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
