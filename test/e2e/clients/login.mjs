// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a client of either version logs in: it says on stdout where its person has
// to go, and waits on the loopback until they are sent back.

import { once } from "node:events";
import { createServer } from "node:http";

/**
 * login connects the client over what transport(provider) makes. The person is
 * asked for once.
 * @param asked {client, document}: an id that the server knows, or the URL of a
 *   metadata document; with neither the client registers itself
 * @param finish tells a transport what the person came back with
 */
export async function login(client, asked, transport, finish) {
  const back = createServer();
  back.listen(0, "127.0.0.1");
  await once(back, "listening");
  const provider = new Provider(asked, `http://127.0.0.1:${back.address().port}/callback`);
  const first = transport(provider);
  try {
    await client.connect(first);
    throw new Error("no login was asked for");
  } catch (error) {
    if (error.constructor.name !== "UnauthorizedError") {
      throw error;
    }
  }
  const [request, response] = await once(back, "request");
  response.setHeader("Content-Type", "text/html");
  response.end("<!doctype html><html lang=en><title>Back</title><h1>Back at the client</h1></html>");
  const answer = new URL(request.url, provider.redirectUrl).searchParams;
  if (answer.get("state") !== provider.sent) {
    throw new Error("another state came back");
  }
  if (answer.has("error")) {
    throw new Error(`refused: ${answer.get("error")}`);
  }
  await finish(first, answer);
  back.close();
  await client.close();
  await client.connect(transport(provider));
  return provider;
}

/** What a client keeps of a login. */
class Provider {
  constructor(asked, redirectUrl) {
    this.redirectUrl = redirectUrl;
    this.clientMetadataUrl = asked.document;
    this.registered = asked.client && { client_id: asked.client };
    this.clientMetadata = {
      client_name: "Outside client",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state() {
    return (this.sent = crypto.randomUUID());
  }
  clientInformation() {
    return this.registered;
  }
  saveClientInformation(registered) {
    this.registered = registered;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens) {
    this.kept = tokens;
  }
  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }
  codeVerifier() {
    return this.verifier;
  }
  saveDiscoveryState(state) {
    this.discovered = state;
  }
  discoveryState() {
    return this.discovered;
  }
  redirectToAuthorization(url) {
    send(url.href);
  }
}

/** send says where the person has to go. */
export const send = (go) => process.stdout.write(JSON.stringify({ go }) + "\n");

let said = "";

/** sendTo looks for where to go in what a program says to its person, once. */
export function sendTo(more) {
  process.stderr.write(more);
  if (said !== undefined) {
    said += more;
    const address = /https?:\S+\/oauth\/authorize\?\S+(?=\s)/.exec(said);
    if (address) {
      send(address[0]);
      said = undefined;
    }
  }
}
