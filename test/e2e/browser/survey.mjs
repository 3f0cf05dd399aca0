// survey.mjs - looks at the page of a survey in a real browser: node survey.mjs MODULES JOB
//
// JOB is JSON: {"url", "scheme", "width", "picture"}, and "isNote" for a page that asks nothing. What it finds is printed as one JSON
// object: what axe complains of before and after a form that is wrong, whether anything is wider
// than the window, what has the focus, which questions are hidden, what the browser refused.
import fs from "node:fs";
import { open } from "./chromium.mjs";

const [modules, job] = [process.argv[2], JSON.parse(process.argv[3])];
const axe = fs.readFileSync(modules + "/axe-core/axe.min.js", "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

async function complaints(page) {
  const found = await page.evaluate(`${axe}; axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`);
  const wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
  return found.violations.map((one) => `${one.id}: ${one.nodes[0].html}`).concat(wide ? ["wider than the window"] : []);
}

// lookAtNote is all there is to do on a page that asks nothing.
async function lookAtNote({ browser, page, refused }) {
  await page.goto(job.url);
  console.log(JSON.stringify({ refused, first: await complaints(page) }));
  await browser.close();
}

async function hidden(page) {
  return page.$$eval("[data-question]", (all) => all.filter((one) => one.hidden).map((one) => one.dataset.question));
}

const opened = await open(modules, { colorScheme: job.scheme, viewport: { width: job.width, height: 800 } });
if (job.isNote) {
  await lookAtNote(opened);
  process.exit(0);
}
const { browser, page, refused } = opened;
const told = { refused };
const beacon = page.waitForResponse((one) => one.url().endsWith("/opened"));
await page.goto(job.url);
told.opened = (await beacon).status();
told.hidden = await hidden(page);
told.first = await complaints(page);
await page.screenshot({ path: job.picture + ".png", fullPage: true });
const shown = page.waitForResponse((one) => one.url().endsWith("/shown"));
await page.check("[name='a.complaint'][value=Yes]");
await shown;
await page.waitForFunction(() => !document.querySelector("[data-question=what]").hidden);
told.hiddenThen = await hidden(page);
await page.keyboard.press("Enter");
await page.waitForSelector("[role=alert]");
told.focus = await page.evaluate("document.activeElement.getAttribute('role')");
told.wrong = await complaints(page);
told.direction = await page.evaluate("getComputedStyle(document.querySelector('h1')).direction");
await page.screenshot({ path: job.picture + "-wrong.png", fullPage: true });
console.log(JSON.stringify(told));
await browser.close();
