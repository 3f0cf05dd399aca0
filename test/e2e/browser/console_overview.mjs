// console_overview.mjs - the overview: one sentence, what needs a person, figures, curves.
import { confirm, everyLook, noise, run, settled, visit } from "./console.mjs";

const textOf = async (page, selector) => (await page.textContent(selector)).replace(/\s+/g, " ").trim();
const tiles = (page) => page.$$eval("[data-tile]", (all) => Object.fromEntries(all.map((one) => [one.dataset.tile, one.querySelector("b").textContent.replace(/^! /, "")])));
const needs = (page) => page.$$eval("[data-need]", (all) => all.map((one) => one.dataset.need.replace(/^cause-.*/, "cause")));

// known waits for the sentence, which comes when all was asked, and for every figure.
async function known(page) {
  await page.waitForSelector("[data-sentence=known]");
  await page.waitForFunction(() => [...document.querySelectorAll("[data-tile] b")].every((one) => one.textContent !== "–"));
  await settled(page);
}

const parts = {
  async clear({ open }) {
    const page = await open();
    await known(page);
    await page.waitForFunction(() => document.title.startsWith("All clear."));
    const told = { sentence: await textOf(page, "[data-sentence]"), tiles: await tiles(page), start: await textOf(page, ".empty-title"), good: await textOf(page, ".empty.is-good .empty-title") };
    await page.click("[data-tile=stuck] + button");
    told.help = await textOf(page, ".tile-text");
    return { ...told, ...(await noise(page)) };
  },

  // Each thing that needs a person is a row with one button; a cause is retried from here.
  async needs({ job, open, act }) {
    const page = await open();
    await known(page);
    const told = { sentence: await textOf(page, "[data-sentence]"), needs: await needs(page), tiles: await tiles(page) };
    told.buttons = await page.$$eval("[data-need] .need-do", (all) => all.map((one) => one.textContent));
    told.links = await page.$$eval("[data-need] .need-do a", (all) => all.map((one) => one.getAttribute("href")));
    told.channels = await page.locator("section:has(h2:text-is('Channels')) [data-state=open]").count();
    await page.waitForSelector("section:has(h2:text-is('Coming up')) tbody tr");
    told.next = await page.locator("section:has(h2:text-is('Coming up')) tbody tr").count();
    await page.click("[data-need^=cause] h3 a");
    await page.waitForFunction(() => location.search.includes("cause=") && document.querySelector("h1")?.textContent === "Deliveries" && document.querySelectorAll("tbody tr").length > 0);
    told.listed = await page.locator("tbody tr").count();
    await page.goBack();
    await known(page);
    await act("mend");
    await page.click("[data-need^=cause] [data-bulk=retry]");
    await page.waitForSelector("dialog[open] [data-matched]");
    told.matched = await page.getAttribute("dialog[open] [data-matched]", "data-matched");
    await page.click("dialog[open] [data-start]");
    await page.waitForFunction(() => location.pathname.startsWith("/operations/"));
    await page.waitForSelector("h1 [data-state=done]");
    await act("settle");
    await visit(page, job, "/");
    await known(page);
    told.then = await needs(page);
    return { ...told, ...(await noise(page)) };
  },

  async needs_alone({ open }) {
    const page = await open();
    await known(page);
    return { needs: await needs(page), links: await page.$$eval("[data-need] .need-do a", (all) => all.map((one) => one.getAttribute("href"))), ...(await noise(page)) };
  },

  async held({ open, act }) {
    const page = await open();
    await known(page);
    const told = { needs: await needs(page), sentence: await textOf(page, "[data-sentence]") };
    await confirm(page, "Release");
    await page.waitForFunction(() => !document.querySelector("[data-need=held]"));
    told.held = await act("held");
    return told;
  },

  // The range is in the URL, and every curve has its numbers as a table.
  async curves({ open }) {
    const page = await open();
    await known(page);
    for (const chart of await page.locator(".plot").all()) {
      await chart.scrollIntoViewIfNeeded(); // it is drawn when it is seen
      await chart.locator("canvas").waitFor();
    }
    const told = { plots: await page.locator(".chart").count() };
    await page.locator(".chart button").first().click();
    await page.waitForSelector(".chart table");
    told.columns = await page.locator(".chart table thead th").allTextContents();
    told.received = (await page.locator(".chart tbody tr td:nth-child(2)").allTextContents()).map(Number).reduce((all, one) => all + one, 0);
    told.rows = await page.locator(".chart tbody tr").count();
    await page.click("[data-range='24h']");
    await page.waitForFunction(() => location.search === "?range=24h");
    await settled(page);
    await page.waitForFunction(() => document.querySelectorAll(".chart tbody tr").length > 280);
    await page.click("[data-range='7d']");
    await page.waitForFunction(() => location.search === "?range=7d");
    await settled(page);
    await page.waitForFunction(() => document.querySelectorAll(".chart tbody tr").length < 175);
    await page.goBack();
    await page.waitForFunction(() => location.search === "?range=24h");
    await page.click("[data-tile=delivered]");
    await page.waitForFunction(() => location.pathname + location.search === "/deliveries?state=delivered");
    return { ...told, ...(await noise(page)) };
  },

  async viewer({ job, open }) {
    const page = await open({ key: job.viewer });
    await known(page);
    const button = page.locator("[data-need^=cause] [data-bulk=retry]");
    const told = { why: await page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`).textContent() };
    await button.click({ force: true }); // it is disabled
    told.dialogs = await page.locator("dialog[open]").count();
    return { ...told, ...(await noise(page)) };
  },

  async looks({ job, open }) {
    const page = await open();
    await known(page);
    const wrong = await everyLook(page, job, "/", job.pictures ? `${job.pictures}/overview` : undefined);
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
