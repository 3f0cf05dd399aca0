// Tells that somebody looks at the page, once it is really seen: fetching it tells nothing. And hides
// the questions that do not apply, which the server says: rules are read in one place only.
"use strict";
(function () {
  const form = document.getElementById("form");
  const questions = Array.from(form.querySelectorAll("[data-question]"));
  let asked = 0;

  function tell() {
    if (document.visibilityState !== "visible") return;
    document.removeEventListener("visibilitychange", tell);
    navigator.sendBeacon(form.dataset.opened);
  }

  async function ask() {
    const mine = ++asked;
    const answer = await fetch(form.dataset.shown, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (!answer.ok || mine !== asked) return;
    const shown = (await answer.json()).shown;
    for (const one of questions) one.hidden = !shown.includes(one.dataset.question);
  }

  document.addEventListener("visibilitychange", tell);
  tell();
  if (form.dataset.shown) {
    for (const one of questions) one.hidden = "off" in one.dataset;
    for (const hint of form.querySelectorAll(".if")) hint.remove();
    form.addEventListener("change", () => ask().catch(() => {}));
  }
})();
