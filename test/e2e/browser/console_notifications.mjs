// console_notifications.mjs - notifications: figures, filters, the page of one, and what is done singly and to many.
import { confirm, everyLook, noise, run, settled, visit } from "./console.mjs";

const subjects = (page) => page.$$eval("main tbody tr", (all) => all.map((row) => row.querySelector("td.main")?.innerText.trim()).filter(Boolean).sort());
const dialog = (page) => page.locator("dialog[open]");

// answered does something that changes the filter, and waits until what it shows is what was asked for then.
async function answered(page, name, change) {
  const asked = (one) => one.url().includes("/v1/notifications?") && new URL(one.url()).searchParams.has(name);
  await Promise.all([page.waitForResponse(asked), change()]);
  await settled(page);
}

async function filter(page, name, value) {
  await page.selectOption("[data-filter]", name);
  const field = page.locator(".filter [name=value]");
  const isChoice = (await field.evaluate((element) => element.tagName)) === "SELECT";
  if (!isChoice) await field.fill(value);
  await answered(page, name, () => (isChoice ? field.selectOption(value) : page.click(".filter button[type=submit]")));
}

async function bulk(page, within, action, reason) {
  await page.click(`${within} [data-bulk=${action}]`);
  await dialog(page).locator("[data-matched]").waitFor();
  const matched = Number(await dialog(page).locator("[data-matched]").getAttribute("data-matched"));
  if (reason) await dialog(page).locator("[name=reason]").fill(reason);
  await dialog(page).locator("[data-start]").click();
  await page.waitForFunction(() => location.pathname.startsWith("/operations/"));
  return matched;
}

const parts = {
  async list({ job, open, act }) {
    const page = await open({ path: "/notifications" });
    await page.waitForSelector("td.main");
    const told = { all: await subjects(page), tiles: {} };
    for (const name of ["depth", "stuck", "parked", "oldest"]) told.tiles[name] = await page.textContent(`[data-tile=${name}] b`);
    await page.click(".notification-figures summary");
    told.sites = await page.$$eval(".notification-figures tbody tr", (all) => all.map((row) => row.dataset.id));
    for (const [name, value] of Object.entries(job.filters)) {
      await visit(page, job, "/notifications");
      await filter(page, name, value);
      told[name] = await subjects(page);
    }
    // What is new waits; what is shown is renewed in place.
    await visit(page, job, "/notifications");
    await page.waitForSelector("[data-live=live]");
    await act("more");
    await page.waitForSelector(".fresh");
    told.waits = (await subjects(page)).length;
    await page.click(".fresh");
    await page.waitForFunction((n) => document.querySelectorAll("td.main").length > n, told.waits);
    await page.click("[data-tile=parked]");
    await page.waitForFunction(() => location.search === "?status=Parked");
    return { ...told, ...(await noise(page)) };
  },

  async empty({ open }) {
    const page = await open({ path: "/notifications" });
    return { title: await page.textContent(".empty-title"), command: await page.textContent(".empty .command code") };
  },

  async one({ job, open, act }) {
    const page = await open({ path: `/notifications/${job.id}` });
    await page.waitForSelector("tbody tr");
    const told = { title: (await page.textContent("h1 > bdi")).trim(), sentence: await page.textContent(".head .intro"), state: await page.getAttribute("h1 .badge", "data-state"), body: (await page.textContent(".notification-body")).trim() };
    told.targets = await page.$$eval("main tbody tr", (all) => all.map((row) => row.dataset.id));
    await page.click('.pager button:text-is("Next")');
    await page.waitForFunction((before) => document.querySelector("main tbody tr") && document.querySelector("main tbody tr").dataset.id !== before, told.targets[0]);
    told.targets = told.targets.length + (await page.$$("main tbody tr")).length;
    await act("mend");
    await visit(page, job, `/notifications/${job.id}`);
    await page.waitForSelector("[data-live=live]");
    await confirm(page, "Retry", { reason: "mended" });
    await act("settle");
    await page.waitForFunction(() => document.querySelector("h1 .badge")?.dataset.state === "Delivered"); // live, without a click
    told.why = (await page.textContent(".action .why")).trim();
    await visit(page, job, `/notifications/${job.lost}`);
    await confirm(page, "Discard", { reason: "nobody wants it" });
    await page.waitForFunction(() => document.querySelector("h1 .badge")?.dataset.state === "Discarded");
    return { ...told, ...(await noise(page)) };
  },

  async many({ job, open, act }) {
    const page = await open({ path: "/notifications" });
    await page.waitForSelector("tbody tr");
    // Those that are picked, and no others.
    for (const id of job.picked) await page.check(`tr[data-id="${id}"] input[type=checkbox]`);
    const told = { discarded: await bulk(page, ".bulk", "discard", "a drill") };
    await act("settle");
    told.after = await act("statuses");
    // All that the filter shows and that are parked; what comes to match later is left alone.
    await visit(page, job, "/notifications?list=ops");
    await page.click('.matching > button:text-is("Retry or discard all parked that match…")');
    await page.waitForSelector(".matching [data-bulk]");
    told.found = Number(await page.getAttribute(".matching", "data-matching"));
    await act("more");
    told.retried = await bulk(page, ".matching", "retry");
    await act("settle");
    told.then = await act("statuses");
    return { ...told, ...(await noise(page)) };
  },

  async viewer({ job, open }) {
    const page = await open({ key: job.viewer, path: `/notifications/${job.id}` });
    await page.waitForSelector(".head-actions .why", { state: "attached" });
    const told = { one: await page.locator("h1 ~ *, .head-actions .why").allInnerTexts().then(() => page.$$eval(".head-actions .why", (all) => all.map((one) => one.textContent.trim()))) };
    await visit(page, job, "/notifications");
    await page.check("tbody tr input[type=checkbox]");
    told.many = await page.$$eval(".bulk .why", (all) => all.map((one) => one.textContent.trim()));
    return told;
  },

  async looks({ job, open }) {
    const page = await open();
    const wrong = [];
    for (const [name, path] of Object.entries(job.paths)) wrong.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${name}`)));
    return { wrong, ...(await noise(page)) };
  },
};

run((given) => parts[given.job.part](given));
