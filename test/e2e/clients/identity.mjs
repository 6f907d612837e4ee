// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An identity provider, as a company has one: a certified OpenID provider that
// knows everybody who gives a name. A POST of /people?name=NAME with a JSON object adds
// its members to the claims of somebody's ID tokens, and {"closed":true} ends their
// account. Beside it is a GitHub, and lie the metadata documents of clients. Its settings
// are the JSON file that the first argument names:
//
//   issuer, port   where it is reached, and where it listens
//   tls            {cert, key}: files, for an https issuer
//   client         {id, secretFile, redirectURI}: who may ask it
//   gitHub         {path, client}: the GitHub, and who may ask that
//   documents      {path: document}: what it answers there besides

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
      client_secret: secretOf(settings.client),
      redirect_uris: [settings.client.redirectURI],
      grant_types: ["authorization_code", "refresh_token"],
    },
  ],
  claims: { openid: ["sub", "groups", "_claim_names", "_claim_sources"], email: ["email", "email_verified"], profile: ["name", "preferred_username"] },
  // As the big providers do, which put them into the ID token.
  conformIdTokenClaims: false,
  cookies: { keys: [crypto.randomUUID()] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, sub) =>
    people.get(sub)?.closed
      ? undefined
      : {
          accountId: sub,
          claims: () => ({ sub, name: sub, preferred_username: sub, email: `${sub}@example.com`, email_verified: true, ...people.get(sub) }),
        },
  scopes: ["openid", "offline_access"],
  // As most providers do, which do not have people consent again for it.
  issueRefreshToken: () => true,
  // A later login of the same browser does not end it either.
  expiresWithSession: () => false,
  // Who logs in agrees: what is asked for here is hosted-bridge's own business.
  loadExistingGrant: async (ctx) => {
    const grant = new provider.Grant({ clientId: ctx.oidc.client.clientId, accountId: ctx.oidc.session.accountId });
    grant.addOIDCScope("openid email profile offline_access");
    await grant.save();
    return grant;
  },
});

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
    await provider.interactionDetails(ctx.req, ctx.res);
    ctx.type = "html";
    ctx.body = page("Identity provider");
    return;
  }
  const said = await form(ctx.req);
  const result =
    said.get("act") === "login"
      ? { login: { accountId: said.get("name") } }
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
