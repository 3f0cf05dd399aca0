// Whether what the stream told of belongs to a list whose filter the stream knows nothing of: the list is asked, once for all
// that comes within a moment.
import { send, type Query } from "../api";

const MOMENT = 700;
const asked = new Map<string, Promise<Set<string>>>();

export function idsNow(path: string, query: Query): Promise<Set<string>> {
  const name = JSON.stringify([path, query]);
  const known = asked.get(name);
  if (known) return known;
  const told = new Promise((rest) => setTimeout(rest, MOMENT))
    .then(() => {
      asked.delete(name); // what comes from now on is asked for anew
      return send<{ items: { id: string }[] }>("GET", path, { query: { ...query, limit: 50 } });
    })
    .then((page) => new Set(page.items.map((row) => row.id)));
  asked.set(name, told);
  return told;
}
