// Campaigns and automations: a file mapped, tried and sent; a list; stopped; run by hand; schedules in words.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const done = (page) => page.waitForSelector('[data-campaign="done"]');
const numbers = (page) => page.evaluate(() => ["created", "skipped", "failed"].map((name) => document.querySelector(`[data-${name}]`).getAttribute(`data-${name}`)));

async function sent(page, job) {
  await visit(page, job, "/campaigns/new");
  await page.fill("[name=trigger]", "promo");
  await page.setInputFiles("[name=file]", { name: "people.csv", mimeType: "text/csv", buffer: Buffer.from(job.file) });
  await page.waitForSelector('[data-columns="3"]');
  const isAsked = await page.locator(".note").innerText();
  await page.selectOption('[aria-label="mail: Becomes"]', "address");
  await page.click('button:text-is("Dry run")');
  await page.waitForSelector("[data-dry=done]");
  const dry = await page.locator("[data-dry]").innerText();
  const lines = await page.locator('table:has(caption:text-is("Rows that failed")) tbody td:first-child').allInnerTexts();
  await page.click('.form-foot button:text-is("Send")');
  await page.click('dialog[open] button:text-is("Send")');
  await page.waitForURL(/campaigns\/[0-9a-f-]+$/);
  await done(page);
  const made = await numbers(page);
  await page.waitForSelector(".list tbody tr");
  return { isAsked, dry, lines, made, failures: await page.locator(".list tbody tr").count() };
}

async function toList(page, job) {
  await visit(page, job, "/campaigns/new?trigger=promo");
  await page.click('label:has-text("Each member of a list")');
  await page.fill("[name=list]", "vip");
  await page.click('.form-foot button:text-is("Send")');
  await page.waitForSelector("dialog[open] .note"); // it was not tried before
  await page.click('dialog[open] button:text-is("Send")');
  await page.waitForURL(/campaigns\/[0-9a-f-]+$/);
  await done(page);
  return numbers(page);
}

// One whose file has not come to its end stays under way until it is stopped.
async function stopped(page, job, act) {
  await visit(page, job, `/campaigns/${await act("begin")}`);
  await confirm(page, "Stop");
  await page.waitForSelector('[data-campaign="stopped"]');
  await visit(page, job, "/campaigns");
  return page.locator("tbody tr").count();
}

async function automated(page, job, act) {
  await visit(page, job, "/automations/new");
  await fillForm(page, { "/id": "sync", "/name": "Sync rates", "/handler": "memory:default" });
  await save(page);
  await page.waitForURL("**/automations/sync");
  await settled(page);
  await page.click('.action > button:text-is("Run now")');
  await page.fill("dialog[open] [name=entity]", "hotel-7");
  await page.fill('dialog[open] textarea[aria-label="Payload"]', '{"full":true}');
  await page.click("dialog[open] button[type=submit]");
  await page.waitForSelector("[data-ran]");
  await page.waitForSelector(".list tbody tr");
  return { runs: await page.locator(".list tbody tr").count(), ran: await act("ran", await page.getAttribute("[data-ran]", "data-ran")) };
}

async function scheduled(page, job, act) {
  await visit(page, job, "/automations/sync?tab=schedules");
  await page.click('button:text-is("New schedule")');
  await page.fill("dialog[open] [name=schedule]", "nightly");
  await page.fill('dialog[open] [name="/cron"]', "0 3 * *");
  await page.waitForSelector("[data-cron=wrong]");
  await page.fill('dialog[open] [name="/cron"]', "0 3 * * *");
  await page.fill('dialog[open] [name="/zone"]', "Europe/Warsaw");
  await page.waitForSelector("[data-cron=ok]");
  await page.waitForFunction(() => document.querySelector(".cron ol")?.textContent.includes("+02:00"));
  const words = await page.locator(".cron p").first().innerText();
  await page.click("dialog[open] .form-foot button[type=submit]");
  await page.waitForSelector("tbody tr[data-id=nightly]");
  const first = await act("schedules");
  await page.click('tbody button:text-is("Edit")');
  await page.waitForSelector("dialog[open] form[data-form]");
  await page.fill('dialog[open] [name="/cron"]', "30 4 * * *");
  await page.click("dialog[open] .form-foot button[type=submit]");
  await page.waitForFunction(() => document.querySelector("tr[data-id=nightly] code")?.textContent === "30 4 * * *");
  await confirm(page, "Remove");
  await page.waitForFunction(() => !document.querySelector("tr[data-id=nightly]"));
  return { words, first, left: await act("schedules") };
}

async function ended(page, job) {
  await visit(page, job, "/automations/sync?tab=edit");
  await fillForm(page, { "/maxRetries": "7" });
  await save(page);
  await page.waitForFunction(() => document.querySelector(".status")?.textContent === "Saved");
  await visit(page, job, "/automations/sync?tab=versions");
  await page.waitForSelector(".line.is-added");
  await confirm(page, "Disable");
  await page.waitForSelector('h1 [data-state="disabled"]');
  await page.click('.action > button:text-is("Enable")');
  await page.waitForSelector('h1 [data-state="enabled"]');
  await confirm(page, "Delete", { name: "sync" });
  await page.waitForURL("**/automations");
  await settled(page);
  return page.locator("tbody tr").count();
}

run(async ({ job, open, act }) => {
  const page = await open();
  if (job.part === "looks") {
    const found = [];
    for (const path of ["/campaigns", "/campaigns/new", `/campaigns/${job.campaign}`, "/automations", "/automations/new", "/automations/triage", "/automations/triage?tab=schedules"])
      found.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${path.replace(/\W+/g, "-")}`)));
    return { wrong: found };
  }
  const told = { sent: await sent(page, job), list: await toList(page, job), stopped: await stopped(page, job, act), automated: await automated(page, job, act), scheduled: await scheduled(page, job, act), left: await ended(page, job) };
  const reader = await open({ key: job.reader, path: "/campaigns/new" });
  told.why = await reader.locator(".why").innerText();
  return { ...told, ...(await noise(page)) };
});
