// The shapes of bodies, from the document that the API prints of itself.
import { send } from "../api";

export interface Schema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  enum?: (string | number | null)[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
}
interface Document {
  components: { schemas: Record<string, Schema> };
}

let asked: Promise<Document> | null = null;
let known: Document | null = null;

export async function readDocument(): Promise<void> {
  asked ??= send<Document>("GET", "/openapi.json");
  try {
    known = await asked;
  } catch (why) {
    asked = null;
    throw why;
  }
}

export function schemaNamed(name: string): Schema | null {
  return known?.components.schemas[name] ?? null;
}

// resolved follows references, and takes null away from what may be null.
export function resolved(schema: Schema): Schema {
  let one = schema;
  for (let n = 0; one.$ref && n < 10; n++) {
    const { description } = one;
    one = schemaNamed(one.$ref.split("/").pop()!) ?? {};
    if (description && !one.description) one = { ...one, description };
  }
  const options = (one.anyOf ?? one.oneOf)?.filter((each) => each.type !== "null");
  if (options?.length === 1) return resolved({ ...options[0]!, ...(one.description ? { description: one.description } : {}) });
  if (Array.isArray(one.type)) return { ...one, type: one.type.find((each) => each !== "null") ?? "string" };
  return one;
}

// optionsOf are the shapes of which a value has one; a secret is text, or {"ref": …} where it stands elsewhere.
export function optionsOf(schema: Schema): Schema[] {
  return (schema.anyOf ?? schema.oneOf ?? []).filter((each) => each.type !== "null").map(resolved);
}
