// Surveys: questions added, moved and translated, the page previewed, published with what is wrong, answered, counted.
import { confirm, everyLook, fillForm, noise, run, save, settled, visit } from "./console.mjs";

const saved = (page) => page.waitForFunction(() => document.querySelector(".status")?.textContent === "Saved");
const inFrame = (page, text) =>
  page.waitForFunction(
    (text) => {
      const frame = document.querySelector("iframe.survey-page");
      return frame && frame.title.includes(text);
    },
    text,
  );

async function made(page, job) {
  await visit(page, job, "/surveys/new");
  await fillForm(page, { "/id": "csi", "/title/en": "Your visit" });
  await page.click('[data-add-to="/questions"]');
  await fillForm(page, { "/questions/0/id": "why", "/questions/0/text/en": "Why?" });
  await page.click('[data-add-to="/questions"]');
  await fillForm(page, { "/questions/1/id": "rate", "/questions/1/type": "nps", "/questions/1/text/en": "Would you recommend us?" });
  await page.check('[name="/questions/1/required"]');
  await page.click('[aria-label="Up: Question 2: rate"]');
  await page.waitForFunction(() => document.querySelector('[name="/questions/0/id"]').value === "rate");
  await page.click('[data-add-to="/questions"]');
  await fillForm(page, { "/questions/2/id": "gone" });
  await page.click('[aria-label="Remove: Question 3: gone"]');
  await page.click('[data-add-to="/triggers"]');
  await fillForm(page, { "/triggers/0/id": "gr", "/triggers/0/eventKind": "visit", "/triggers/0/channel": "memory:default", "/triggers/0/schedule/reminders": "5d, 10d" });
  await save(page);
  await page.waitForURL("**/surveys/csi?tab=edit");
  await settled(page);
}

async function translated(page, act) {
  await inFrame(page, "(en)");
  await page.locator('fieldset:has(> legend:text-is("Languages")) > button:text-is("Add")').click();
  await fillForm(page, { "/languages/1": "ar" });
  await page.waitForSelector('[data-missing="3"]');
  await fillForm(page, { "/title/ar": "زيارتك", "/questions/0/text/ar": "هل توصي بنا؟" });
  await page.waitForSelector('[data-missing="1"]');
  await save(page);
  await saved(page);
  await page.waitForFunction(() => document.querySelectorAll(".try .views button").length === 2);
  await page.click('.try .views button:text-is("ar")');
  await inFrame(page, "(ar)");
  const frame = page.frameLocator("iframe.survey-page");
  await frame.locator("html[dir=rtl]").waitFor();
  await frame.getByText("هل توصي بنا؟").waitFor();
  return { survey: await act("survey") };
}

// What is wrong is told with its place when it is published, and nothing is.
async function published(page, job) {
  await page.click('[data-add-to="/questions"]');
  await fillForm(page, { "/questions/2/id": "which", "/questions/2/type": "single", "/questions/2/text/en": "Which?" });
  await save(page);
  await page.waitForFunction(() => document.querySelector(".form-foot .faint") === null);
  await page.click('.action > button:text-is("Publish")');
  await page.click('dialog[open] button[type=submit]');
  await page.waitForSelector("dialog[open] .problem");
  const wrong = await page.locator("dialog[open] .problem li").allInnerTexts();
  await page.click('dialog[open] button:text-is("Cancel")');
  await page.click('[data-add-to="/questions/2/choices"]');
  await fillForm(page, { "/questions/2/choices/0/value": "a" });
  await page.click('[data-add-to="/questions/2/choices"]');
  await fillForm(page, { "/questions/2/choices/1/value": "b" });
  await save(page);
  await page.waitForFunction(() => document.querySelector(".form-foot .faint") === null);
  await confirm(page, "Publish");
  await page.waitForSelector("[data-published]");
  return { wrong, note: await page.innerText("[data-published]") };
}

async function counted(page, job, act) {
  await act("answer");
  await visit(page, job, "/surveys/csi");
  await page.waitForSelector("[data-responses]");
  const told = { responses: await page.getAttribute("[data-responses]", "data-responses"), nps: await page.getAttribute("[data-nps]", "data-nps"), bars: await page.locator('[data-result="which"] .bar').allInnerTexts() };
  const [download] = await Promise.all([page.waitForEvent("download"), page.click('a:text-is("All responses as CSV")')]);
  told.file = download.suggestedFilename();
  await visit(page, job, "/surveys/csi?tab=responses");
  await page.waitForSelector("tbody tr");
  told.rows = await page.locator("tbody tr").count();
  await visit(page, job, "/surveys/csi?tab=drafts");
  await page.waitForSelector(".line.is-added");
  await visit(page, job, "/surveys/csi?tab=versions");
  await page.waitForSelector("tbody tr");
  told.versions = await page.locator("tbody tr").count();
  return told;
}

async function removed(page, job) {
  await visit(page, job, "/surveys/csi");
  await confirm(page, "Delete", { name: "csi" });
  await page.waitForURL("**/surveys");
  await settled(page);
  return page.locator("tbody tr").count();
}

run(async ({ job, open, act }) => {
  const page = await open();
  if (job.part === "looks") {
    const found = [];
    for (const path of ["/surveys", "/surveys/new", "/surveys/csi", "/surveys/csi?tab=edit", "/surveys/csi?tab=responses", "/surveys/csi?tab=versions"])
      found.push(...(await everyLook(page, job, path, job.pictures && `${job.pictures}/${path.replace(/\W+/g, "-")}`)));
    return { wrong: found };
  }
  await made(page, job);
  const told = { ...(await translated(page, act)), published: await published(page, job), counted: await counted(page, job, act), left: await removed(page, job) };
  return { ...told, ...(await noise(page)) };
});
