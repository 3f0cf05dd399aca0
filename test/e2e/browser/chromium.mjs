// chromium.mjs - opens a page in Debian's browser, with the packages that lie in modules, and notes
// what the browser refused to load for it.
import { createRequire } from "node:module";

export async function open(modules, options) {
  const { chromium } = createRequire(modules + "/")("playwright-core");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const page = await (await browser.newContext(options)).newPage();
  const refused = [];
  page.on("console", (one) => one.text().includes("Content Security Policy") && refused.push(one.text()));
  return { browser, page, refused };
}
