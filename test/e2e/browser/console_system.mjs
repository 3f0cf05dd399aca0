// console_system.mjs - keys and sessions, tenants, nodes, settings, sites: the pages of the system.
import { confirm, everyLook, noise, run, settled, signIn, visit } from "./console.mjs";

const rows = (page) => page.$$eval("main tbody tr", (all) => all.map((row) => row.innerText.replace(/\s+/g, " ").trim()));
const rowOf = (page, id) => page.locator(`main tbody tr[data-id="${id}"]`);
const dialog = (page) => page.locator("dialog[open]");
const shut = (page) => page.waitForFunction(() => !document.querySelector("dialog[open]"));

async function press(page, within, label) {
  await within.locator(`.action > button:text-is("${label}")`).click();
  await dialog(page).waitFor();
}

// send confirms the dialog that is open, and waits until it is done.
async function send(page) {
  await dialog(page).locator("button[type=submit]").click();
  await shut(page);
  await settled(page);
}

const parts = {
  async keys({ job, open, act }) {
    const page = await open({ path: "/keys" });
    await page.waitForSelector("tbody tr");
    const told = { mine: (await rows(page)).filter((text) => text.includes("yours, now")).length };
    told.under = await page.$$eval("tbody tr", (all) => all.findIndex((row) => row.innerText.includes("yours, now")) - all.findIndex((row) => row.innerText.includes("system right")));
    // A key is made, and shown this once.
    await page.click('.head-actions .action > button:text-is("New key")');
    await dialog(page).locator("[name=role]").selectOption("site");
    await dialog(page).locator("[name=name]").fill("plant");
    told.needed = await dialog(page).locator("[name=site]").evaluate((field) => field.required);
    await dialog(page).locator("[name=site]").fill("plant-9");
    await dialog(page).locator("[name=expires]").fill("2035-01-02T03:04");
    await dialog(page).locator("button[type=submit]").click();
    const text = (await page.locator(".once").textContent()).trim();
    told.works = await act("who", text);
    await page.click('dialog[open] button:text-is("I have kept it")');
    await shut(page);
    told.gone = !(await page.content()).includes(text);
    // It is changed.
    const id = await act("id_of", "plant");
    await rowOf(page, id).waitFor();
    told.limits = (await rowOf(page, id).innerText()).includes("plant-9");
    await press(page, rowOf(page, id), "Edit");
    await dialog(page).locator("[name=role]").selectOption("worker");
    await dialog(page).locator("[name=handlers]").fill("worker:rates, worker:mail");
    await dialog(page).locator("[name=name]").fill("robot");
    await send(page);
    told.changed = await act("key", id);
    // It is revoked, by its name.
    await page.waitForFunction((id) => document.querySelector(`tr[data-id="${id}"]`)?.innerText.includes("robot"), id);
    await press(page, rowOf(page, id), "Revoke");
    told.unnamed = await dialog(page).locator("button[type=submit]").isDisabled();
    await dialog(page).locator("[name=confirm]").fill("robot");
    await send(page);
    await page.waitForFunction((id) => !document.querySelector(`tr[data-id="${id}"]`), id);
    told.refused = await act("who", text);
    return { ...told, ...(await noise(page)) };
  },

  // Somebody else's session is ended: that browser is led back to sign in, and its page is kept in the URL.
  async ended({ job, open, act }) {
    const other = await open({ key: job.other, path: "/channels" });
    const page = await open({ path: "/keys" });
    const id = await act("session_of", "a operator");
    await press(page, rowOf(page, id), "End session");
    await send(page);
    await page.waitForFunction((id) => !document.querySelector(`tr[data-id="${id}"]`), id);
    await other.click('.pager button:text-is("Refresh")');
    await other.waitForSelector("[name=key]");
    const told = { led: new URL(other.url()).pathname };
    await signIn(other, job, job.other);
    await visit(other, job, "/channels");
    told.again = await other.textContent("h1");
    // A key takes all of its sessions with it.
    await visit(page, job, "/keys");
    const key = await act("id_of", "a operator");
    await press(page, rowOf(page, key), "Revoke");
    await dialog(page).locator("[name=confirm]").fill("a operator");
    await send(page);
    await other.click('.pager button:text-is("Refresh")');
    await other.waitForSelector("[name=key]");
    await other.fill("[name=key]", job.other);
    await other.click("button[type=submit]");
    await other.waitForSelector(".problem, [role=alert]");
    told.out = new URL(other.url()).pathname;
    return told;
  },

  async tenants({ job, open, act }) {
    const page = await open({ path: "/tenants" });
    await page.waitForSelector("tbody tr");
    await page.click('.head-actions .action > button:text-is("New tenant")');
    await dialog(page).locator("[name=id]").fill("Not an id");
    await dialog(page).locator("button[type=submit]").click();
    const told = { refused: (await dialog(page).locator(".problem code").first().textContent()).trim() };
    await dialog(page).locator("[name=id]").fill("acme");
    await dialog(page).locator("[name=name]").fill("Acme");
    await send(page);
    await rowOf(page, "acme").waitFor();
    told.next = await page.textContent(".note code");
    await press(page, rowOf(page, "acme"), "Rename");
    await dialog(page).locator("[name=name]").fill("Acme Ltd");
    await send(page);
    await page.waitForFunction(() => document.querySelector('tr[data-id="acme"]').innerText.includes("Acme Ltd"));
    // Its keys are one click away, and a key is made for it.
    await rowOf(page, "acme").locator("td:nth-child(4) a").click();
    await page.waitForFunction(() => location.pathname + location.search === "/keys?tenant=acme");
    await page.click('.head-actions .action > button:text-is("New key")');
    await dialog(page).locator("[name=role]").selectOption("admin");
    await dialog(page).locator("[name=name]").fill("boss");
    await page.waitForFunction(() => document.querySelector("dialog [name=tenant]")?.value === "acme"); // whose keys are shown
    await dialog(page).locator("button[type=submit]").click();
    told.tenant = (await act("who", (await page.locator(".once").textContent()).trim())).tenant;
    await page.click('dialog[open] button:text-is("I have kept it")');
    await page.waitForFunction(() => [...document.querySelectorAll("tbody tr")].some((row) => row.innerText.includes("boss")));
    // What still has something is not deleted; what has nothing is.
    await visit(page, job, "/tenants");
    told.stays = (await rowOf(page, "default").locator(".why").last().textContent()).trim();
    await press(page, rowOf(page, "acme"), "Delete");
    await dialog(page).locator("[name=confirm]").fill("acme");
    await dialog(page).locator("button[type=submit]").click();
    told.kept = (await dialog(page).locator(".problem-text").textContent()).trim();
    await act("revoke");
    await dialog(page).locator("button[type=submit]").click();
    await shut(page);
    await page.waitForFunction(() => !document.querySelector('tr[data-id="acme"]'));
    return { ...told, ...(await noise(page)) };
  },

  async nodes({ job, open, act }) {
    const page = await open({ path: "/nodes" });
    await page.waitForSelector("tbody tr");
    const told = { one: await page.$$eval("tbody tr", (all) => all.map((row) => [row.dataset.id, row.querySelector("[data-state]:not([data-state=this])").dataset.state, !!row.querySelector("[data-state=this]")])) };
    await visit(page, job, "/sites");
    told.none = await page.textContent(".empty-title");
    await act("site");
    await page.click('.pager button:text-is("Refresh")');
    await page.waitForSelector("tbody tr");
    told.site = await page.$eval("tbody tr", (row) => [row.dataset.id, row.querySelector("[data-state]").dataset.state]);
    await act("forward");
    await page.click('.pager button:text-is("Refresh")');
    await page.waitForSelector("[data-state=heard]");
    await act("silence");
    await page.click('.pager button:text-is("Refresh")');
    await page.waitForSelector("[data-state=silent]");
    told.silent = await page.$$eval("tbody tr td", (all) => [3, 4, 5].map((n) => all[n].innerText.trim()));
    told.note = (await page.textContent(".note")).slice(0, 22);
    await page.click("tbody td.main a");
    await page.waitForFunction(() => location.pathname + location.search === "/deliveries?site=plant-7");
    return { ...told, ...(await noise(page)) };
  },

  async settings({ job, open, act }) {
    const page = await open({ path: "/settings" });
    await page.waitForSelector("#values tbody tr");
    const value = (name) => page.$eval(`tr[data-id="${name}"]`, (row) => [...row.children].slice(1).map((cell) => cell.innerText.trim()));
    const told = { secret: await value("admin-key"), usual: await value("adopt"), shown: (await page.content()).includes(job.key), store: await page.textContent("#store dd") };
    await page.check("[name=only]");
    await page.waitForFunction(() => location.search === "?only=true" && !document.querySelector('tr[data-id="adopt"]'));
    // Outbound is held, with a reason, and released; the band says so on every page.
    await confirm(page, "Hold outbound", { reason: "the relay moves" });
    await page.waitForSelector("[data-held=true]");
    told.band = (await page.textContent(".band")).trim();
    told.held = await act("held");
    await confirm(page, "Release");
    await page.waitForSelector("[data-held=false]");
    told.released = await act("held");
    // The clock that is moved by hand.
    const before = await page.getAttribute("[data-now]", "datetime");
    await page.click('.action > button:text-is("Advance the clock")');
    await dialog(page).locator("[name=by]").fill("6h");
    await dialog(page).locator("button[type=submit]").click();
    await shut(page);
    await page.waitForFunction((before) => document.querySelector("[data-now]")?.getAttribute("datetime") !== before, before);
    told.hours = (Date.parse(await page.getAttribute("[data-now]", "datetime")) - Date.parse(before)) / 3_600_000;
    told.same = (await act("clock")) === (await page.getAttribute("[data-now]", "datetime"));
    return { ...told, ...(await noise(page)) };
  },

  // Who may not act sees why, on each page.
  async viewer({ job, open }) {
    const page = await open({ key: job.viewer });
    const told = {};
    for (const path of ["/keys", "/tenants"]) {
      await visit(page, job, path);
      told[path] = [await page.textContent(".empty-title"), await page.textContent(".empty-title + p")];
    }
    await visit(page, job, "/settings");
    told.outbound = (await page.textContent("#outbound .why")).trim();
    told.clock = (await page.textContent("#clock .why")).trim();
    told.settings = await page.textContent(".empty-title");
    for (const path of ["/nodes", "/sites"]) {
      await visit(page, job, path);
      told[path] = await page.textContent("h1");
    }
    return told;
  },

  async looks({ job, open, act }) {
    const page = await open();
    const wrong = [];
    for (const path of job.paths) wrong.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${path.split("?")[0].replace(/\W+/g, "-")}`)));
    await visit(page, job, "/keys");
    await page.click('.head-actions .action > button:text-is("New key")');
    await dialog(page).locator("[name=role]").selectOption("worker");
    wrong.push(...(await everyLook(page, job, null, job.pictures && `${job.pictures}/new-key`)));
    return { wrong, ...(await noise(page)) };
  },
};

run((given) => parts[given.job.part](given));
