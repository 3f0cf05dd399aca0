// What a page did, as commands: with curl, and with peal where there is one.
import { urlOf, type Options } from "./api";

function quoted(text: string): string {
  return /^[\w@%+=:,./?&-]+$/.test(text) && !/[&?]/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

export function asCurl(method: string, path: string, options: Pick<Options, "path" | "query" | "body"> = {}): string {
  const parts = ["curl -sS"];
  if (method !== "GET") parts.push(`-X ${method}`);
  parts.push(`-H "Authorization: Bearer $PEAL_KEY"`);
  if (options.body !== undefined) parts.push(`-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(options.body))}`);
  parts.push(quoted(location.origin + urlOf(path, options)));
  return parts.join(" ");
}

// asPeal is a command line: names of flags as the command has them (errorsOnly: --errors-only), a flag that holds alone.
export function asPeal(words: (string | number)[], flags: Record<string, string | null | undefined> = {}): string {
  const named = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const rest = Object.entries(flags).flatMap(([name, value]) => (!value || value === "false" ? [] : value === "true" ? [named(name)] : [named(name), quoted(value)]));
  return ["peal", ...words.map((word) => quoted(String(word))), ...rest].join(" ");
}
