// console_audit.mjs - the audit: its filters, its figures, whether the chain is whole, and the export.
import fs from "node:fs";
import { everyLook, noise, run, settled, visit } from "./console.mjs";

const kinds = (page) => page.$$eval("main tbody tr", (all) => all.map((row) => `${row.children[2].innerText} ${row.querySelector(".badge")?.dataset.state}`));
const figure = (page, name) => page.textContent(`[data-tile=${name}] b`);

// answered does something that changes the filter, and waits until what it shows is what was asked for then.
async function answered(page, name, change) {
  const asked = (one) => one.url().includes("/v1/audit?") && new URL(one.url()).searchParams.has(name);
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

const parts = {
  async filters({ job, open }) {
    const page = await open({ path: "/audit" });
    await page.waitForSelector("tbody tr");
    const told = { volume: await figure(page, "volume"), rate: await figure(page, "rate"), backlog: await figure(page, "backlog") };
    for (const [name, value] of Object.entries(job.filters)) {
      await visit(page, job, "/audit");
      await filter(page, name, value);
      told[name] = await kinds(page);
    }
    await visit(page, job, "/audit?kind=Operator.discard");
    told.who = (await page.textContent("tbody tr td:nth-child(5)")).trim();
    told.why = (await page.textContent(".audit-detail > span")).trim();
    await answered(page, "actor", () => page.click("tbody tr td:nth-child(5) a"));
    told.his = (await kinds(page)).includes("Operator.discard Discarded") || (await kinds(page)).includes("Operator.discard Success");
    await visit(page, job, "/audit?site=nowhere");
    told.hidden = await page.textContent(".empty-title");
    return { ...told, ...(await noise(page)) };
  },

  async chain({ job, open, act }) {
    const page = await open({ path: "/audit" });
    await page.click('button:text-is("Verify the chain")');
    await page.waitForSelector("[data-verdict=ok]");
    const told = { whole: (await page.textContent(".verdict p:nth-child(2)")).trim() };
    await page.click("#chain summary");
    told.head = await page.textContent("#chain dd code");
    // What is exported is what is shown.
    await visit(page, job, "/audit?kind=Operator.discard");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-export]")]);
    told.exported = fs.readFileSync(await download.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line).kind);
    await visit(page, job, "/audit");
    const bad = await act("break");
    await page.click('button:text-is("Verify the chain")');
    await page.waitForSelector("[data-verdict=broken]");
    told.broken = (await page.textContent(".verdict-word")).includes(`at row ${bad}.`);
    told.problem = (await page.textContent(".verdict p:nth-child(2)")).split(".")[0];
    return { ...told, ...(await noise(page)) };
  },

  // Reading and exporting are rights of their own.
  async rights({ job, open }) {
    const reader = await open({ key: job.reader, path: "/audit" });
    await reader.waitForSelector("tbody tr");
    const told = { export: (await reader.textContent("#why-export")).trim(), verify: await reader.isEnabled('button:text-is("Verify the chain")') };
    const exporter = await open({ key: job.exporter, path: "/audit" });
    told.list = (await exporter.textContent(".empty-title")).trim();
    const [download] = await Promise.all([exporter.waitForEvent("download"), exporter.click("[data-export]")]);
    told.exported = fs.readFileSync(await download.path(), "utf8").trim().split("\n").length > 1;
    return told;
  },

  async looks({ job, open }) {
    const page = await open({ path: "/audit" });
    await page.click('button:text-is("Verify the chain")');
    await page.waitForSelector("[data-verdict]");
    await page.click("tbody tr summary");
    const wrong = await everyLook(page, job, null, job.pictures && `${job.pictures}/audit`);
    return { wrong, ...(await noise(page)) };
  },
};

run((given) => parts[given.job.part](given));
