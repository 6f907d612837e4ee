// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// npm's oidc-provider, set up to do as much of a login as it has: it asks who
// somebody is and whether they agree, on pages as short as they can be, and gives
// a signed access token for one resource and a refresh token that is replaced with
// each use. It keeps all in its own memory. Its settings are the first argument.

import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

const settings = JSON.parse(process.argv[2]);
const { default: Provider } = await import(settings.module);

const key = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" });
const scope = "mcp:read mcp:call";

const provider = new Provider(settings.issuer, {
  clients: [
    {
      client_id: settings.client,
      token_endpoint_auth_method: "none",
      application_type: "native",
      grant_types: ["authorization_code", "refresh_token"],
      redirect_uris: [settings.redirectURI],
      id_token_signed_response_alg: "ES256",
    },
  ],
  jwks: { keys: [{ ...key, kid: "1", alg: "ES256", use: "sig" }] },
  cookies: { keys: [crypto.randomUUID()] },
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope,
        audience: settings.resource,
        accessTokenTTL: 900,
        accessTokenFormat: "jwt",
        jwt: { sign: { alg: "ES256" } },
      }),
    },
  },
  ttl: { Interaction: 900, Session: 900, Grant: 2592000, IdToken: 900, RefreshToken: 1209600 },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  issueRefreshToken: () => true,
  rotateRefreshToken: () => true,
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
});

const page = (title, fields) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><main>
<h1>${title}</h1>
<form method="post">
${fields}
</form></main></body></html>`;

const pages = {
  login: page("Log in", `<label for="name">Name</label> <input id="name" name="name"> <button>Log in</button>`),
  consent: page("Let Program in?", `<button name="answer" value="allow">Allow</button> <button name="answer" value="deny">Deny</button>`),
};

async function form(request) {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
  }
  return new URLSearchParams(body);
}

async function agreed({ session, params }) {
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("openid");
  grant.addResourceScope(settings.resource, scope);
  return grant.save();
}

provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith("/interaction/")) {
    return next();
  }
  const details = await provider.interactionDetails(ctx.req, ctx.res);
  const { name } = details.prompt;
  if (ctx.method !== "POST") {
    ctx.type = "html";
    ctx.body = pages[name];
    return;
  }
  const said = await form(ctx.req);
  let result = { error: "access_denied" };
  if (name === "login") {
    result = { login: { accountId: said.get("name") } };
  } else if (said.get("answer") === "allow") {
    result = { consent: { grantId: await agreed(details) } };
  }
  ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result));
});
for (const event of ["server_error", "authorization.error", "grant.error"]) {
  provider.on(event, (_, error) => console.error(event, error.error_detail ?? error));
}

const [host, port] = settings.addr.split(":");
createServer(provider.callback()).listen(Number(port), host);
process.on("SIGINT", () => process.exit(0));
