// docs.mjs - looks at the pages of the documents in a real browser: node docs.mjs MODULES JOB
//
// JOB is JSON: {"root", "names", "closely", "picture"?}. Every page is looked at 360 px wide, those of "closely" with axe, in light and dark
// by turns, and the first in both on a wide screen. What it finds is printed as one JSON object: complaints by page, what was refused.
import fs from "node:fs";
import { open } from "./chromium.mjs";

const [modules, job] = [process.argv[2], JSON.parse(process.argv[3])];
const axe = fs.readFileSync(modules + "/axe-core/axe.min.js", "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const found = {};
const { browser, page, refused } = await open(modules, { viewport: { width: 360, height: 800 } });

async function look(name, colorScheme, width) {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  await page.goto(name === "index" ? job.root : `${job.root}/${name}`);
  const told = job.closely.includes(name)
    ? await page.evaluate(`${axe}; axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ["violations"] })`) : { violations: [] };
  const wide = await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
  const all = told.violations.map((one) => `${one.id}: ${one.nodes[0].html}`).concat(wide ? ["wider than the window"] : []);
  if (job.picture)
    await page.screenshot({ path: `${job.picture}/${name}-${colorScheme}-${width}.png` });
  if (all.length > 0)
    found[`${name} ${colorScheme} ${width}`] = all;
}

for (const [at, name] of job.names.entries())
  await look(name, at % 2 ? "dark" : "light", 360);
for (const scheme of ["light", "dark"])
  await look(job.names[0], scheme, 1280);
console.log(JSON.stringify({ refused, found }));
await browser.close();
