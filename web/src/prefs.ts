// What a person chose for this browser. It is kept here, never on the server.
import { store } from "./store";

export interface Prefs {
  theme: "light" | "dark" | "system";
  language: "en" | "ar";
  time: "relative" | "local" | "utc";
  shortcuts: boolean;
  live: boolean;
}

const NAME = "peal.prefs";

function firstLanguage(): Prefs["language"] {
  return navigator.language.toLowerCase().startsWith("ar") ? "ar" : "en";
}

function read(): Prefs {
  const first: Prefs = { theme: "system", language: firstLanguage(), time: "relative", shortcuts: true, live: true };
  try {
    return { ...first, ...(JSON.parse(localStorage.getItem(NAME) ?? "{}") as Partial<Prefs>) };
  } catch {
    return first;
  }
}

export const prefs = store<Prefs>(read());

export function prefer(change: Partial<Prefs>): void {
  prefs.set({ ...prefs.get(), ...change });
  try {
    localStorage.setItem(NAME, JSON.stringify(prefs.get()));
  } catch {
    // A browser that keeps nothing still shows what was chosen.
  }
}

function apply(): void {
  const { theme, language } = prefs.get();
  const root = document.documentElement;
  root.lang = language;
  root.dir = language === "ar" ? "rtl" : "ltr";
  if (theme === "system") delete root.dataset["theme"];
  else root.dataset["theme"] = theme;
}

apply();
prefs.watch(apply);
window.addEventListener("storage", (told) => {
  if (told.key === NAME) prefs.set(read());
});
