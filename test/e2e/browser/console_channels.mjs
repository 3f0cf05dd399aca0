// console_channels.mjs - the ways out: made, tried, watched while their far side is gone, deleted. job.part says which.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const text = (page, selector) => page.locator(selector).first().textContent().then((all) => all.trim());
const headed = (page, name) => page.waitForFunction((name) => document.querySelector("h1")?.textContent.includes(name), name);

async function make({ job, open }) {
  const told = {};
  const page = await open({ path: "/channels/new" });
  await fillForm(page, { "/key": "http:bi", "/type": "http" });
  await fillForm(page, { "/config/url": "nowhere", "/config/signingSecret": job.secret });
  await save(page);
  await page.waitForSelector(".field .wrong");
  told.wrong = await page.locator('[name="/config/url"]').getAttribute("aria-invalid");
  await fillForm(page, { "/config/url": job.receiver });
  await save(page);
  await headed(page, "http:bi");
  told.sentence = await text(page, ".intro");
  await page.click('.tabs a[href$="tab=edit"]');
  await page.waitForSelector(".form");
  await fillForm(page, { "/timeout": "5s" });
  await save(page);
  await page.waitForFunction(() => !document.querySelector(".form") && document.querySelector(".section"));
  told.timeout = (await page.locator("dl.facts dd").allTextContents()).includes("5s");
  await page.click('.tabs a[href$="tab=versions"]');
  await page.waitForSelector(".compare");
  told.compared = (await text(page, ".compare")).includes('"timeout": "5s"');
  await confirm(page, "Disable");
  await page.waitForSelector(".head [data-state=disabled]");
  told.off = await text(page, ".intro");
  await page.click('.action > button:text-is("Enable")');
  await page.waitForSelector(".head [data-state=enabled]");
  await visit(page, job, "/channels");
  told.listed = await page.locator("tbody tr").evaluateAll((all) => all.map((row) => row.cells[0].textContent));
  return { ...told, noise: await noise(page) };
}

async function send({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/channels/http%3Abi" });
  await page.click('.action > button:text-is("Send a test")');
  await page.fill("dialog [name=subject]", "Is this on?");
  await page.click("dialog button[type=submit]");
  await page.click("dialog [data-result] a.button");
  await act("settle");
  await page.waitForSelector('[data-state="delivered"]');
  told.path = new URL(page.url()).pathname.replace(/[0-9a-f-]{36}/, "ID");
  await visit(page, job, "/channels/http%3Abi");
  await page.click('.action > button:text-is("Change a secret")');
  await page.fill("dialog [name=overlap]", "1h");
  await page.click("dialog button[type=submit]");
  told.secret = await text(page, "dialog [data-secret]");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  return { ...told, noise: await noise(page) };
}

async function broken({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/channels/http%3Abi" });
  told.before = await text(page, ".intro");
  await page.waitForSelector(".is-live");
  await act("stop");
  await page.waitForSelector('.head [data-state="open"]');
  told.error = (await text(page, "[data-error]")).split(":")[0];
  told.sentence = (await text(page, ".intro")).slice(0, 41);
  await visit(page, job, "/channels");
  told.listed = await page.locator('tr[data-id="http:bi"] [data-state=open]').count();
  if (job.looks) told.wrong = [...(await everyLook(page, job, "/channels")), ...(await everyLook(page, job, "/channels/http%3Abi"))];
  await visit(page, job, "/channels/http%3Abi");
  await confirm(page, "Delete", { name: "http:bi" });
  await headed(page, "Channels");
  await settled(page);
  told.left = await page.locator('tr[data-id="http:bi"]').count();
  return told;
}

// reads: who may only look sees each button, and why he may not press it.
async function reads({ job, open }) {
  const page = await open({ key: job.reader, path: "/channels/http%3Abi" });
  const why = await page.locator(".head-actions .action .why").allTextContents();
  const isOff = await page.locator('.head-actions .action > button:not([aria-disabled="true"])').count();
  return { why, pressable: isOff };
}

run((given) => ({ make, send, broken, reads })[given.job.part](given));
