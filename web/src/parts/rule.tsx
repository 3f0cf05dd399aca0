// What made a delivery, as a link to its page where it has one. place is a JSON pointer into it: the condition that decided.
const PAGES: Record<string, string> = { trigger: "triggers", template: "templates", survey: "surveys", job: "jobs", automation: "automations", list: "lists" };

export interface RuleName {
  kind: string;
  id: string | null;
}

export function ruleHref(rule: RuleName, place?: string | null): string | null {
  const page = PAGES[rule.kind];
  return page && rule.id ? `/${page}/${encodeURIComponent(rule.id)}${place ? `#${encodeURIComponent(place)}` : ""}` : null;
}

export function Rule(props: { rule: RuleName; place?: string | null }) {
  const to = ruleHref(props.rule, props.place);
  const name = <bdi dir="ltr">{props.rule.id ?? props.rule.kind}</bdi>;
  return to ? <a href={to}>{name}</a> : name;
}
