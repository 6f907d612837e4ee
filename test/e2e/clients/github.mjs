// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A GitHub, as far as people log in with it, at a path of the identity provider:
// its web application flow and its API's own account, as docs.github.com has them
// (Authorizing OAuth apps, REST API for users). Everybody who gives a name has an
// account of it.

import { createHash } from "node:crypto";

const minute = 60_000;

const hash = (text) => createHash("sha256").update(text).digest();

/** number is an account's: the same for a name each time, and exact in JSON. */
const number = (login) => hash(login).readUIntBE(0, 6) + 1;

const account = (login) => ({
  login,
  id: number(login),
  node_id: Buffer.from(`04:User${number(login)}`).toString("base64"),
  type: "User",
  site_admin: false,
  name: `${login} of GitHub`,
  email: null,
});

/** as a form in the body, unless JSON is asked for. A refusal has the status 200 too. */
function answer(ctx, parameters) {
  ctx.set("Cache-Control", "no-store");
  if (ctx.accepts("application/x-www-form-urlencoded", "application/json") === "application/json") {
    ctx.body = parameters;
    return;
  }
  ctx.type = "application/x-www-form-urlencoded; charset=utf-8";
  ctx.body = new URLSearchParams(parameters).toString();
}

const wrong = (ctx, error, error_description) =>
  answer(ctx, {
    error,
    error_description,
    error_uri: `https://docs.github.com/apps/managing-oauth-apps/troubleshooting-oauth-app-access-token-request-errors/#${error}`,
  });

const failed = (ctx, status, message) => {
  ctx.status = status;
  ctx.body = { message, documentation_url: "https://docs.github.com/rest", status: String(status) };
};

/**
 * gitHub answers what is asked below its path.
 * @param app {id, secret, redirectURI}: the OAuth app that it knows
 * @param page where people say who they are: a form with name and act
 * @param form reads one
 */
export function gitHub(app, page, form) {
  const codes = new Map(); // what each was given for
  const tokens = new Map(); // whose each is

  /** Where people are sent back: without a word of it where the app is registered, or below that. */
  const back = (asked) => {
    const redirect = asked.get("redirect_uri") ?? app.redirectURI;
    return redirect === app.redirectURI || redirect.startsWith(app.redirectURI + "/") ? redirect : undefined;
  };

  async function authorize(ctx) {
    const asked = ctx.URL.searchParams;
    if (asked.get("client_id") !== app.id) {
      ctx.status = 404;
      return;
    }
    const to = new URL(back(asked) ?? app.redirectURI);
    const redirect = (parameters) => {
      const state = asked.has("state") ? { state: asked.get("state") } : {};
      to.search = new URLSearchParams({ ...parameters, ...state });
      ctx.redirect(to.href);
    };
    const refuse = (error, error_description) => redirect({ error, error_description });
    if (!back(asked)) {
      return refuse("redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.");
    }
    if (ctx.method !== "POST") {
      ctx.type = "html";
      ctx.body = page("GitHub");
      return;
    }
    const said = await form(ctx.req);
    if (said.get("act") !== "login") {
      return refuse("access_denied", "The user has denied your application access.");
    }
    const code = hash(crypto.randomUUID()).toString("hex").slice(0, 20);
    codes.set(code, {
      login: said.get("name"),
      redirect: to.origin + to.pathname,
      challenge: asked.get("code_challenge_method") === "S256" ? asked.get("code_challenge") : undefined,
      until: Date.now() + 10 * minute,
    });
    redirect({ code });
  }

  async function accessToken(ctx) {
    const asked = await form(ctx.req);
    if (asked.get("client_id") !== app.id || asked.get("client_secret") !== app.secret) {
      return wrong(ctx, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.");
    }
    const code = codes.get(asked.get("code"));
    if (!code || code.until < Date.now()) {
      return wrong(ctx, "bad_verification_code", "The code passed is incorrect or expired.");
    }
    if (asked.has("redirect_uri") && asked.get("redirect_uri") !== code.redirect) {
      return wrong(ctx, "redirect_uri_mismatch", "The redirect_uri MUST match the registered callback URL for this application.");
    }
    if (code.challenge && hash(asked.get("code_verifier") ?? "").toString("base64url") !== code.challenge) {
      return wrong(ctx, "bad_verification_code", "The code passed is incorrect or expired.");
    }
    codes.delete(asked.get("code"));
    const token = "gho_" + hash(crypto.randomUUID()).toString("hex").slice(0, 36);
    tokens.set(token, code.login);
    answer(ctx, { access_token: token, token_type: "bearer", scope: "" });
  }

  function user(ctx) {
    const [, token] = /^(?:Bearer|token) (\S+)$/i.exec(ctx.get("Authorization")) ?? [];
    if (!token) {
      return failed(ctx, 401, "Requires authentication");
    }
    if (!tokens.has(token)) {
      return failed(ctx, 401, "Bad credentials");
    }
    if (ctx.get("X-GitHub-Api-Version") && ctx.get("X-GitHub-Api-Version") !== "2022-11-28") {
      return failed(ctx, 400, "The API version is not supported.");
    }
    ctx.type = "application/json; charset=utf-8";
    ctx.body = account(tokens.get(token));
  }

  const routes = {
    "GET /login/oauth/authorize": authorize,
    "POST /login/oauth/authorize": authorize,
    "POST /login/oauth/access_token": accessToken,
    "GET /api/user": user,
  };
  return (ctx, path) => {
    const route = routes[`${ctx.method} ${path}`];
    return route ? route(ctx) : failed(ctx, 404, "Not Found");
  };
}
