// The one line that tells, politely, what happened: screen readers read it out, and it is seen for a while.
import { store } from "./store";

export const status = store<{ text: string; at: number }>({ text: "", at: 0 });

export function announce(text: string): void {
  status.set({ text, at: Date.now() });
}
