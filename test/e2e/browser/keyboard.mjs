// keyboard.mjs - answers a survey with the keyboard alone: node keyboard.mjs MODULES JOB
//
// JOB is JSON: {"url", "keys", "awaits"}: keys has, for the names of fields (of boxes that stand
// together: name=value), what is pressed once they have the focus; awaits, for such a name, the
// question that must be there before one goes on. Printed is one JSON object: the fields in the
// order that Tab leads through, those whose focus cannot be seen, whether anything moved, and what
// the last page says.
import { open } from "./chromium.mjs";

const [modules, job] = [process.argv[2], JSON.parse(process.argv[3])];
const { browser, page } = await open(modules, { locale: "en-US", reducedMotion: "reduce", viewport: { width: 360, height: 640 } });
const told = { order: [], unseen: [], moved: 0 };

async function focused() {
  return page.evaluate(() => {
    const at = document.activeElement, look = getComputedStyle(at), box = at.getBoundingClientRect();
    const isSeen = look.outlineStyle !== "none" && parseFloat(look.outlineWidth) >= 2 && box.top >= 0 && box.bottom <= innerHeight;
    return { name: at.name, choice: `${at.name}=${at.value}`, isSeen, moves: document.getAnimations().length };
  });
}

await page.goto(job.url);
for (let steps = 0; steps < 100; steps++) {
  await page.keyboard.press("Tab");
  const at = await focused();
  told.moved += at.moves;
  if (!told.order.includes(at.name)) told.order.push(at.name);
  if (!at.isSeen) told.unseen.push(at.choice);
  if (at.name === "go") break;
  const field = job.keys[at.choice] ? at.choice : at.name;
  const keys = job.keys[field] || [];
  delete job.keys[field]; // a date has parts, each of which has the focus once
  for (const key of keys) await page.keyboard.press(key);
  if (keys.length && job.awaits[field]) await page.waitForSelector(`[data-question=${job.awaits[field]}]:not([hidden])`);
}
await page.keyboard.press("Enter");
await page.waitForSelector("[role=status]");
told.end = await page.innerText("[role=status]");
console.log(JSON.stringify(told));
await browser.close();
