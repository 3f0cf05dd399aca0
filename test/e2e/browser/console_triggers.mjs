// Triggers: built, tried on stored events, saved, compared, skipped, deleted; each part is a function of its own.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const condition = (page, place, what) => page.locator(`[aria-label="Condition ${place}: ${what}"]`);
const json = (page) => page.locator('[data-builder="/filter"] .builder-json textarea');
// filterBecomes waits until the JSON beside says it.
const filterBecomes = (page, filter) =>
  page.waitForFunction((wanted) => {
    try {
      return JSON.stringify(JSON.parse(document.querySelector('[data-builder="/filter"] .builder-json textarea').value)) === wanted;
    } catch {
      return false;
    }
  }, JSON.stringify(filter));
const matched = (page, n) => page.waitForSelector(`[data-matched="${n}"]`);

async function build(page, job) {
  await visit(page, job, "/triggers/new");
  await fillForm(page, { "/id": "big", "/eventKind": "order.paid", "/channel": "memory:default", "/schedule/initialDelay": "1d" });
  await matched(page, 3);
  await page.click('[data-add="/filter"]');
  await condition(page, "/filter", "Path").fill("candidate.total");
  await condition(page, "/filter", "Comparison").selectOption(">");
  await condition(page, "/filter", "As").selectOption("number");
  await condition(page, "/filter", "Value").fill("150");
  await matched(page, 2);
  const total = { path: "candidate.total", op: ">", value: 150 };
  await filterBecomes(page, total);
  await page.click('[data-add="/filter"]');
  await condition(page, "/filter/all/1", "Path").fill("candidate.vip");
  await condition(page, "/filter/all/1", "Comparison").selectOption("exists");
  await matched(page, 1);
  await filterBecomes(page, { all: [total, { path: "candidate.vip", op: "exists", value: true }] });
  await page.click('[data-event][data-matches="false"]');
  await page.waitForSelector('[data-verdict="no"]');
  await page.waitForSelector(".part.is-marked");
  const marked = await page.getAttribute(".part.is-marked", "data-part");
  return { marked, why: await page.locator('[data-verdict="no"] code').first().innerText() };
}

// What the builder does not know stays as it is, and so does JSON that is not finished.
async function twoViews(page) {
  const strange = { all: [{ path: "candidate.total", op: ">", value: 150 }, { strange: [1, { b: null }] }] };
  await json(page).fill(JSON.stringify(strange));
  await page.waitForSelector("[data-unfinished]");
  await condition(page, "/filter/all/0", "Value").fill("250");
  await filterBecomes(page, { all: [{ ...strange.all[0], value: 250 }, strange.all[1]] });
  await json(page).fill('{"all": [');
  await page.waitForSelector('[data-builder="/filter"] .note');
  const half = await json(page).inputValue();
  await json(page).fill(JSON.stringify({ any: [{ path: "candidate.total", op: "in", value: [100, "200"] }] }));
  await matched(page, 2);
  await page.locator('[aria-label="Turn into its opposite: /filter/any/0"]').click();
  await matched(page, 1);
  await page.locator('[data-part="/filter/any/0"] button:text-is("Take the “not” away")').click();
  await matched(page, 2);
  await condition(page, "/filter", "Comparison").selectOption("all");
  await filterBecomes(page, { all: [{ path: "candidate.total", op: "in", value: [100, "200"] }] });
  return half;
}

async function own(page) {
  await page.click('.try-row:has-text("An event of your own")');
  await page.fill('textarea[aria-label="Event as JSON"]', '{"payload":{"total":100}}');
  await page.waitForSelector('[data-verdict="yes"]');
  await page.fill('textarea[aria-label="Event as JSON"]', '{"payload":{"total":7}}');
  await page.waitForSelector('[data-verdict="no"]');
}

async function keep(page, job, act) {
  await save(page);
  await page.waitForURL("**/triggers/big");
  await settled(page);
  await act("emit");
  await visit(page, job, "/triggers/big?tab=edit");
  await page.waitForSelector('[data-matches="true"]');
  await page.click('[data-event][data-matches="true"]');
  await page.click('button:text-is("What would follow")');
  await page.waitForSelector('[data-dry="created"], [data-dry="duplicate"]');
  return { dry: await page.locator("[data-dry] .plan li").count() };
}

async function skip(page, job) {
  await visit(page, job, "/triggers/big?tab=events");
  const before = await page.locator('tbody [data-state="queued"]').count();
  await confirm(page, "Skip");
  await page.waitForSelector('tbody [data-state="skipped"]');
  return before;
}

async function versions(page, job) {
  await visit(page, job, "/triggers/big?tab=edit");
  await fillForm(page, { "/expireAfter": "5d" });
  await save(page);
  await page.waitForFunction(() => document.querySelector("[role=status]")?.textContent === "Saved");
  await visit(page, job, "/triggers/big?tab=versions");
  await page.waitForSelector(".line.is-added");
  const added = await page.locator(".line.is-added").allInnerTexts();
  await page.click('button:text-is("Edit from this one: 1")');
  await page.waitForSelector(".form .note");
  const first = await page.inputValue('[name="/expireAfter"]');
  await page.click('button:text-is("Throw the draft away")');
  await page.waitForFunction(() => document.querySelector('[name="/expireAfter"]').value === "5d");
  return { added: added.join("").includes("5d"), first };
}

async function states(page, job, act) {
  await visit(page, job, "/triggers/big");
  await confirm(page, "Disable");
  await page.waitForSelector('h1 [data-state="disabled"]');
  const off = await act("enabled");
  await page.click('.action > button:text-is("Enable")');
  await page.waitForSelector('h1 [data-state="enabled"]');
  return { off, on: await act("enabled") };
}

// The rule at the condition that an event's page points at; a rule of files is edited only where that is wanted.
async function pointedAt(page, job) {
  await visit(page, job, "/triggers/big#/filter/all/0");
  const marked = await page.locator(".condition.is-marked").innerText();
  await visit(page, job, "/triggers/filed?tab=edit");
  const isLocked = (await page.locator("form[data-form]").count()) === 0;
  const origin = await page.getAttribute("[data-origin]", "data-origin");
  await page.click('button:text-is("Edit anyway")');
  await page.click('dialog[open] button:text-is("Go on")');
  await page.waitForSelector("form[data-form=TriggerBody]");
  return { marked: marked.includes("candidate.total"), isLocked, origin };
}

async function wrong(page, job) {
  await visit(page, job, "/triggers/new");
  await fillForm(page, { "/id": "bad", "/eventKind": "order.paid", "/channel": "memory:default", "/expireAfter": "soon" });
  await save(page);
  await page.waitForSelector('[name="/expireAfter"][aria-invalid]');
  await page.reload();
  await settled(page);
  const kept = await page.inputValue('[name="/expireAfter"]');
  await page.click('button:text-is("Throw the draft away")');
  return kept;
}

async function removed(page, job) {
  await visit(page, job, "/triggers/big");
  await confirm(page, "Delete", { name: "big" });
  await page.waitForURL("**/triggers");
  await settled(page);
  return page.locator("tbody tr").count();
}

async function looks(page, job) {
  const found = [];
  for (const path of ["/triggers", "/triggers/new", "/triggers/filed", "/triggers/nested?tab=edit&event=none", "/triggers/filed?tab=versions", "/triggers/filed?tab=events"])
    found.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${path.replace(/\W+/g, "-")}`)));
  return found;
}

run(async ({ job, open, act }) => {
  const page = await open();
  if (job.part === "looks") return { wrong: await looks(page, job) };
  const told = { built: await build(page, job), half: await twoViews(page) };
  await own(page);
  Object.assign(told, { kept: await keep(page, job, act), queued: await skip(page, job), versions: await versions(page, job), states: await states(page, job, act), pointed: await pointedAt(page, job), draft: await wrong(page, job), left: await removed(page, job) });
  const reader = await open({ key: job.reader, path: "/triggers/filed" });
  told.why = await reader.locator(".action .why").allTextContents();
  return { ...told, ...(await noise(page)) };
});
