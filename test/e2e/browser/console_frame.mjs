// console_frame.mjs - the frame of the console: signing in and out, keys, the one stream, what is refused.
import { noise, run, settled, visit, everyLook, fillForm, save, confirm } from "./console.mjs";

// firstLoad is what a browser that was never here fetches of the console for the overview, in bytes on the wire.
async function firstLoad(page, job) {
  const context = await page.context().browser().newContext({ storageState: await page.context().storageState() });
  const other = await context.newPage();
  let bytes = 0;
  other.on("response", (answer) => {
    const path = new URL(answer.url()).pathname;
    if (path === "/" || path.startsWith("/console/")) bytes += Number(answer.headers()["content-length"]);
  });
  await visit(other, job, "/");
  await context.close();
  return bytes;
}

const parts = {
  // Whoever comes without a session signs in, and is then where he wanted to be; back and forward work.
  async signing({ job, open }) {
    const page = await open({ signedIn: false });
    const told = {};
    await page.goto(`${job.url}/channels?x=1`);
    await page.waitForSelector("[name=key]");
    told.asked = page.url().slice(job.url.length);
    await page.fill("[name=key]", "pk_nobody");
    await page.click("button[type=submit]");
    told.wrong = await page.textContent("[role=alert]");
    await page.fill("[name=key]", job.key);
    await page.click("button[type=submit]");
    await page.waitForSelector(".rail");
    told.then = page.url().slice(job.url.length);
    told.cookie = (await page.context().cookies()).map((one) => [one.name, one.httpOnly, one.sameSite]);
    await page.click("nav a[href='/events']");
    await page.waitForFunction(() => location.pathname === "/events");
    await page.goBack();
    await page.waitForFunction(() => location.pathname === "/channels");
    await settled(page);
    told.back = await page.textContent("h1");
    const fresh = await open({ signedIn: false, context: await page.context().browser().newContext() });
    await fresh.goto(`${job.url}/signin#${job.key}`);
    await fresh.waitForSelector(".rail");
    await settled(fresh);
    told.fragment = new URL(fresh.url()).hash;
    told.bytes = await firstLoad(page, job);
    await page.click("text=Sign out");
    await page.waitForSelector("[name=key]");
    told.out = page.url().slice(job.url.length);
    told.cookieThen = (await page.context().cookies()).length;
    return { ...told, ...(await noise(page)) };
  },

  async keyboard({ job, open }) {
    const page = await open();
    const told = {};
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open] kbd");
    told.help = await page.textContent("dialog h2");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.waitForFunction(() => location.pathname === "/channels");
    await page.waitForSelector("tbody tr");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.pathname.startsWith("/channels/"));
    await page.keyboard.press("u");
    await page.waitForFunction(() => location.pathname === "/channels");
    await page.keyboard.press("Tab");
    await page.selectOption(".choice >> nth=3 >> select", "off").catch(async () => {
      await page.click(".prefs summary");
      await page.selectOption(".prefs .choice >> nth=3 >> select", "off");
    });
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    told.afterOff = await page.locator("dialog[open]").count();
    await visit(page, job, "/channels");
    await page.keyboard.press("Tab");
    told.first = await page.evaluate(() => document.activeElement.className);
    return told;
  },

  // Ten tabs have one stream.
  async stream({ job, open, act }) {
    const first = await open();
    const context = first.context();
    const tabs = [first];
    while (tabs.length < 10) tabs.push(await open({ context, path: "/channels" }));
    for (const tab of tabs) await tab.waitForSelector("[data-live=live]");
    const told = { streams: await act("streams") };
    await first.close();
    await new Promise((done) => setTimeout(done, 0));
    for (const tab of tabs.slice(1)) await tab.waitForSelector("[data-live=live]");
    told.after = await act("one_again");
    return told;
  },

  async stale({ open, act }) {
    const page = await open();
    await page.waitForSelector("[data-live=live]");
    await act("kill");
    await page.waitForSelector("[data-live=stale] [role=alert]");
    const told = { stale: (await page.textContent("[data-live]")).slice(0, 8) };
    await act("start");
    await page.waitForSelector("[data-live=live]");
    return told;
  },

  // A session that ended elsewhere leads to the sign-in page, and from there back.
  async ended({ job, open, act }) {
    const page = await open({ path: "/channels" });
    await act("revoke");
    await page.click("text=Refresh");
    await page.waitForSelector("[name=key]");
    const told = { asked: page.url().slice(job.url.length), said: await page.textContent(".note") };
    await page.fill("[name=key]", job.key);
    await page.click("button[type=submit]");
    await page.waitForSelector(".rail");
    return { ...told, then: page.url().slice(job.url.length) };
  },

  async viewer({ job, open }) {
    const page = await open({ key: job.viewer, path: "/channels/memory:own" });
    const button = page.locator(".action button", { hasText: "Delete" });
    const told = { disabled: await button.getAttribute("aria-disabled"), why: await page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`).textContent() };
    await button.click({ force: true });
    told.dialogs = await page.locator("dialog[open]").count();
    return told;
  },

  // A channel is made, refused at its field, changed by two at once, switched off and deleted.
  async channel({ job, open, act }) {
    const page = await open({ path: "/channels/new" });
    const told = {};
    await fillForm(page, { "/key": "http:bi", "/type": "http" });
    await page.waitForSelector("[name='/config/url']");
    await fillForm(page, { "/config/url": "not a url" });
    await save(page);
    await page.waitForSelector(".wrong");
    told.invalid = await page.locator("[aria-invalid=true]").first().getAttribute("name");
    await page.reload();
    await settled(page);
    await page.waitForSelector("[name='/config/url']");
    told.draft = await page.inputValue("[name='/key']");
    await fillForm(page, { "/config/url": "https://bi.example/hook" });
    await save(page);
    await page.waitForFunction(() => location.pathname === "/channels/http:bi" || location.pathname === "/channels/http%3Abi");
    await visit(page, job, "/channels/http:bi?tab=edit");
    await act("change");
    await fillForm(page, { "/concurrency": "7" });
    await save(page);
    await page.waitForSelector(".problem");
    told.stale = (await page.textContent(".problem-text")).trim();
    page.on("dialog", (dialog) => dialog.accept());
    await page.click("text=Throw the draft away");
    await visit(page, job, "/channels/http:bi?tab=edit");
    await fillForm(page, { "/concurrency": "7" });
    await save(page);
    await page.waitForFunction(() => !location.search);
    await confirm(page, "Disable");
    await page.waitForSelector("[data-state=disabled]");
    await confirm(page, "Delete", { name: "http:bi" });
    await page.waitForFunction(() => location.pathname === "/channels");
    return { ...told, ...(await noise(page)) };
  },

  async looks({ job, open }) {
    const page = await open();
    const wrong = [];
    for (const path of job.paths) wrong.push(...(await everyLook(page, job, path, job.pictures ? `${job.pictures}/${path.replace(/\W+/g, "_")}` : undefined, job.few)));
    return { wrong, ...(await noise(page)) };
  },
};

run((of) => parts[of.job.part](of));
