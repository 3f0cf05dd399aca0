// What was written but not saved, kept in this tab until it is saved or thrown away.
const PREFIX = "peal.draft.";

export interface Draft<T> {
  value: T;
  version: string | number | null; // of what it began from
  at: number;
}

export function readDraft<T>(name: string): Draft<T> | null {
  try {
    const text = sessionStorage.getItem(PREFIX + name);
    return text ? (JSON.parse(text) as Draft<T>) : null;
  } catch {
    return null;
  }
}

export function keepDraft<T>(name: string, value: T, version: string | number | null): void {
  try {
    sessionStorage.setItem(PREFIX + name, JSON.stringify({ value, version, at: Date.now() }));
  } catch {
    // Nothing is kept where the browser keeps nothing; leaving the page asks first.
  }
}

export function dropDraft(name: string): void {
  try {
    sessionStorage.removeItem(PREFIX + name);
  } catch {
    // as above
  }
}
