// Who is signed in, and what he may do. The key itself is never kept: the browser holds a cookie that no script can read.
import { send, Problem } from "./api";
import { store } from "./store";
import { setClock } from "./time";

export interface Session {
  id: string;
  keyId: string;
  tenant: string;
  role: string;
  system: boolean;
  name: string | null;
  createdAt: string;
  expiresAt: string;
  version: string;
  environment?: string | null;
  held: boolean;
  dev: boolean;
  routes: Record<string, { may: boolean; roles: string[] }>;
}

// undefined: not asked yet; null: nobody is signed in.
export const session = store<Session | null | undefined>(undefined);

export async function readSession(): Promise<void> {
  try {
    begun(await send<Session>("GET", "/v1/session"));
  } catch (why) {
    if (why instanceof Problem && (why.status === 401 || why.status === 403)) session.set(null);
    else throw why;
  }
}

function begun(told: Session): void {
  session.set(told);
  // The server's clock may be a manual one: what is relative goes by it.
  if (told.routes["GET /v1/clock"]?.may)
    void send<{ now: string; mode: string }>("GET", "/v1/clock")
      .then((clock) => setClock(clock.now))
      .catch(() => undefined);
}

export async function signIn(key: string): Promise<void> {
  begun(await send<Session>("POST", "/v1/session", {}, key.trim()));
}

// leaving is true where somebody leaves by his own will: nothing ended behind his back.
export const leaving = store(false);

export async function signOut(): Promise<void> {
  leaving.set(true);
  try {
    await send<void>("DELETE", "/v1/session");
  } finally {
    session.set(null);
  }
}

// endSession: the server knows it no more. Where one was stays in the URL of the sign-in page.
export function endSession(): void {
  if (session.get()) session.set(null);
}

// mayCall says whether a route may be called, and else which roles may. A route that the session does not name is left to
// the server to refuse.
export function mayCall(route: string): { may: boolean; roles: string[] } {
  return session.get()?.routes[route] ?? { may: true, roles: [] };
}
