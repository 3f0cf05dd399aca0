// console_lists.mjs - lists with whom they go to, and what recipients want.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const headed = (page, name) => page.waitForFunction((name) => document.querySelector("h1")?.textContent.includes(name), name);
const counted = (page, n) => page.waitForFunction((n) => document.querySelector("[data-count]")?.textContent === n, n);

async function lists({ job, open }) {
  const told = {};
  const page = await open({ path: "/lists" });
  told.empty = await page.locator(".empty-title").textContent();
  await page.click('a.button:text-is("New list")');
  await page.waitForSelector('form [name="/id"]');
  await fillForm(page, { "/id": "ops", "/name": "Operations" });
  await page.locator('fieldset:has(> legend:text-is("Channels")) > button.small').click();
  await fillForm(page, { "/channels/0": "memory:default" });
  await save(page);
  await headed(page, "ops");
  told.nobody = await page.locator(".empty-title").textContent();
  await page.click('.action > button:text-is("Add targets")');
  await page.fill("dialog [name=lines]", job.lines);
  await page.click("dialog button[type=submit]");
  await counted(page, "60");
  told.first = await page.locator("tbody tr").count();
  await page.click('.pager button:text-is("Next")');
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 10);
  await page.click('.pager button:text-is("Before")');
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 50);
  await page.locator('tr[data-id="p00@example.org"] button:text-is("Take out")').click();
  await page.locator("dialog[open] button[type=submit]").click();
  await counted(page, "59");
  await page.click('.tabs a[href$="tab=edit"]');
  await page.waitForSelector(".form");
  await fillForm(page, { "/name": "On call" });
  await save(page);
  await page.waitForFunction(() => !document.querySelector(".form") && document.querySelector("tbody"));
  if (job.looks) told.wrong = [...(await everyLook(page, job, "/lists")), ...(await everyLook(page, job, "/lists/ops"))];
  return { ...told, noise: await noise(page) };
}

async function remove({ job, open }) {
  const page = await open({ path: "/lists/ops" });
  await confirm(page, "Delete", { name: "ops" });
  await headed(page, "Lists");
  await settled(page);
  return { left: await page.locator("tbody tr").count() };
}

async function preferences({ job, open }) {
  const told = {};
  const page = await open({ path: "/preferences" });
  told.empty = await page.locator(".empty-title").textContent();
  await page.fill(".filter [name=address]", "+49123456789");
  await page.click(".filter button[type=submit]");
  await page.waitForSelector(".form");
  told.none = (await page.locator(".intro").textContent()).slice(0, 35);
  await page.locator('fieldset:has(> legend:text-is("Nothing through")) > button.small').click();
  await fillForm(page, { "/optOut/0": "sms" });
  await save(page);
  await page.waitForSelector("tbody tr");
  told.listed = await page.locator("tbody tr").evaluateAll((all) => all.map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
  if (job.looks) told.wrong = await everyLook(page, job, "/preferences");
  await page.locator("tbody a").first().click();
  await page.waitForSelector(".form");
  if (job.looks) told.wrong.push(...(await everyLook(page, job, null)));
  await confirm(page, "Forget");
  await page.waitForSelector(".empty-title");
  return { ...told, noise: await noise(page) };
}

run((given) => ({ lists, remove, preferences })[given.job.part](given));
