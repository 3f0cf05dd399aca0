// console.mjs - what scripts that look at the console share. A script is one call of run():
//
//     run(async ({ job, open, act }) => {
//       const page = await open();                     // signed in with job.key, at "/"
//       await visit(page, job, "/channels");
//       return { complaints: await everyLook(page, job, "/channels"), ...(await noise(page)) };
//     });
//
// What it returns is printed as JSON. open({ key, width, path }) opens a browser context of its own: another person.
// Waits have a generous limit and are never sleeps; functions, never strings, go to waitForFunction (the policy forbids eval).
import fs from "node:fs";
import { createRequire } from "node:module";

const [modules, given] = [process.argv[2], JSON.parse(process.argv[3] ?? "{}")];
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const axe = modules ? fs.readFileSync(`${modules}/axe-core/axe.min.js`, "utf8") : "";
const noises = new WeakMap();

export const LIMIT = 30_000 * (given.patience ?? 1);

function listen(page, job) {
  const heard = { refused: [], elsewhere: [], errors: [] };
  const own = new URL(job.url).host;
  page.on("console", (one) => one.text().includes("Content Security Policy") && heard.refused.push(one.text()));
  page.on("pageerror", (one) => heard.errors.push(one.message));
  page.on("request", (one) => {
    const url = new URL(one.url());
    if (url.protocol.startsWith("http") && url.host !== own) heard.elsewhere.push(one.url());
  });
  noises.set(page, heard);
}

// noise is what must never be: refused by the policy, requests to another host, errors of scripts.
export async function noise(page) {
  return noises.get(page);
}

export async function signIn(page, job, key = job.key) {
  await page.goto(`${job.url}/signin`);
  await page.fill("[name=key]", key);
  await page.click("button[type=submit]");
  await page.waitForSelector(".rail");
  await settled(page);
}

// settled: the page is there, and waits for nothing.
export async function settled(page) {
  await page.waitForFunction(() => document.querySelector("main") && !document.querySelector("[aria-busy=true]"));
}

export async function visit(page, job, path) {
  await page.goto(job.url + path);
  await settled(page);
}

export async function prefer(page, change) {
  await page.evaluate((change) => {
    const before = JSON.parse(localStorage.getItem("peal.prefs") ?? "{}");
    localStorage.setItem("peal.prefs", JSON.stringify({ ...before, ...change }));
    window.dispatchEvent(new StorageEvent("storage", { key: "peal.prefs" }));
  }, change);
  if (change.language) await page.waitForFunction((language) => document.documentElement.lang === language, change.language);
}

// complaints are axe's.
export async function complaints(page) {
  const found = await page.evaluate(`${axe}; axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ["violations"] })`);
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).slice(0, 3).join(" | ")}`);
}

// tooWide is what sticks out, or "": what follows the window's width, such as a chart, has a moment to do so.
async function tooWide(page) {
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth;
  if (await page.waitForFunction(fits, undefined, { timeout: LIMIT / 6 }).then(() => true, () => false)) return "";
  return page.evaluate(() => {
    const edge = document.documentElement.clientWidth + 1;
    const beyond = [...document.querySelectorAll("body *")].filter((one) => {
      const box = one.getBoundingClientRect();
      return (box.right > edge || box.left < -1) && !one.closest("table, pre, .off-screen, .skip");
    });
    return (beyond.at(-1) ?? document.body).outerHTML.slice(0, 200);
  });
}

// everyLook is all that is wrong with a page: in light and dark, English and Arabic, wide and narrow. The page is loaded once.
// With a path of null it looks at the page as it stands: a dialog that is open, a form half filled.
// few: only light English and dark Arabic, for pages of which others of their kind are looked at whole.
export async function everyLook(page, job, path, pictures, few = false) {
  const wrong = [];
  if (path !== null) await visit(page, job, path);
  for (const language of ["en", "ar"]) {
    for (const theme of few ? [language === "en" ? "light" : "dark"] : ["light", "dark"]) {
      await prefer(page, { language, theme });
      for (const one of await complaints(page)) wrong.push(`${path ?? page.url()} ${language} ${theme}: ${one}`);
      if (pictures) await page.screenshot({ path: `${pictures}-${language}-${theme}.png`, fullPage: true });
    }
    await page.setViewportSize({ width: 360, height: 800 });
    const wide = await tooWide(page);
    if (wide) wrong.push(`${path ?? page.url()} ${language}: wider than a window of 360 px: ${wide}`);
    if (pictures) await page.screenshot({ path: `${pictures}-${language}-360.png`, fullPage: true });
    await page.setViewportSize({ width: 1280, height: 800 });
  }
  await prefer(page, { language: "en", theme: "light" });
  return wrong;
}

// fillForm fills fields of a Form by their JSON pointers: { "/key": "http:bi", "/config/url": "…" }.
export async function fillForm(page, values) {
  for (const [place, value] of Object.entries(values)) {
    const field = page.locator(`form [name="${place}"]`).first();
    if ((await field.evaluate((element) => element.tagName)) === "SELECT") await field.selectOption(String(value));
    else await field.fill(String(value));
  }
}

export async function save(page) {
  await page.click(".form-foot button[type=submit]");
}

// confirm presses a button, and confirms in the dialog that it opens, with a reason or a name where one is asked for.
export async function confirm(page, label, { reason, name } = {}) {
  await page.click(`.action > button:text-is("${label}")`);
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  if (reason) await dialog.locator("[name=reason]").fill(reason);
  if (name) await dialog.locator("[name=confirm]").fill(name);
  await dialog.locator("button[type=submit]").click();
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
}

export async function run(script) {
  const { chromium } = createRequire(`${modules}/`)("playwright-core");
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
  const open = async ({ key = given.key, width = 1280, path = "/", context, signedIn = true, language = "en" } = {}) => {
    const of = context ?? (await browser.newContext({ viewport: { width, height: 800 }, locale: language, colorScheme: "light", reducedMotion: "reduce" }));
    of.setDefaultTimeout(LIMIT);
    const page = await of.newPage();
    listen(page, given);
    if (signedIn && !context) await signIn(page, given, key);
    if (signedIn && (path !== "/" || context)) await visit(page, given, path);
    return page;
  };
  const act = async (name, ...words) => {
    const answer = await fetch(`${given.actions}/${name}`, { method: "POST", body: JSON.stringify(words) });
    if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
    return answer.json();
  };
  try {
    console.log(JSON.stringify(await script({ job: given, browser, open, act })));
  } finally {
    await browser.close();
  }
}
