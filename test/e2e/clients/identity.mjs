// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An identity provider, as a company has one: a certified OpenID provider that
// knows everybody who gives a name. A POST of /people?name=NAME with a JSON object adds
// its members to the claims of somebody's ID tokens, and {"closed":true} ends their
// account. Where no comment gives a reason, it does what oidc-provider does by default.
// Beside it is a GitHub, and lie the metadata documents of clients. Its settings are the
// JSON file that the first argument names:
//
//   issuer, port   where it is reached, and where it listens
//   tls            {cert, key}: files, for an https issuer
//   client         {id, secretFile, redirectURI}: who may ask it; with jwks, a set of public
//                  keys, in place of secretFile it proves who it is by a key, and every
//                  authorization request has to be pushed
//   gitHub         {path, client}: the GitHub, and who may ask that
//   documents      {path: document}: what it answers there besides
//   userInfo       true: claims are at UserInfo alone, as oidc-provider has it by default

import { readFileSync } from "node:fs";
import { createServer as http } from "node:http";
import { createServer as https } from "node:https";
import Provider from "oidc-provider";
import { gitHub } from "./github.mjs";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const secretOf = (client) => readFileSync(client.secretFile, "utf8").trim();

// What was posted of people, by their names.
const people = new Map();

const provider = new Provider(settings.issuer, {
  clients: [
    {
      client_id: settings.client.id,
      ...(settings.client.jwks
        ? { token_endpoint_auth_method: "private_key_jwt", jwks: settings.client.jwks }
        : { client_secret: secretOf(settings.client) }),
      redirect_uris: [settings.client.redirectURI],
      grant_types: ["authorization_code", "refresh_token"],
    },
  ],
  claims: { openid: ["sub", "groups", "_claim_names", "_claim_sources"], email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
  // As the big providers do, which put them into the ID token. By default UserInfo alone
  // has them.
  conformIdTokenClaims: settings.userInfo ?? false,
  cookies: { keys: [crypto.randomUUID()] },
  features: {
    devInteractions: { enabled: false },
    pushedAuthorizationRequests: { requirePushedAuthorizationRequests: !!settings.client.jwks },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, sub) =>
    people.get(sub)?.closed
      ? undefined
      : {
          accountId: sub,
          claims: () => ({ sub, name: sub, preferred_username: sub, email: `${sub}@example.com`, email_verified: true, ...people.get(sub) }),
        },
});

// The person of an interaction agrees to what is asked for: by logging in, and without a
// page if they are logged in. When a refresh token needs prompt=consent, and when it ends,
// is as the provider has it by default.
async function agree({ params, grantId }, accountId) {
  const grant = (grantId && (await provider.Grant.find(grantId))) ?? new provider.Grant({ clientId: params.client_id, accountId });
  grant.addOIDCScope(params.scope);
  return { grantId: await grant.save() };
}

const page = (title) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><main>
<h1>${title}</h1>
<form method="post">
<p><label for="name">Name</label> <input id="name" name="name" autocomplete="username" autofocus></p>
<p><button name="act" value="login">Log in</button> <button name="act" value="cancel">Cancel</button></p>
</form></main></body></html>`;

async function form(request) {
  let body = "";
  for await (const chunk of request) {
    body += chunk;
  }
  return new URLSearchParams(body);
}

const hub = settings.gitHub;
const askGitHub = hub && gitHub({ ...hub.client, secret: secretOf(hub.client) }, page, form);

provider.use(async (ctx, next) => {
  const document = settings.documents?.[ctx.path];
  if (document) {
    ctx.body = document;
    return;
  }
  if (ctx.path === "/people" && ctx.method === "POST") {
    let body = "";
    for await (const chunk of ctx.req) {
      body += chunk;
    }
    people.set(ctx.query.name, JSON.parse(body));
    ctx.body = "";
    return;
  }
  if (hub && ctx.path.startsWith(hub.path + "/")) {
    return askGitHub(ctx, ctx.path.slice(hub.path.length));
  }
  if (!ctx.path.startsWith("/interaction/")) {
    return next();
  }
  if (ctx.method !== "POST") {
    const details = await provider.interactionDetails(ctx.req, ctx.res);
    if (details.prompt.name === "consent") {
      const consent = await agree(details, details.session.accountId);
      return ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, { consent }, { mergeWithLastSubmission: true }));
    }
    ctx.type = "html";
    ctx.body = page("Identity provider");
    return;
  }
  const said = await form(ctx.req);
  const details = await provider.interactionDetails(ctx.req, ctx.res);
  const result =
    said.get("act") === "login"
      ? { login: { accountId: said.get("name") }, consent: await agree({ params: details.params }, said.get("name")) }
      : { error: "access_denied", error_description: "the person did not log in" };
  ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result));
});
for (const event of ["server_error", "authorization.error", "grant.error"]) {
  provider.on(event, (_, error) => console.error(event, error.error_detail ?? error));
}

const { tls } = settings;
const server = tls
  ? https({ cert: readFileSync(tls.cert), key: readFileSync(tls.key) }, provider.callback())
  : http(provider.callback());
server.listen(settings.port, () => console.log("listening"));
process.on("SIGTERM", () => process.exit(0));
