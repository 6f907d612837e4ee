// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Opens a page again and again in a browser that keeps nothing of it, and prints, as a JSON
// list, after how many milliseconds the largest part of it was painted. The argument has, in
// JSON, url, times and cookies. CHROMIUM is the browser.

import { chromium } from "playwright-core";

const { url, times, cookies } = JSON.parse(process.argv[2]);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM });
const took = [];
for (let n = 0; n < times; n++) {
  const context = await browser.newContext();
  await context.addCookies((cookies ?? []).map(({ Name, Value }) => ({ name: Name, value: Value, url: new URL(url).origin })));
  const page = await context.newPage();
  await page.goto(url);
  took.push(
    await page.evaluate(
      () =>
        new Promise((resolve) =>
          new PerformanceObserver((list) => resolve(list.getEntries().at(-1).startTime)).observe({
            type: "largest-contentful-paint",
            buffered: true,
          }),
        ),
    ),
  );
  await context.close();
}
await browser.close();
process.stdout.write(JSON.stringify(took) + "\n");
