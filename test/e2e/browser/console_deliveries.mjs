// console_deliveries.mjs - deliveries, one delivery, and operations in the console.
import { complaints, confirm, everyLook, noise, run, visit } from "./console.mjs";

const where = (page, job) => page.url().slice(job.url.length);
const states = (page) => page.$$eval("tbody tr .badge", (all) => all.map((one) => one.dataset.state));
const textOf = async (page, selector) => (await page.textContent(selector)).replace(/\s+/g, " ").trim();
const counts = async (page) => Object.fromEntries(await page.$$eval("[data-count]", (all) => all.map((one) => [one.dataset.count, Number(one.querySelector("dd").textContent.replace(/\D/g, ""))])));
const rows = (page, n) => page.waitForFunction((wanted) => document.querySelectorAll("tbody tr").length === wanted, n);
const section = (page, title) => page.locator(`section:has(h2:text-is("${title}")) tbody tr`);
const buttons = async (page) => {
  await page.waitForSelector(".head [data-bulk]");
  return page.$$eval(".head [data-bulk]", (all) => all.map((one) => one.dataset.bulk));
};
const ended = (page, state) => page.waitForSelector(`h1 [data-state=${state}]`);

// previewed waits for what the dialog counted.
async function previewed(page) {
  await page.waitForSelector("dialog[open] [data-matched]");
  return Number(await page.getAttribute("dialog[open] [data-matched]", "data-matched"));
}

// started presses the dialog's button twice, and says how many operations that began.
async function started(page, reason) {
  let begun = 0;
  const hear = (one) => one.method() === "POST" && one.url().endsWith("/v1/operations") && !one.postDataJSON().dryRun && begun++;
  page.on("request", hear);
  if (reason) await page.fill("dialog[open] [name=reason]", reason);
  await page.dblclick("dialog[open] [data-start]");
  await page.waitForFunction(() => location.pathname.startsWith("/operations/"));
  page.off("request", hear);
  return begun;
}

const parts = {
  // Tabs, the filter in the URL, the keyboard, and rows that wait.
  async list({ job, open, act }) {
    const page = await open({ path: "/deliveries" });
    await rows(page, 6);
    const told = { all: await states(page), buttons: await page.locator(".head [data-bulk]").count() };
    await page.click("[data-tab=parked]");
    await page.waitForFunction(() => location.search === "?state=parked");
    await rows(page, 5);
    told.parked = await states(page);
    told.count = await textOf(page, "[data-tab=parked] .count");
    await page.selectOption("[data-filter]", "trigger");
    await page.fill(".filter [name=value]", "mine");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.search.includes("trigger=mine"));
    await rows(page, 2);
    told.filtered = where(page, job);
    await page.fill(".filter [name=value]", "entity:nobody");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".empty");
    told.hidden = await textOf(page, ".empty-title");
    await page.click(".empty button");
    await page.waitForFunction(() => location.search === "?state=parked");
    await visit(page, job, "/deliveries?state=expired");
    told.none = await textOf(page, ".empty-title");
    await visit(page, job, "/deliveries");
    await page.waitForSelector("[data-live=live]");
    await rows(page, 6);
    const before = 6;
    await act("send");
    await page.waitForSelector(".fresh");
    told.waits = (await page.locator("tbody tr").count()) === before;
    await page.click(".fresh");
    await rows(page, before + 1);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await page.waitForSelector("tr.is-selected");
    told.picked = await page.locator("tr.is-selected").count();
    await page.keyboard.press("Enter");
    return { ...told, ...(await noise(page)) };
  },

  // Every action on one, and what stands on its page.
  async one({ job, open, act }) {
    const page = await open({ path: `/deliveries/${job.parked}` });
    await section(page, "Attempts").first().waitFor();
    const told = { first: await textOf(page, ".intro"), attempts: await section(page, "Attempts").count() };
    told.off = await page.locator(".action-row button[aria-disabled=true]").allTextContents();
    await confirm(page, "Retry", { reason: "mended" });
    await act("tried", job.parked); // and told by the stream
    await page.waitForFunction(() => [...document.querySelectorAll("h2")].find((one) => one.textContent === "Attempts")?.closest("section").querySelectorAll("tbody tr").length === 2);
    await ended(page, "parked");
    await page.click(".action > button:text-is('Discard')");
    told.needsReason = await page.locator("dialog[open] button[type=submit]").isDisabled();
    await page.keyboard.press("Escape");
    await confirm(page, "Discard", { reason: "nobody reads it" });
    await ended(page, "discarded");
    await act("sealed", job.parked);
    await visit(page, job, `/deliveries/${job.parked}`);
    await page.waitForSelector(".intro strong");
    told.noted = await textOf(page, ".intro strong");
    await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].filter((one) => one.textContent.includes("Operator.")).length === 2);
    told.record = (await page.locator("section:has(h2:text-is('On the record')) tbody tr").allTextContents()).filter((one) => one.includes("Operator.")).length;
    await visit(page, job, `/deliveries/${job.other}`);
    await confirm(page, "Mark as answered");
    await ended(page, "completed");
    await visit(page, job, `/deliveries/${job.later}`);
    told.later = await textOf(page, ".intro");
    await page.waitForSelector("[data-step='1'][aria-current=step]");
    told.steps = (await page.locator("[data-step]").allTextContents()).map((one) => one.replace(/due .*/, "due").replace(/\s+/g, " "));
    await confirm(page, "Call off", { reason: "moved" });
    await ended(page, "cancelled");
    await visit(page, job, `/deliveries/${job.sent}`);
    await page.waitForSelector(".request");
    told.request = await page.locator(".request").count();
    told.links = await page.$$eval(".facts a", (all) => all.map((one) => one.getAttribute("href").split("/")[1]));
    await visit(page, job, `/deliveries/${job.waits}`);
    await page.waitForSelector(".intro strong");
    told.waits = await textOf(page, ".intro strong");
    await visit(page, job, `/deliveries/${job.several}`);
    told.targets = await page.locator("section:has(h2:text-is('Targets')) tbody tr").allTextContents().then((all) => all.map((one) => one.match(/\w+@example.com/)[0]));
    await page.click(".facts a[href^='/channels/']");
    await page.waitForFunction(() => location.pathname.startsWith("/channels/"));
    await visit(page, job, "/deliveries/01975e3c-7a4b-7000-8000-2c9d3f5b1a60");
    told.gone = await textOf(page, "h1");
    return { ...told, ...(await noise(page)) };
  },

  // What is picked is acted on, and nothing else.
  async picked({ job, open, act }) {
    const page = await open({ path: "/deliveries" });
    const told = {};
    for (const id of job.ids) await page.check(`tr[data-id="${id}"] input`);
    told.said = await textOf(page, ".bulk > span");
    await page.click(".bulk [data-bulk=discard]");
    told.matched = await previewed(page);
    told.left = await page.locator("dialog[open] .bulk-dialog p:has-text('left out')").count();
    told.needsReason = await page.locator("dialog[open] [data-start]").isDisabled();
    told.sample = await page.locator("dialog[open] .bulk-sample li").count();
    told.begun = await started(page, "test data");
    await ended(page, "done");
    told.counts = await counts(page);
    told.reason = await page.locator(".facts dd:has-text('test data')").count();
    await page.click(".crumb a");
    await page.waitForFunction(() => location.pathname === "/operations");
    await page.waitForSelector("tbody tr");
    told.listed = await page.locator("tbody tr td.main").allTextContents();
    await page.click("text=Show previews too");
    await rows(page, 2);
    told.previews = await page.locator("tbody tr td.main").allTextContents();
    await page.locator("tbody tr td.main a", { hasText: /^Discard$/ }).click();
    await ended(page, "done");
    await act("sealed");
    await visit(page, job, await page.getAttribute("main p a[href^='/audit']", "href"));
    await page.waitForSelector("tbody tr:has-text('test data')");
    return { ...told, ...(await noise(page)) };
  },

  // What begins to match after the preview is left alone.
  async exactly({ open, act }) {
    const page = await open({ path: "/deliveries?state=parked&trigger=bad" });
    await page.click(".head [data-bulk=retry]");
    const told = { matched: await previewed(page), says: (await page.locator("dialog[open] .filter-words li").allTextContents()).map((one) => one.trim()) };
    await act("more");
    told.begun = await started(page);
    await ended(page, "done");
    told.counts = await counts(page);
    return told;
  },

  // Many, by the filter: the preview is the result; paused, it rests; a second click is nothing.
  async many({ open, act }) {
    const page = await open({ path: "/deliveries?state=parked&channel=memory:bad" });
    await page.click(".head [data-bulk=retry]");
    const told = { matched: await previewed(page) };
    await act("more");
    told.begun = await started(page, "the far side is back");
    await ended(page, "running");
    await page.click(".action > button:text-is('Pause')");
    await ended(page, "paused");
    await act("allow");
    told.resting = (await counts(page)).done;
    await page.click(".action > button:text-is('Resume')");
    await ended(page, "done");
    told.counts = await counts(page);
    return { ...told, ...(await noise(page)) };
  },

  // What is still to be sent is called off; more than an operation can be told is said, not guessed.
  async calling({ job, open }) {
    const page = await open({ path: "/deliveries?state=pending&trigger=later" });
    const told = { buttons: await buttons(page) };
    await page.click(".head [data-bulk=cancel]");
    told.matched = await previewed(page);
    told.begun = await started(page);
    await ended(page, "done");
    told.counts = await counts(page);
    await visit(page, job, "/deliveries?stuck=true");
    told.stuck = await buttons(page);
    await page.click(".head [data-bulk=cancel]");
    told.stuckMatched = await previewed(page);
    await page.keyboard.press("Escape");
    await visit(page, job, "/deliveries?state=parked&type=memory");
    await page.click(".head [data-bulk=retry]");
    await page.waitForSelector("dialog[open] .problem");
    told.refused = await textOf(page, "dialog[open] .problem-text");
    told.disabled = await page.locator("dialog[open] [data-start]").isDisabled();
    return told;
  },

  async ending({ open }) {
    const page = await open({ path: "/deliveries?state=parked" });
    await page.click(".head [data-bulk=discard]");
    const told = { matched: await previewed(page) };
    await started(page, "a mistake");
    await ended(page, "running");
    await confirm(page, "End it here");
    await ended(page, "cancelled");
    told.counts = await counts(page);
    told.buttons = await page.locator(".action-row").count();
    return told;
  },

  async viewer({ job, open }) {
    const page = await open({ key: job.viewer, path: "/deliveries?state=parked" });
    const why = async (selector) => {
      const button = page.locator(selector).first();
      return page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`).textContent();
    };
    const told = { all: await why(".head [data-bulk=retry]") };
    await page.click(".head [data-bulk=retry]", { force: true }); // it is disabled
    told.dialogs = await page.locator("dialog[open]").count();
    await visit(page, job, `/deliveries/${job.parked}`);
    told.one = await why(".action-row button:text-is('Retry')");
    told.masked = await textOf(page, ".facts dd");
    await visit(page, job, `/operations/${job.operation}`);
    told.operation = await why(".action-row button:text-is('Pause')");
    return { ...told, ...(await noise(page)) };
  },

  async looks({ job, open }) {
    const page = await open();
    const wrong = [];
    const picture = (name) => (job.pictures ? `${job.pictures}/${name}` : undefined);
    for (const [name, path] of Object.entries(job.paths)) wrong.push(...(await everyLook(page, job, path, picture(name))));
    await visit(page, job, "/deliveries?state=parked");
    await page.click(".head [data-bulk=discard]");
    await previewed(page);
    wrong.push(...(await everyLook(page, job, null, picture("dialog"))));
    await page.keyboard.press("Escape");
    await page.check("thead input");
    wrong.push(...(await complaints(page)));
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
