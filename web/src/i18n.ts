// Words in two languages. Each page has its own file of them: words({ en: {…}, ar: {…} }); what is missing in one does not
// compile. {name} stands for a value. Forms for a number stand behind each other with |, in the order of the language's
// plural categories: "one|other" in English, "zero|one|two|few|many|other" in Arabic.
import { prefs } from "./prefs";
import { useStore } from "./store";

export type Language = "en" | "ar";
export type Words<T> = { en: T; ar: { [K in keyof T]: string } };

export function words<const T extends Record<string, string>>(all: { en: T; ar: { [K in keyof T]: string } }): Words<{ [K in keyof T]: string }> {
  return all;
}

export function language(): Language {
  return prefs.get().language;
}

// useWords gives the words of the language that is chosen now, and shows the view again when another is.
export function useWords<T>(all: Words<T>): { [K in keyof T]: string } {
  return all[useStore(prefs).language] as { [K in keyof T]: string };
}

export function wordsNow<T>(all: Words<T>): { [K in keyof T]: string } {
  return all[language()] as { [K in keyof T]: string };
}

export function fill(text: string, values: Record<string, string | number>): string {
  return text.replace(/\{(\w+)\}/g, (all, name: string) => {
    const value = values[name];
    return value === undefined ? all : typeof value === "number" ? number(value) : value;
  });
}

const CATEGORIES: Record<Language, Intl.LDMLPluralRule[]> = {
  en: ["one", "other"],
  ar: ["zero", "one", "two", "few", "many", "other"],
};

// count chooses the form for n, and fills it in as {n}.
export function count(text: string, n: number, values: Record<string, string | number> = {}): string {
  const forms = text.split("|");
  const at = CATEGORIES[language()].indexOf(new Intl.PluralRules(language()).select(n));
  return fill(forms[Math.min(Math.max(at, 0), forms.length - 1)] ?? text, { ...values, n });
}

// Digits are Latin in both languages: ids, times and amounts stand beside each other.
export function locale(): string {
  return language() === "ar" ? "ar-u-nu-latn" : "en-GB";
}

export function number(n: number, options?: Intl.NumberFormatOptions): string {
  return new Intl.NumberFormat(locale(), options).format(n);
}
