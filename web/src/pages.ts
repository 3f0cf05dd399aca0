// The pages of the console. To add one, add a row here and a VIEW row in src/api/routes.c (a test compares them); the page
// itself is the default export of its module: a component that is given what stood for {id} in the path.
import type { ComponentType } from "preact";
import type { TitleKey } from "./frame.words";

export type Group = "operate" | "author" | "connect" | "measure" | "system";
export interface PageProps {
  id: string;
}
export interface Page {
  path: string;
  title: TitleKey;
  group?: Group; // where it stands in the rail; none: it is reached from another
  letter?: string; // g, then this
  load: () => Promise<{ default: ComponentType<PageProps> }>;
}

export const groups: Group[] = ["operate", "author", "connect", "measure", "system"];

// prettier-ignore
export const pages: Page[] = [
  { path: "/", title: "overview", group: "operate", letter: "o", load: () => import("./pages/overview") },
  { path: "/signin", title: "signin", load: () => import("./pages/signin") },
  { path: "/deliveries", title: "deliveries", group: "operate", letter: "d", load: () => import("./pages/deliveries") },
  { path: "/deliveries/{id}", title: "delivery", load: () => import("./pages/delivery") },
  { path: "/events", title: "events", group: "operate", letter: "e", load: () => import("./pages/events") },
  { path: "/events/{id}", title: "event", load: () => import("./pages/event") },
  { path: "/notifications", title: "notifications", group: "operate", letter: "n", load: () => import("./pages/notifications") },
  { path: "/notifications/{id}", title: "notification", load: () => import("./pages/notification") },
  { path: "/plan", title: "plan", group: "operate", letter: "p", load: () => import("./pages/plan") },
  { path: "/operations", title: "operations", group: "operate", letter: "b", load: () => import("./pages/operations") },
  { path: "/operations/{id}", title: "operation", load: () => import("./pages/operation") },
  { path: "/dead", title: "dead", group: "operate", letter: "x", load: () => import("./pages/dead") },
  { path: "/triggers", title: "triggers", group: "author", letter: "t", load: () => import("./pages/triggers") },
  { path: "/triggers/{id}", title: "trigger", load: () => import("./pages/trigger") },
  { path: "/automations", title: "automations", group: "author", load: () => import("./pages/automations") },
  { path: "/automations/{id}", title: "automation", load: () => import("./pages/automation") },
  { path: "/templates", title: "templates", group: "author", letter: "m", load: () => import("./pages/templates") },
  { path: "/templates/{id}", title: "template", load: () => import("./pages/template") },
  { path: "/jobs", title: "jobs", group: "author", letter: "j", load: () => import("./pages/jobs") },
  { path: "/jobs/{id}", title: "job", load: () => import("./pages/job") },
  { path: "/surveys", title: "surveys", group: "author", letter: "v", load: () => import("./pages/surveys") },
  { path: "/surveys/{id}", title: "survey", load: () => import("./pages/survey") },
  { path: "/campaigns", title: "campaigns", group: "author", load: () => import("./pages/campaigns") },
  { path: "/campaigns/{id}", title: "campaign", load: () => import("./pages/campaign") },
  { path: "/lists", title: "lists", group: "author", load: () => import("./pages/lists") },
  { path: "/lists/{id}", title: "list", load: () => import("./pages/list") },
  { path: "/sources", title: "sources", group: "connect", letter: "s", load: () => import("./pages/sources") },
  { path: "/sources/{id}", title: "source", load: () => import("./pages/source") },
  { path: "/integrations", title: "integrations", group: "connect", load: () => import("./pages/integrations") },
  { path: "/integrations/{id}", title: "integration", load: () => import("./pages/integration") },
  { path: "/polls", title: "polls", group: "connect", load: () => import("./pages/polls") },
  { path: "/inbox", title: "inbox", group: "connect", letter: "i", load: () => import("./pages/inbox") },
  { path: "/inbox/{id}", title: "hook", load: () => import("./pages/hook") },
  { path: "/outbox", title: "outbox", group: "connect", load: () => import("./pages/outbox") },
  { path: "/outbox/{id}", title: "emitted", load: () => import("./pages/emitted") },
  { path: "/channels", title: "channels", group: "connect", letter: "c", load: () => import("./pages/channels") },
  { path: "/channels/{id}", title: "channel", load: () => import("./pages/channel") },
  { path: "/preferences", title: "preferences", group: "connect", load: () => import("./pages/preferences") },
  { path: "/sites", title: "sites", group: "connect", load: () => import("./pages/sites") },
  { path: "/captured", title: "captured", group: "connect", letter: "u", load: () => import("./pages/captured") },
  { path: "/captured/{id}", title: "message", load: () => import("./pages/message") },
  { path: "/audit", title: "audit", group: "measure", letter: "a", load: () => import("./pages/audit") },
  { path: "/nodes", title: "nodes", group: "system", load: () => import("./pages/nodes") },
  { path: "/settings", title: "settings", group: "system", load: () => import("./pages/settings") },
  { path: "/keys", title: "keys", group: "system", letter: "k", load: () => import("./pages/keys") },
  { path: "/tenants", title: "tenants", group: "system", load: () => import("./pages/tenants") },
];

// findPage is the page that a path leads to, and what stands for {id} there.
export function findPage(path: string): { page: Page; id: string } | null {
  for (const page of pages) {
    if (page.path === path) return { page, id: "" };
    if (!page.path.endsWith("/{id}")) continue;
    const root = page.path.slice(0, -"{id}".length);
    const rest = path.slice(root.length);
    if (path.startsWith(root) && rest && !rest.includes("/")) return { page, id: decodeURIComponent(rest) };
  }
  return null;
}
