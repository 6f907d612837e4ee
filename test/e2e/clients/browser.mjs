// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A person's browser. Each line on stdin is what the person does, and each line
// on stdout is what they see then. The first argument says, in JSON:
//
//   program  the Chromium to run
//   hosts    {"name:port": "address:port"}: where names lead that only the cluster knows
//   ours     the origin whose pages are looked at by axe
//   plain    whether pages run no scripts, in a window of 360 pixels, and all is done by keyboard
//   widths   of the window in pixels, in place of that: the first one is the person's, and each page
//            is looked at in all of them
//   stops    URLs, with * for anything, that the browser does not go to: where they would go is seen

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const settings = JSON.parse(process.argv[2]);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const timeout = 20_000;

const rules = Object.entries(settings.hosts ?? {}).map(([name, address]) => `MAP ${name} ${address}`);
const browser = await chromium.launch({
  executablePath: settings.program,
  args: rules.length ? [`--host-resolver-rules=${rules.join(",")}`] : [],
});
const widths = settings.widths ?? (settings.plain ? [360] : [1280]);
const sized = (width) => ({ width, height: 720 });
// The identity provider's certificate is of an authority of this run.
const context = await browser.newContext({
  ignoreHTTPSErrors: true,
  // Colours that change slowly would be looked at half way.
  reducedMotion: "reduce",
  viewport: sized(widths[0]),
});
context.setDefaultTimeout(timeout);
const page = await context.newPage();
const devtools = await context.newCDPSession(page);
const run = (scripts) => devtools.send("Emulation.setScriptExecutionDisabled", { value: !scripts });
await run(!settings.plain);

// What the browser complained of, and where it would have gone.
let complaints = [];
let stopped = "";
let arrived = () => {};
let status = 0;
page.on("console", (message) => {
  if (message.type() === "error" || message.type() === "warning") {
    complaints.push(message.text());
  }
});
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("response", (response) => {
  if (response.request().isNavigationRequest()) {
    status = response.status();
  }
});
page.on("load", () => arrived());
devtools.on("Fetch.requestPaused", ({ requestId, request }) => {
  stopped = request.url;
  devtools.send("Fetch.failRequest", { requestId, errorReason: "Aborted" }).finally(() => arrived());
});
if (settings.stops?.length) {
  await devtools.send("Fetch.enable", { patterns: settings.stops.map((urlPattern) => ({ urlPattern })) });
}

/** leave does what leads to another page, and returns when that is there. */
async function leave(act) {
  stopped = "";
  const there = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error("no page came: " + complaints.join("; "))), timeout);
    arrived = () => {
      clearTimeout(late);
      resolve();
    };
  });
  await Promise.all([there, act()]);
  arrived = () => {};
}

/** In the page, whose policy binds what it runs itself and not a developer. */
async function inPage(expression) {
  await run(true);
  const { result, exceptionDetails } = await devtools.send("Runtime.evaluate", {
    expression,
    awaitPromise: true,
    returnByValue: true,
  });
  await run(!settings.plain);
  if (exceptionDetails) {
    throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  }
  return result.value;
}

// found is what was found in pages, by their content: a person who waits sees the same again.
const found = new Map();

/** findFaults looks at the page as it is in each width and in dark and light colours. */
async function findFaults() {
  const violations = [];
  let wide = false;
  await inPage(axe);
  for (const [n, colorScheme] of ["dark", "light"].entries()) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(sized(widths.at(-1 - (n % widths.length))));
    wide ||= await inPage("document.documentElement.scrollWidth > innerWidth");
    violations.push(...(await inPage(`axe.run({ resultTypes: ["violations"] }).then(({ violations }) =>
      violations.map((v) => "${colorScheme}: " + v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html).join(" ")))`)));
  }
  await page.setViewportSize(sized(widths[0]));
  return { violations, wide };
}

async function look() {
  const seen = await inPage(`({
    url: location.href,
    title: document.title,
    lang: document.documentElement.lang,
    headings: [...document.querySelectorAll("h1")].map((h) => h.innerText),
    buttons: [...document.querySelectorAll("button, input[type=submit]")].map((b) => b.innerText || b.value),
    choices: [...document.querySelectorAll("input[type=radio]")].map((r) => r.labels[0].innerText.trim()),
    links: [...document.querySelectorAll("a[href]")].map((a) => a.innerText),
    text: document.body?.innerText ?? "",
  })`);
  if (new URL(seen.url).origin === settings.ours) {
    const html = await inPage("document.documentElement.outerHTML");
    if (!found.has(html)) {
      found.set(html, await findFaults());
    }
    Object.assign(seen, found.get(html));
  }
  const said = { ...seen, status, stopped, complaints };
  complaints = [];
  return said;
}

/** tabTo moves the focus as a keyboard does until it is on the target, which has that name. */
async function tabTo(target, name) {
  const focused = [];
  for (let n = 0; n < 50; n++) {
    await page.keyboard.press("Tab");
    const now = await inPage(`(() => {
      const e = document.activeElement, s = getComputedStyle(e);
      return { name: e.innerText || e.value || e.name || e.tagName, shown: s.outlineStyle !== "none" || s.boxShadow !== "none" };
    })()`);
    focused.push(now);
    if (await target.evaluateAll((found) => found.includes(document.activeElement))) {
      return focused;
    }
  }
  throw new Error(`the keyboard does not reach ${name}: it reaches ${focused.map((f) => f.name).join(", ")}`);
}

const field = (name) => page.getByLabel(name, { exact: true });
const named = (name) =>
  page.getByRole("button", { name, exact: true }).or(page.getByRole("link", { name, exact: true }));

// highestPicture cuts the pictures of long lists, in pixels.
const highestPicture = 1850;

const acts = {
  open: ({ url }) => leave(() => page.goto(url).catch((error) => stopped || Promise.reject(error))),
  fill: async ({ name, value }) => {
    if (!settings.plain) {
      return field(name).fill(value);
    }
    await tabTo(field(name), name);
    await page.keyboard.press("Control+A");
    await page.keyboard.type(value);
  },
  choose: ({ name }) => field(name).check(),
  press: async ({ name }) => {
    const places = await named(name).evaluateAll((found) => found.map((e) => e.href ?? e.form?.action));
    if (new Set(places).size > 1) {
      throw new Error(`${name} leads to several places: ${places.join(", ")}`);
    }
    await leave(() => named(name).first().click());
  },
  // What a button does in the page itself.
  click: ({ name }) => named(name).click(),
  reload: () => leave(() => page.reload()),
  type: async ({ name }) => {
    // A narrow window has the navigation in its menu.
    if (!(await named(name).count()) && (await page.locator("details.menu:not([open])").isVisible())) {
      await acts.unfold({ name: "Menu" });
    }
    const focused = await tabTo(named(name), name);
    await leave(() => page.keyboard.press("Enter"));
    return { focused };
  },
  unfold: async ({ name }) => {
    await tabTo(page.locator("summary", { hasText: name }), name);
    await page.keyboard.press("Enter");
  },
  look: () => {},
  cookies: async () => ({ cookies: await context.cookies() }),
  picture: async ({ file, colorScheme, width: window }) => {
    await page.emulateMedia({ colorScheme });
    const usual = page.viewportSize();
    if (window) {
      await page.setViewportSize({ ...usual, width: Number(window) });
    }
    const { width, height } = await page.evaluate(() => document.documentElement.getBoundingClientRect());
    const clip = { x: 0, y: 0, width, height: Math.min(Math.max(height, page.viewportSize().height), highestPicture) };
    await page.screenshot({ path: file, fullPage: true, clip });
    await page.setViewportSize(usual);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try {
    const asked = JSON.parse(line);
    const more = await acts[asked.act](asked);
    said = { ...(await look()), ...(asked.act === "picture" ? {} : more) };
  } catch (error) {
    said = { error: String(error?.message ?? error) };
  }
  process.stdout.write(JSON.stringify(said) + "\n");
}
await browser.close();
