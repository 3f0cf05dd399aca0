import type { ComponentChildren } from "preact";
import { fill, useWords } from "../i18n";
import { partWords } from "./parts.words";

export type Fact = [label: string, value: ComponentChildren] | null | false | undefined;

export function Facts(props: { facts: Fact[] }) {
  return (
    <dl class="facts">
      {props.facts.map((fact) => fact && (
        <div key={fact[0]}>
          <dt>{fact[0]}</dt>
          <dd>{fact[1] ?? "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Section(props: { title: string; id?: string; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section" id={props.id}>
      <div class="section-head">
        <h2>{props.title}</h2>
        {props.actions && <div class="head-actions">{props.actions}</div>}
      </div>
      {props.children}
    </section>
  );
}

export interface DetailProps {
  kind: string; // "Channel"
  title: ComponentChildren; // its name or id
  back: [href: string, label: string];
  state?: ComponentChildren; // badges
  sentence?: ComponentChildren; // what is to be known first
  facts?: Fact[];
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

// Detail is the page of one thing: its name, what is to be known first, what can be done, the facts, the rest.
export function Detail(props: DetailProps) {
  const w = useWords(partWords);
  return (
    <article class="detail">
      <p class="crumb"><a href={props.back[0]} title={fill(w.backTo, { page: props.back[1] })}>{props.back[1]}</a> <span aria-hidden="true">/</span> {props.kind}</p>
      <div class="head">
        <div>
          <h1><bdi>{props.title}</bdi> {props.state}</h1>
          {props.sentence && <p class="intro">{props.sentence}</p>}
        </div>
        {props.actions && <div class="head-actions">{props.actions}</div>}
      </div>
      {props.facts && props.facts.length > 0 && <Facts facts={props.facts} />}
      {props.children}
    </article>
  );
}
