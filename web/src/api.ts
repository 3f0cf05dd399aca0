// The API, typed by the document it prints itself (schema.d.ts, tools/console_types.sh). A refusal is thrown as a Problem.
import type { paths } from "./schema";
import { endSession } from "./session";

export interface ProblemPart {
  path: string;
  code: string;
  message: string;
}

export class Problem extends Error {
  status: number;
  code: string;
  title: string;
  errors: ProblemPart[];
  requestId: string;
  constructor(status: number, told: Partial<{ code: string; title: string; detail: string; errors: ProblemPart[]; requestId: string }>) {
    super(told.detail ?? told.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = told.code ?? (status ? `http-${status}` : "unreachable");
    this.title = told.title ?? "";
    this.errors = told.errors ?? [];
    this.requestId = told.requestId ?? "";
  }
}

export type Method = "get" | "post" | "put" | "patch" | "delete";
type Json<C> = C extends { content: infer T } ? (T extends { "application/json": infer J } ? J : unknown) : undefined;
type Operation<P extends keyof paths, M extends Method> = paths[P] extends { [K in M]: infer O } ? O : never;
type Responses<O> = O extends { responses: infer R } ? R : never;
export type PathsWith<M extends Method> = { [P in keyof paths]: paths[P] extends { [K in M]: { responses: unknown } } ? P : never }[keyof paths] & string;
// Answer is what a call gives when it goes well.
export type Answer<P extends keyof paths, M extends Method = "get"> =
  Responses<Operation<P, M>> extends infer R ? (R extends { 200: infer T } ? Json<T> : R extends { 201: infer T } ? Json<T> : R extends { 202: infer T } ? Json<T> : undefined) : never;
// Row is one item of a list.
export type Row<P extends keyof paths> = Answer<P> extends { items: (infer T)[] } ? T : never;

export type Query = Record<string, string | number | boolean | null | undefined>;
export interface Options {
  path?: Record<string, string | number>;
  query?: Query;
  body?: unknown;
  version?: number | string | null; // If-Match
  key?: string; // Idempotency-Key; a POST has one of its own otherwise
  type?: string; // of the body
  signal?: AbortSignal;
}

// fillPath puts values where {name} stands.
export function fillPath(path: string, values: Record<string, string | number> = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(values[name] ?? "")));
}

export function urlOf(path: string, options: Pick<Options, "path" | "query"> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(options.query ?? {})) if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  const text = search.toString();
  return fillPath(path, options.path) + (text ? `?${text}` : "");
}

// randomKey works on plain http too, where crypto.randomUUID does not.
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function headersOf(method: string, options: Options, token?: string): Headers {
  const headers = new Headers({ Accept: "application/json", "Peal-Console": "1" });
  if (token) headers.set("Authorization", `Bearer ${token}`);
  if (options.body !== undefined && !(options.body instanceof Blob)) headers.set("Content-Type", options.type ?? (method === "PATCH" ? "application/merge-patch+json" : "application/json"));
  if (options.body instanceof Blob) headers.set("Content-Type", options.type ?? "text/csv");
  if (options.version !== undefined && options.version !== null) headers.set("If-Match", `"${options.version}"`);
  if (method === "POST") headers.set("Idempotency-Key", options.key ?? randomKey());
  return headers;
}

async function problemOf(answer: Response): Promise<Problem> {
  const text = await answer.text();
  try {
    return new Problem(answer.status, JSON.parse(text) as object);
  } catch {
    return new Problem(answer.status, { detail: text.slice(0, 300) || answer.statusText });
  }
}

// send is a call whose path the document may not know: what it gives is said by whoever calls.
export async function send<T>(method: string, path: string, options: Options = {}, token?: string): Promise<T> {
  let answer: Response;
  const upper = method.toUpperCase();
  const body = options.body instanceof Blob ? options.body : options.body === undefined ? null : JSON.stringify(options.body);
  try {
    answer = await fetch(urlOf(path, options), { method: upper, headers: headersOf(upper, options, token), body, credentials: "same-origin", signal: options.signal ?? null });
  } catch (why) {
    if ((why as Error).name === "AbortError") throw why;
    throw new Problem(0, { code: "unreachable" });
  }
  if (!answer.ok) {
    const problem = await problemOf(answer);
    if (problem.status === 401 && path !== "/v1/session") endSession();
    throw problem;
  }
  if (answer.status === 204) return undefined as T;
  return (answer.headers.get("Content-Type") ?? "").includes("json") ? ((await answer.json()) as T) : ((await answer.text()) as T);
}

export const api = {
  get: <P extends PathsWith<"get">>(path: P, options?: Options) => send<Answer<P, "get">>("GET", path, options),
  post: <P extends PathsWith<"post">>(path: P, options?: Options) => send<Answer<P, "post">>("POST", path, options),
  put: <P extends PathsWith<"put">>(path: P, options?: Options) => send<Answer<P, "put">>("PUT", path, options),
  patch: <P extends PathsWith<"patch">>(path: P, options?: Options) => send<Answer<P, "patch">>("PATCH", path, options),
  delete: <P extends PathsWith<"delete">>(path: P, options?: Options) => send<Answer<P, "delete">>("DELETE", path, options),
};
