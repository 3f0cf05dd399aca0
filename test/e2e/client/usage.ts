// usage.ts - a client as somebody would write it, against the types made from /openapi.json. It is
// compiled strictly and never run; operations.ts, made by the test, asks the same of every operation.
import type { components, operations } from "./peal";

export type Schemas = components["schemas"];
export type Operation = keyof operations;

type Content<R> = R extends { content: infer C } ? C[keyof C] : void;
type Responses<O extends Operation> = operations[O]["responses"];
type Good = 200 | 201 | 202 | 204;

export type Answer<O extends Operation> = Content<Responses<O>[Good & keyof Responses<O>]>;
export type Query<O extends Operation> =
  operations[O]["parameters"] extends { query?: infer Q } ? NonNullable<Q> : Record<string, never>;
export type Body<O extends Operation> =
  operations[O] extends { requestBody?: infer R }
    ? NonNullable<R> extends { content: { "application/json": infer B } } ? B : undefined
    : undefined;

// IsTyped is true for whatever is neither any, unknown nor never.
type IsAny<T> = 0 extends 1 & T ? true : false;
type IsNever<T> = [T] extends [never] ? true : false;
export type IsTyped<T> =
  IsAny<T> extends true ? false
  : IsNever<T> extends true ? false
  : unknown extends T ? false
  : true;
export type Assert<T extends true> = T;

export declare function call<O extends Operation>(
  operation: O, body: Body<O>, query?: Partial<Query<O>>): Promise<Answer<O>>;

export async function follow(): Promise<string> {
  const trigger: Schemas["Trigger"] = await call("postTriggers", {
    id: "csi", eventKind: "visit-closed", channel: "memory:default",
    filter: { path: "jobType", op: "==", value: "GR" },
  });
  const batch = await call("postIngest", {
    eventKind: trigger.eventKind ?? "visit-closed",
    items: [{ payload: { jobType: "GR" }, recipient: { address: "+964", favourite: 7 } }],
  });
  for (const item of batch.items)
    if (item.outcome === "failed") return item.error?.message ?? "unsaid";
  let cursor: string | null = null;
  do {
    const page: Schemas["DeliveryPage"] = await call(
      "getDeliveries", undefined, { state: "parked", limit: 50, ...(cursor ? { cursor } : {}) });
    for (const delivery of page.items) await retry(delivery);
    cursor = page.next;
  } while (cursor !== null);
  return told(await call("getEventsByIdExplain", undefined));
}

async function retry(delivery: Schemas["Delivery"]): Promise<Schemas["Delivery"]> {
  const payload: unknown = delivery.payload; // any JSON is unknown: it has to be looked at
  return call("postDeliveriesByIdRetry", { reason: `again: ${typeof payload}` });
}

function told(explanation: Answer<"getEventsByIdExplain">): string {
  return JSON.stringify(explanation);
}

export function isOver(state: Schemas["Delivery"]["state"]): boolean {
  switch (state) {
    case "pending": case "sending": case "retrying": case "waiting": case "parked":
      return false;
    case "delivered": case "completed": case "expired": case "cancelled": case "discarded":
      return true;
  }
}

export function problemOf(problem: Schemas["Problem"]): string {
  return problem.errors?.map((each) => `${each.path}: ${each.message}`).join() ?? problem.detail;
}

// What the program refuses does not compile either.
// @ts-expect-error: there is no such member
export const typo: Body<"postTriggers"> = { id: "x", eventKind: "y", chanel: "z" };
// @ts-expect-error: there is no such action
export const action: Body<"postOperations"> = { action: "explode", filter: {} };
// @ts-expect-error: there is no such filter
export const filter: Partial<Query<"getDeliveries">> = { stat: "parked" };
