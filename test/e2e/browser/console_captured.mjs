// console_captured.mjs - what memory channels took, read: job.part says which of it.
import { LIMIT, everyLook, noise, run, settled, visit } from "./console.mjs";

const rows = (page) => page.locator("tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].slice(1, 4).map((cell) => cell.textContent.trim())));

async function list({ job, open, act }) {
  const told = {};
  const page = await open({ path: "/captured" });
  told.empty = await page.locator(".empty-title").textContent();
  await page.waitForSelector(".is-live");
  await act("send", "Ada");
  await page.click("button.fresh");
  await page.waitForSelector("tbody tr");
  await act("send", "Zoë");
  await page.waitForSelector("button.fresh");
  told.waits = (await rows(page)).length;
  await page.click("button.fresh");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 4);
  told.rows = await rows(page);
  await page.selectOption("[data-filter]", "channel");
  await page.fill(".filter [name=value]", "memory:own");
  await page.click(".filter button[type=submit]");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
  told.filtered = new URL(page.url()).search;
  await page.locator("tbody a").first().click();
  await page.waitForSelector("[data-text]");
  told.text = await page.locator("[data-text]").textContent();
  told.noise = await noise(page);
  return told;
}

// The mail has a script that would change it and a picture that would be fetched.
async function mail({ job, open }) {
  const page = await open({ path: `/captured/${job.mail}` });
  const frame = page.frameLocator("iframe.mail");
  await frame.locator("h1").waitFor({ timeout: LIMIT });
  const told = { title: (await page.locator("h1").first().textContent()).trim(), says: await frame.locator("h1").textContent() };
  told.sandbox = await page.locator("iframe.mail").getAttribute("sandbox");
  told.errors = (await noise(page)).errors;
  await page.click(".tabs a:last-child");
  await page.waitForSelector(".json");
  told.data = (await page.locator(".json").textContent()).includes('"eventKind": "own"');
  return told;
}

async function requests({ job, open }) {
  const told = {};
  const page = await open();
  await visit(page, job, `/captured/${job.mail}?tab=source`);
  told.source = (await page.locator("[data-source]").textContent()).includes("To: ada@example.org");
  await visit(page, job, `/captured/${job.chat}`);
  told.card = await page.locator(".message-card").textContent();
  await page.click('.tabs a[href*="tab=request"]');
  await page.waitForSelector("tbody");
  told.request = (await page.locator(".json").textContent()).includes("Order 7");
  await settled(page);
  return told;
}

async function looks({ job, open }) {
  const page = await open();
  const wrong = [];
  for (const path of job.paths) wrong.push(...(await everyLook(page, job, path, job.pictures ? `${job.pictures}/captured-${wrong.length}-${job.paths.indexOf(path)}` : null)));
  return { wrong };
}

run((given) => ({ list, mail, requests, looks })[given.job.part](given));
