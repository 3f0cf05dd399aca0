// console_plan.mjs - the plan: days, hours, channels, what a slot leads to, and calling off.
import { confirm, everyLook, noise, run, settled, visit } from "./console.mjs";

const texts = async (page, selector) => (await page.locator(selector).allInnerTexts()).map((text) => text.replace(/\s+/g, " ").trim());
const days = (page) => page.$$eval("[data-day]", (all) => Object.fromEntries(all.map((one) => [one.dataset.day, Number(one.dataset.count)])));

async function filter(page, name, value) {
  await page.selectOption("[data-filter]", name);
  await page.fill(".filter [name=value]", value);
  await page.click(".filter button[type=submit]");
  await page.waitForFunction(([name, value]) => new URLSearchParams(location.search).get(name) === value, [name, value]);
  await settled(page);
}

const parts = {
  async agenda({ job, open }) {
    const page = await open({ path: "/plan?zone=UTC" });
    await page.waitForSelector("[data-day]");
    const told = { days: await days(page), sum: await page.getAttribute("[data-sum]", "data-sum"), gaps: await texts(page, ".plan-gap") };
    told.hours = await page.$$eval("[data-hour]", (all) => all.map((one) => [one.closest("[data-day]").dataset.day, Number(one.dataset.hour), Number(one.dataset.count), one.getAttribute("aria-label")]));
    told.channels = await texts(page, "[data-day='2031-03-04'] tbody td");
    await page.selectOption("[name=zone]", "Asia/Kathmandu"); // 5:45 ahead
    await page.waitForFunction(() => document.querySelector("[data-hour='20']"));
    told.kathmandu = await page.$$eval("[data-hour]", (all) => all.map((one) => Number(one.dataset.hour)));
    await visit(page, job, "/plan?zone=UTC");
    await filter(page, "channel", "http:out");
    told.ofChannel = await days(page);
    await filter(page, "trigger", "nobody");
    told.hidden = await page.textContent(".empty-title");
    await page.click(".empty button");
    await page.waitForSelector("[data-day]");
    await page.click("[data-day='2031-03-04'] [data-hour='9']");
    await page.waitForFunction(() => location.pathname === "/deliveries");
    await page.waitForSelector("tbody tr");
    told.slot = await page.locator("tbody tr").count();
    await page.goBack();
    await page.waitForSelector("[data-day]");
    await page.click("text=Later");
    await page.waitForSelector("[data-day='2031-03-23']");
    told.later = await days(page);
    await page.click("text=From now on");
    await page.waitForSelector("[data-day='2031-03-04']");
    return { ...told, ...(await noise(page)) };
  },

  // An hour that clocks show twice is one slot, with all that is due in both.
  async clocks({ open }) {
    const page = await open({ path: "/plan?zone=Europe/Berlin" });
    await page.waitForSelector("[data-hour]");
    const told = { hours: await page.$$eval("[data-hour]", (all) => all.map((one) => [Number(one.dataset.hour), Number(one.dataset.count)])) };
    await page.click("[data-hour='2']");
    await page.waitForFunction(() => location.pathname === "/deliveries");
    await page.waitForSelector("tbody tr");
    return { ...told, slot: await page.locator("tbody tr").count() };
  },

  async cancel({ job, open }) {
    const page = await open({ path: "/plan?zone=UTC" });
    await page.waitForSelector("[data-day]");
    const button = page.locator(".action button", { hasText: "Call off for the entity" });
    const told = { before: await page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`).textContent() };
    await filter(page, "entity", "inv-1");
    told.own = await days(page);
    await confirm(page, "Call off for the entity");
    await page.waitForSelector("[data-told]");
    told.told = await page.textContent("[data-told]");
    await page.waitForSelector(".empty-title");
    await visit(page, job, "/plan?zone=UTC");
    told.left = await days(page);
    return { ...told, ...(await noise(page)) };
  },

  // What is not counted to its end is said to be so.
  async partial({ open }) {
    const page = await open();
    await page.route("**/v1/plan?*", async (route) => {
      const answer = await route.fetch();
      const told = await answer.json();
      await route.fulfill({ response: answer, json: { ...told, isPartial: true, countedUntil: "2031-03-04T00:00:00.000Z" } });
    });
    await page.evaluate(() => document.querySelector("nav a[href='/plan']").click());
    await page.waitForSelector("[data-partial]");
    return { said: (await page.textContent("[data-partial]")).slice(0, 43), least: await texts(page, ".plan-day-head strong") };
  },

  async empty({ open }) {
    const page = await open({ path: "/plan" });
    await page.waitForSelector(".empty-title");
    return { empty: await page.textContent(".empty-title") };
  },

  async looks({ job, open }) {
    const page = await open();
    const wrong = await everyLook(page, job, "/plan?zone=Europe/Berlin", job.pictures ? `${job.pictures}/plan` : undefined);
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
