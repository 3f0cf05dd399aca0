// console_events.mjs - events: the list with its filters and what waits to be shown, the page of one, and what can be done with it.
import { confirm, everyLook, noise, run, settled, visit } from "./console.mjs";

const textsOf = (page, selector) => page.locator(selector).allInnerTexts();
const rows = (page) => page.$$eval("main tbody tr", (all) => all.map((row) => row.dataset.id));

async function filter(page, name, value) {
  await page.selectOption("[data-filter]", name);
  await page.fill(".filter [name=value]", value);
  await page.click(".filter button[type=submit]");
  await page.waitForFunction(([name, value]) => new URLSearchParams(location.search).get(name) === value, [name, value]);
  await settled(page);
}

const parts = {
  async list({ job, open, act }) {
    const page = await open({ path: "/events" });
    const told = { empty: await page.textContent(".empty-title"), command: await page.textContent(".empty .command code") };
    await page.waitForSelector("[data-live=live]");
    const first = await act("post", "order.paid", { item: "lamp" }, "order:1");
    const second = await act("post", "order.sent", { item: "desk" }, "order:2");
    await page.waitForSelector(".fresh");
    await page.waitForFunction(() => document.querySelector(".fresh")?.textContent.startsWith("2"));
    told.waiting = (await rows(page)).length;
    await page.click(".fresh");
    await page.waitForSelector("tbody tr");
    const all = await rows(page);
    told.shown = all[0] === second && all[1] === first;
    await filter(page, "type", "order.paid");
    told.type = (await rows(page)).join() === first;
    await visit(page, job, "/events");
    await filter(page, "entity", "order:2");
    told.entity = (await rows(page)).join() === second;
    // Where the stream cannot know, the list is asked: of these two one belongs here.
    await page.waitForSelector("[data-live=live]");
    await act("post", "order.back", { item: "sofa" }, "order:1");
    await act("post", "order.back", { item: "desk" }, "order:2");
    await page.waitForSelector(".fresh");
    told.fresh = await page.textContent(".fresh");
    await visit(page, job, "/events");
    await filter(page, "q", "lamp");
    told.words = (await rows(page)).join() === first;
    await filter(page, "source", "nobody");
    told.hidden = await page.textContent(".empty-title");
    await page.click(".empty button");
    await page.waitForFunction(() => !location.search);
    await page.waitForSelector("tbody tr");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /^\/events\/[0-9a-f-]{36}$/.test(location.pathname));
    return { ...told, ...(await noise(page)) };
  },

  async story({ job, open, act }) {
    const page = await open({ path: `/events/${job.event}` });
    await page.waitForSelector(".timeline li");
    const told = { title: (await page.textContent("h1")).trim(), sentence: await page.textContent(".head .intro") };
    told.what = await page.$$eval(".timeline li", (all) => all.map((one) => one.dataset.what));
    told.start = await page.textContent(".timeline li:first-child .offset");
    told.offsets = (await textsOf(page, ".timeline li + li .offset")).every((text) => /^\+\d+(\.\d)? (ms|s)$/.test(text));
    told.made = await page.getAttribute("#made tbody tr", "data-id");
    told.summary = await page.textContent("#why summary");
    await page.click("#why summary");
    told.why = (await textsOf(page, "#why tbody td")).map((text) => text.trim());
    told.links = await page.$$eval("#why tbody a", (all) => all.map((one) => one.getAttribute("href")));
    told.payload = JSON.parse(await page.textContent("#payload pre"));
    // It lives: an attempt that is made now is in the timeline without a click.
    await page.waitForSelector("[data-live=live]");
    await act("retry");
    await page.waitForFunction((n) => document.querySelectorAll(".timeline li[data-what=attempt]").length > n, told.what.filter((one) => one === "attempt").length);
    await confirm(page, "Post again");
    await page.waitForFunction((id) => location.pathname.startsWith("/events/") && !location.pathname.endsWith(id), job.event);
    await page.waitForSelector(".timeline li");
    told.again = new URL(page.url()).pathname.split("/").pop();
    return { ...told, ...(await noise(page)) };
  },

  async hook({ job, open }) {
    const page = await open({ path: `/events/${job.event}` });
    await page.waitForSelector("#hook");
    const told = { title: (await page.textContent("h1")).trim(), facts: (await textsOf(page, "#hook dd")).slice(0, 5), what: await page.$$eval(".timeline li", (all) => all.map((one) => one.dataset.what)) };
    const answer = page.waitForResponse((one) => one.url().endsWith(`/v1/inbox/${job.event}/reprocess`));
    await confirm(page, "Process again");
    told.again = (await answer).status();
    await settled(page);
    return { ...told, ...(await noise(page)) };
  },

  async viewer({ job, open }) {
    const page = await open({ key: job.viewer, path: `/events/${job.event}` });
    const button = page.locator(".action button", { hasText: "Post again" });
    return { disabled: await button.getAttribute("aria-disabled"), why: await page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`).textContent() };
  },

  async looks({ job, open }) {
    const page = await open();
    const wrong = [];
    for (const path of job.paths) wrong.push(...(await everyLook(page, job, path, job.pictures ? `${job.pictures}/${path.replace(/\W+/g, "_").slice(0, 20)}` : undefined)));
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
