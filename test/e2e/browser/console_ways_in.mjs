// console_ways_in.mjs - webhooks and rows of outboxes as they came; sources, integrations, polls. job.part says which.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const text = (page, selector) => page.locator(selector).first().textContent().then((all) => all.trim());
const headed = (page, name) => page.waitForFunction((name) => document.querySelector("h1")?.textContent.includes(name), name);
const states = (page) => page.locator("tbody tr").evaluateAll((all) => all.map((row) => row.querySelector("[data-state]")?.dataset.state ?? ""));
const facts = (page) => page.locator("dl.facts > div").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.querySelector("dt").textContent, one.querySelector("dd").textContent.trim()])));

async function inbox({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/inbox" });
  told.empty = await text(page, ".empty-title");
  await page.waitForSelector(".is-live");
  await act("hooks");
  await page.waitForSelector("#refused tbody tr");
  told.refused = await text(page, "#refused tbody [data-state]");
  await page.click("button.fresh");
  await page.waitForFunction(() => document.querySelectorAll(".list tbody tr").length === 2);
  told.states = await page.locator(".list tbody tr").evaluateAll((all) => all.map((row) => row.querySelector("[data-state]").dataset.state));
  await visit(page, job, "/inbox?status=completed");
  await page.locator("tbody a").first().click();
  await page.waitForSelector(".detail");
  told.good = await text(page, ".detail .intro");
  told.event = await page.locator('a[href^="/events/"]').count();
  told.body = (await text(page, ".json")).includes('"full_name": "octo/hello"');
  told.header = (await page.locator("tbody").textContent()).includes("x-github-event");
  await visit(page, job, "/inbox?status=failed");
  await page.locator("tbody a").first().click();
  await page.waitForSelector(".detail");
  told.bad = (await text(page, ".detail .intro")).split(":")[0];
  if (job.looks) told.wrong = [...(await everyLook(page, job, null)), ...(await everyLook(page, job, "/inbox"))];
  await visit(page, job, "/inbox?status=failed");
  await page.locator("tbody a").first().click();
  await page.waitForSelector(".detail");
  const answered = page.waitForResponse((one) => one.url().endsWith("/reprocess"));
  await confirm(page, "Read it anew");
  told.anew = (await answered).status();
  return { ...told, noise: await noise(page) };
}

async function outbox({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/outbox?status=Failed" });
  told.failed = await states(page);
  await page.locator("tbody a").first().click();
  await page.waitForSelector(".detail");
  told.why = await text(page, ".detail .intro");
  told.payload = (await text(page, ".json")).includes('"nights": 2');
  await confirm(page, "Replay");
  await act("published", 1);
  await page.reload();
  await page.waitForSelector('.head [data-state="Published"]');
  if (job.looks) told.wrong = [...(await everyLook(page, job, null)), ...(await everyLook(page, job, "/outbox"))];
  await visit(page, job, "/outbox");
  await page.click('.action > button:text-is("Replay all that failed")');
  await page.waitForSelector("dialog [data-matched]");
  told.matched = await page.locator("dialog [data-matched]").getAttribute("data-matched");
  await page.click("dialog button[type=submit]");
  await page.waitForFunction(() => document.querySelector("[data-count=done] dd")?.textContent === "2");
  await act("published", 3);
  return { ...told, noise: await noise(page) };
}

async function sources({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/sources" });
  told.empty = await text(page, ".empty-title");
  await page.click('a.button:text-is("New source")');
  await page.waitForSelector('form [name="/id"]');
  await fillForm(page, { "/id": "gh", "/provider": "github" });
  await save(page);
  await headed(page, "gh");
  const url = await text(page, "[data-url]");
  const secret = await text(page, "[data-secret]");
  told.here = url.startsWith(job.url + "/hooks/t_");
  told.curl = (await text(page, "[data-curl]")).includes(url);
  told.first = await act("hook", url, secret);
  await page.reload();
  await page.waitForSelector("[data-seen] [data-state]");
  told.seen = await page.locator("[data-seen] [data-state]").first().getAttribute("data-state");
  told.onceOnly = await page.locator("[data-secret]").count();
  await page.click('.action > button:text-is("Change its secret")');
  await page.fill("dialog [name=overlap]", "1h");
  await page.click("dialog button[type=submit]");
  const next = await text(page, "dialog [data-secret]");
  told.other = next !== secret;
  await page.keyboard.press("Escape");
  told.second = await act("hook", url, next);
  if (job.looks) told.wrong = [...(await everyLook(page, job, "/sources")), ...(await everyLook(page, job, "/sources/gh"))];
  await visit(page, job, "/sources/gh");
  await confirm(page, "Disable");
  await page.waitForSelector(".head [data-state=disabled]");
  await confirm(page, "Delete", { name: "gh" });
  await page.waitForSelector(".empty-title");
  return { ...told, noise: await noise(page) };
}

async function integrations({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/integrations" });
  told.empty = await text(page, ".empty-title");
  await visit(page, job, "/integrations/new");
  await page.waitForSelector('form [name="/id"]');
  await fillForm(page, { "/id": "acme", "/provider": "linear", "/baseUrl": job.peer });
  await page.fill('textarea[aria-label="Token"]', JSON.stringify({ source: "static", value: job.token }));
  await save(page);
  await headed(page, "acme");
  told.state = await page.locator(".head [data-state]").first().getAttribute("data-state");
  await act("poll");
  await visit(page, job, "/polls");
  told.polls = await page.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent.trim())));
  if (job.looks) told.wrong = [...(await everyLook(page, job, "/polls")), ...(await everyLook(page, job, "/integrations")), ...(await everyLook(page, job, "/integrations/acme"))];
  await visit(page, job, "/integrations/acme");
  told.polled = (await facts(page))["Asked every"];
  await page.click('.tabs a[href$="tab=edit"]');
  await page.waitForSelector(".form");
  await confirm(page, "Disable");
  await page.waitForSelector(".head [data-state=disabled]");
  await page.click('.action > button:text-is("Enable")');
  await page.waitForFunction(() => !document.querySelector(".head [data-state=disabled]"));
  await confirm(page, "Delete", { name: "acme" });
  await headed(page, "Integrations");
  await settled(page);
  told.left = await page.locator("tbody tr").count();
  return { ...told, noise: await noise(page) };
}

run((given) => ({ inbox, outbox, sources, integrations })[given.job.part](given));
