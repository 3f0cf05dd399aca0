// console_jobs.mjs - jobs, one job, dead letters: looked at and acted upon.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const texts = async (page, selector) => (await page.locator(selector).allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
const gone = (page) => page.waitForFunction(() => !document.querySelector("dialog[open]"));

async function open(page, label) {
  await page.click(`.action > button:text-is("${label}")`);
  await page.waitForSelector("dialog[open]");
  return page.locator("dialog[open]");
}

const parts = {
  // A job is made, with the expression told in words while it is typed, refused at its field, and edited.
  async make({ job, open: begin }) {
    const page = await begin({ path: "/jobs" });
    const told = { empty: await page.textContent(".empty-title") };
    await page.click("text=New job");
    await page.waitForSelector("[name='/cron']");
    await fillForm(page, { "/name": "rates", "/handler": "memory:default", "/cron": "30 2 * * *", "/zone": "Europe/Warsaw" });
    await page.waitForSelector("[data-cron=told]");
    await page.waitForFunction(() => document.querySelector("[data-cron=told] li")?.textContent.includes("+0"));
    told.means = await page.textContent("[data-cron] > bdi");
    told.times = await page.locator("[data-cron] li").count();
    await fillForm(page, { "/cron": "61 * * * *" });
    await page.waitForSelector("[data-cron=wrong]");
    told.wrong = await page.textContent("[data-cron] .wrong");
    await save(page);
    await page.waitForSelector("[name='/cron'][aria-invalid=true]");
    await fillForm(page, { "/cron": "30 2 * * *" });
    await save(page);
    await page.waitForFunction(() => location.pathname === "/jobs/rates");
    await page.waitForSelector("#next tbody tr");
    told.five = await page.locator("#next tbody tr").count();
    told.columns = (await texts(page, "#next th")).slice(0, 1);
    told.never = await texts(page, ".facts .badge");
    await visit(page, job, "/jobs/rates?tab=edit");
    await page.waitForSelector("[name='/maxRetries']");
    await fillForm(page, { "/maxRetries": "5" });
    await save(page);
    await page.waitForFunction(() => !location.search);
    await visit(page, job, "/jobs/rates?tab=versions");
    await page.waitForSelector(".compare");
    told.changed = (await texts(page, ".compare .is-added")).join().includes('"maxRetries": 5');
    return { ...told, ...(await noise(page)) };
  },

  // It is run, paused with a reason that everybody sees, resumed, filled up and deleted.
  async act({ job, open: begin, act }) {
    const page = await begin({ path: "/jobs/rates" });
    const told = {};
    await page.waitForSelector("[data-live=live]");
    const dialog = await open(page, "Run now");
    await dialog.locator("[name=entity]").fill("booking:7");
    await dialog.locator("[name=payload]").fill("[1]");
    await dialog.locator("button[type=submit]").click();
    told.said = await dialog.locator(".problem-text").textContent();
    await dialog.locator("[name=payload]").fill('{"bank":"ecb"}');
    await dialog.locator("button[type=submit]").click();
    await gone(page);
    told.link = (await page.getAttribute("[role=status] a[href^='/deliveries/']", "href")).split("/").pop();
    await act("settle");
    await page.waitForSelector("table [data-state=done]"); // by itself: it lives
    told.entity = (await texts(page, "tbody tr[data-id*='-'] td:nth-child(7)"))[0];
    await confirm(page, "Pause", { reason: "the bank is closed" });
    await page.waitForSelector(".head [data-state=paused]");
    told.paused = await page.textContent(".note");
    await visit(page, job, "/jobs");
    told.listed = (await texts(page, "tbody td:nth-child(3)"))[0];
    await visit(page, job, "/jobs/rates");
    await page.click(".action > button:text-is('Resume')");
    await page.waitForSelector(".head [data-state=enabled]");
    const fill = await open(page, "Backfill");
    await fill.locator("[name=from]").fill(job.from);
    await fill.locator("[name=to]").fill(job.to);
    await fill.locator("[data-times='3']").waitFor();
    told.preview = (await fill.locator("[data-times] strong").textContent()).trim();
    await fill.locator("button[type=submit]").click();
    await gone(page);
    await page.waitForFunction(() => [...document.querySelectorAll("[role=status]")].some((one) => one.textContent.includes("3 made")));
    await confirm(page, "Delete", { name: "rates" });
    await page.waitForFunction(() => location.pathname === "/jobs");
    await visit(page, job, "/jobs/rates"); // what it did outlives it
    told.after = (await page.locator("tbody tr").count()) > 0;
    return { ...told, ...(await noise(page)) };
  },

  async deferred({ job, open: begin }) {
    const page = await begin({ path: "/jobs/payment-timeout?tab=deferred" });
    await page.waitForSelector("tbody tr");
    const told = { entities: await texts(page, "tbody td:first-child") };
    await page.locator("tbody tr", { hasText: "orders/1" }).locator(".action button").click();
    await page.locator("dialog[open] button[type=submit]").click();
    await gone(page);
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    told.left = await texts(page, "tbody td:first-child");
    await page.locator("tbody .action button").first().click();
    await page.locator("dialog[open] button[type=submit]").click();
    await page.waitForSelector(".empty-title");
    told.empty = await page.textContent(".empty-title");
    await visit(page, job, "/jobs/payment-timeout");
    told.onDemand = await page.textContent(".head .intro");
    const backfill = page.locator(".action button", { hasText: "Backfill" });
    told.noBackfill = await page.locator(`[id="${await backfill.getAttribute("aria-describedby")}"]`).textContent();
    return { ...told, ...(await noise(page)) };
  },

  // Dead letters: filtered, one retried, one discarded, the rest by selection.
  async dead({ job, open: begin, act }) {
    const page = await begin({ path: "/dead" });
    const told = { good: await page.textContent(".empty-title") };
    await page.waitForSelector("[data-live=live]");
    await act("make");
    await page.waitForFunction(() => document.querySelector(".fresh")?.textContent.startsWith("6"));
    await page.click(".fresh");
    await page.waitForSelector("tbody tr");
    Object.assign(told, { rows: await page.locator("tbody tr").count() });
    const made = await act("made");
    await page.selectOption("[data-filter]", "job");
    await page.fill(".filter [name=value]", "other");
    await page.click(".filter button[type=submit]");
    await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
    told.other = await page.getAttribute("tbody tr", "data-id");
    await visit(page, job, "/dead");
    await page.locator(`tr[data-id="${made[0]}"] .action button:text-is("Retry")`).click();
    await page.waitForFunction((id) => !document.querySelector(`tr[data-id="${id}"]`), made[0]);
    await page.locator(`tr[data-id="${made[1]}"] .action button:text-is("Discard")`).click();
    await page.locator("dialog[open] [name=reason]").fill("not needed");
    await page.locator("dialog[open] button[type=submit]").click();
    await gone(page);
    await page.waitForFunction((id) => !document.querySelector(`tr[data-id="${id}"]`), made[1]);
    told.left = await page.locator("tbody tr").count();
    await page.click("thead input[type=checkbox]");
    await page.click("[data-bulk=discard]");
    await page.waitForSelector(`dialog [data-matched="${told.left}"]`);
    await page.fill("dialog [name=reason]", "all of them");
    await page.click("dialog [data-start]");
    await page.waitForFunction(() => location.pathname.startsWith("/operations/"));
    await act("settle");
    await visit(page, job, "/dead");
    told.empty = await page.textContent(".empty-title");
    return { ...told, ...(await noise(page)) };
  },

  async viewer({ job, open: begin }) {
    const page = await begin({ key: job.viewer, path: "/jobs" });
    const told = { jobs: await page.textContent(".problem-text") };
    await visit(page, job, "/dead");
    told.dead = await page.textContent(".problem-text");
    return told;
  },

  async looks({ job, open: begin }) {
    const page = await begin();
    const wrong = [];
    const pictures = (name) => (job.pictures ? `${job.pictures}/${name}` : undefined);
    for (const path of job.paths) wrong.push(...(await everyLook(page, job, path, pictures(path.replace(/\W+/g, "_")))));
    await visit(page, job, "/jobs/rates");
    await open(page, "Backfill");
    await page.waitForSelector("[data-times]");
    wrong.push(...(await everyLook(page, job, null, pictures("backfill"))));
    await visit(page, job, "/jobs/new");
    await fillForm(page, { "/cron": "30 2 1 * 1", "/zone": "Europe/Warsaw" });
    await page.waitForSelector("[data-cron=told]");
    wrong.push(...(await everyLook(page, job, null, pictures("cron"))));
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
