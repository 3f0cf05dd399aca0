// Templates: written with the server's preview beside, in both directions, compared and deleted.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const bodyIs = (page, text) => page.waitForFunction((text) => document.querySelector("[data-body]")?.textContent === text, text);

async function written(page, job) {
  await visit(page, job, "/templates/new");
  await fillForm(page, { "/id": "hello", "/eventType": "booking.confirmed", "/channel": "memory:default", "/body": "Hello {{guestName}}" });
  await bodyIs(page, "Hello Ada");
  await page.waitForSelector('[data-warnings="0"]');
  await fillForm(page, { "/body": "Hello {{guestName}} {{nobody}}" });
  await page.waitForSelector('[data-warnings="1"]');
  const sms = await page.getAttribute("[data-sms]", "data-sms");
  await page.locator('textarea[name="/body"]').evaluate((field) => field.setSelectionRange(field.value.length, field.value.length));
  await page.click('.placeholders button:has-text("rooms")');
  await bodyIs(page, "Hello Ada 2");
  await page.selectOption("select[name=data]", "own");
  await page.fill('textarea[aria-label="Data as JSON"]', '{"guestName":"Bob"}');
  await bodyIs(page, "Hello Bob ");
  await fillForm(page, { "/body": "س".repeat(71), "/language": "ar" });
  await page.waitForSelector('[data-sms="2"]');
  return { sms, dir: await page.getAttribute('textarea[name="/body"]', "dir") };
}

// HTML is shown as it would look, without running or loading anything of it.
async function html(page) {
  await fillForm(page, { "/format": "html", "/language": "en", "/subject": "For {{guestName}}", "/body": '<p style="color:red" onclick="window.bad=1">Hi <b>{{guestName}}</b></p><img src="https://elsewhere.example/a.png" alt="logo"><style>p{color:blue}</style><script>window.bad=1</script>' });
  await page.waitForFunction(() => document.querySelector("[data-html]")?.shadowRoot?.textContent.includes("Hi Bob"));
  return page.evaluate(() => {
    const root = document.querySelector("[data-html]").shadowRoot;
    return { text: root.textContent, colour: root.querySelector("p").style.color, scripts: root.querySelectorAll("script, img, style, [onclick]").length, bad: window.bad ?? null, subject: document.querySelector("[data-subject]").textContent };
  });
}

async function kept(page, job, act) {
  await save(page);
  await page.waitForURL("**/templates/hello");
  await settled(page);
  const first = await act("template");
  await fillForm(page, { "/subject": "Another" });
  await save(page);
  await page.waitForFunction(() => document.querySelector(".status")?.textContent === "Saved");
  await visit(page, job, "/templates/hello?tab=versions");
  await page.waitForSelector(".line.is-added");
  const added = (await page.locator(".line.is-added").allInnerTexts()).join("");
  await visit(page, job, "/templates/hello?tab=facts");
  await confirm(page, "Deactivate");
  await page.waitForSelector('h1 [data-state="disabled"]');
  await visit(page, job, "/templates?active=false");
  const hidden = await page.locator("tbody tr").count();
  await visit(page, job, "/templates/hello");
  await page.click('.action > button:text-is("Activate")');
  await page.waitForSelector('h1 [data-state="enabled"]');
  await confirm(page, "Deactivate");
  await page.waitForSelector('h1 [data-state="disabled"]');
  await confirm(page, "Delete", { name: "hello" });
  await page.waitForURL("**/templates");
  await settled(page);
  return { first: first.subject, added: added.includes("Another"), hidden, left: await page.locator("tbody tr").count() };
}

run(async ({ job, open, act }) => {
  const page = await open();
  if (job.part === "looks") {
    const found = [];
    for (const path of ["/templates", "/templates/new", "/templates/mail", "/templates/mail?tab=facts", "/templates/mail?tab=versions"])
      found.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${path.replace(/\W+/g, "-")}`)));
    return { wrong: found };
  }
  const told = { written: await written(page, job), html: await html(page), kept: await kept(page, job, act) };
  const reader = await open({ key: job.reader, path: "/templates" });
  told.why = await reader.locator(".action .why").allTextContents();
  return { ...told, ...(await noise(page)) };
});
