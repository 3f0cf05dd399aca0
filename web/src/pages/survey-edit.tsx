// A survey's draft: its questions in their languages, who is asked, who is told; its page beside.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Answer } from "../api";
import { directionOf } from "../direction";
import { fill, useWords } from "../i18n";
import { Builder } from "../parts/conditions";
import { Form, JsonField, type FieldProps, type Value } from "../parts/form";
import { Known } from "../parts/known";
import all from "./survey.words";
import "./survey.css";

export type Survey = Answer<"/v1/surveys/{id}">;
type Texts = Record<string, string>;
interface Choice extends Value {
  value: string | number;
  text?: Texts;
}
interface Way extends Value {
  when?: unknown;
  to: string;
}
export interface Question extends Value {
  id: string;
  type: string;
  text?: Texts;
  required?: boolean;
  choices?: Choice[];
  min?: number;
  max?: number;
  show?: unknown;
  goTo?: Way[];
}
const TYPES = { single: "typeSingle", multiple: "typeMultiple", rating: "typeRating", nps: "typeNps", number: "typeNumber", text: "typeText", date: "typeDate" } as const;

export function languagesOf(survey: Value): string[] {
  const told = survey["languages"];
  return Array.isArray(told) && told.length > 0 ? told.filter((one): one is string => typeof one === "string" && one !== "") : ["en"];
}

export interface Missing {
  place: string; // JSON pointer of the text
  language: string;
  isFirst: boolean; // without it nothing can be published
}

// missingTexts are the texts that a language has not.
export function missingTexts(survey: Value): Missing[] {
  const languages = languagesOf(survey);
  const found: Missing[] = [];
  const look = (texts: unknown, place: string, isNeeded: boolean) => {
    const of = (texts ?? {}) as Texts;
    const isSaid = Object.values(of).some(Boolean);
    for (const [n, language] of languages.entries()) if (!of[language] && (isSaid || isNeeded)) found.push({ place, language, isFirst: n === 0 && isNeeded });
  };
  look(survey["title"], "/title", false);
  look(survey["thanks"], "/thanks", false);
  for (const [n, question] of ((survey["questions"] ?? []) as Question[]).entries()) {
    look(question.text, `/questions/${n}/text`, true);
    for (const [c, choice] of (question.choices ?? []).entries()) look(choice.text, `/questions/${n}/choices/${c}/text`, false);
  }
  return found;
}

// put sets a member, or takes it away where it is empty.
function put<T extends Value>(of: T, name: string, value: unknown): T {
  const next: Value = { ...of };
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) delete next[name];
  else next[name] = value;
  return next as T;
}

function fieldId(place: string, language = ""): string {
  return `at${place.replace(/\//g, "-")}${language && `-${language}`}`;
}

function Wrong(props: { problems: Record<string, string>; place: string }) {
  const text = props.problems[props.place];
  return text ? <span class="wrong"><bdi>{text}</bdi></span> : null;
}

// TextsField is one text in each of the survey's languages. What is there in another one stays.
function TextsField(props: { label: string; value: unknown; set: (value: unknown) => void; languages: string[]; place: string; problems: Record<string, string>; small?: boolean }) {
  const texts = (props.value ?? {}) as Texts;
  const names = [...props.languages, ...Object.keys(texts).filter((one) => !props.languages.includes(one))];
  const write = (language: string, text: string) => {
    const next = { ...texts, [language]: text };
    if (!text) delete next[language];
    props.set(Object.keys(next).length > 0 ? next : undefined);
  };
  return (
    <div class="texts" role="group" aria-label={props.label}>
      {!props.small && <span class="field-label">{props.label}</span>}
      {names.map((language) => (
        <label class="texts-row" key={language}>
          <span class="language">{language}</span>
          <input id={fieldId(props.place, language)} name={`${props.place}/${language}`} aria-label={`${props.label} (${language})`} lang={language} dir={directionOf(language)} value={texts[language] ?? ""} aria-invalid={props.problems[`${props.place}/${language}`] ? true : undefined}
            onInput={(event) => write(language, event.currentTarget.value)} />
          <Wrong problems={props.problems} place={`${props.place}/${language}`} />
        </label>
      ))}
      <Wrong problems={props.problems} place={props.place} />
    </div>
  );
}

// Items is a list of cards that are moved and taken away.
function Items<T>(props: { all: T[]; set: (all: T[]) => void; name: (one: T, n: number) => string; add: string; fresh: () => T; children: (one: T, n: number, set: (next: T) => void) => ComponentChildren; place: string }) {
  const w = useWords(all);
  const { all: items, set } = props;
  const move = (from: number, to: number) => {
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    set(next);
  };
  return (
    <>
      {items.map((one, n) => {
        const name = props.name(one, n);
        return (
          <div class="card" key={n} role="group" aria-label={name} data-item={`${props.place}/${n}`} id={fieldId(`${props.place}/${n}`)}>
            <div class="card-head">
              <strong><bdi>{name}</bdi></strong>
              <span class="item-actions">
                {n > 0 && <button type="button" class="small" aria-label={`${w.up}: ${name}`} onClick={() => move(n, n - 1)}>↑</button>}
                {n < items.length - 1 && <button type="button" class="small" aria-label={`${w.down}: ${name}`} onClick={() => move(n, n + 1)}>↓</button>}
                <button type="button" class="small" aria-label={`${w.removeOne}: ${name}`} onClick={() => set(items.filter((_, at) => at !== n))}>×</button>
              </span>
            </div>
            {props.children(one, n, (next) => set(items.map((old, at) => (at === n ? next : old))))}
          </div>
        );
      })}
      <span><button type="button" class="small" data-add-to={props.place} onClick={() => set([...items, props.fresh()])}>{props.add}</button></span>
    </>
  );
}

// Commas is a list of short words in one field; what is typed stays as it is typed.
function Commas(props: { label: string; name: string; value: string[] | undefined; set: (value: string[]) => void; problems: Record<string, string> }) {
  const [text, setText] = useState(props.value?.join(", ") ?? "");
  const wrong = Object.entries(props.problems).find(([place]) => place.startsWith(props.name))?.[1];
  return (
    <label class="field">
      <span>{props.label}</span>
      <input name={props.name} dir="ltr" autocomplete="off" placeholder="5d, 10d" value={text} aria-invalid={wrong ? true : undefined}
        onInput={(event) => {
          setText(event.currentTarget.value);
          props.set(event.currentTarget.value.split(",").map((one) => one.trim()).filter(Boolean));
        }} />
      {wrong && <span class="wrong"><bdi>{wrong}</bdi></span>}
    </label>
  );
}

function Plain(props: { label: string; name: string; value: unknown; set: (value: unknown) => void; problems: Record<string, string>; number?: boolean }) {
  const wrong = props.problems[props.name];
  return (
    <label class="field">
      <span>{props.label}</span>
      {props.number ? (
        <input name={props.name} dir="ltr" type="number" step="any" value={props.value === undefined ? "" : String(props.value)} aria-invalid={wrong ? true : undefined} onInput={(event) => props.set(event.currentTarget.value === "" ? undefined : Number(event.currentTarget.value))} />
      ) : (
        <input name={props.name} dir="auto" autocomplete="off" value={props.value === undefined ? "" : String(props.value)} aria-invalid={wrong ? true : undefined} onInput={(event) => props.set(event.currentTarget.value || undefined)} />
      )}
      {wrong && <span class="wrong"><bdi>{wrong}</bdi></span>}
    </label>
  );
}

function Rules(props: { question: Question; n: number; set: (next: Question) => void; place: string; all: Question[]; problems: Record<string, string> }) {
  const w = useWords(all);
  const { question, set, place } = props;
  const before = props.all.slice(0, props.n).map((one) => one.id);
  const behind = props.all.slice(props.n + 1).map((one) => one.id);
  const isUsed = question.show !== undefined || (question.goTo?.length ?? 0) > 0;
  return (
    <details open={isUsed}>
      <summary>{w.rules}</summary>
      <div class="rules">
        <Builder filter={question.show} set={(next) => set(put(question, "show", next))} place={`${place}/show`} label={w.show} every={w.showEvery} leaf="questionId" paths={before} problems={props.problems} />
        <fieldset>
          <legend>{w.goTo}</legend>
          <Items all={question.goTo ?? []} set={(next) => set(put(question, "goTo", next))} place={`${place}/goTo`} add={w.addRule} fresh={(): Way => ({ to: "end" })} name={(way) => `→ ${way.to}`}>
            {(way, at, setWay) => (
              <>
                <Builder filter={way.when} set={(next) => setWay(put(way, "when", next))} place={`${place}/goTo/${at}/when`} label={w.when} every={w.whenEvery} leaf="questionId" paths={[...before, question.id]} problems={props.problems} />
                <label class="field">
                  <span>{w.to}</span>
                  <select value={way.to} onChange={(event) => setWay({ ...way, to: event.currentTarget.value })}>
                    {[...behind, "end", ...(behind.includes(way.to) || way.to === "end" ? [] : [way.to])].map((one) => <option key={one} value={one} selected={one === way.to}>{one === "end" ? w.end : one}</option>)}
                  </select>
                </label>
                <Wrong problems={props.problems} place={`${place}/goTo/${at}/to`} />
              </>
            )}
          </Items>
        </fieldset>
      </div>
    </details>
  );
}

function QuestionEdit(props: { question: Question; n: number; set: (next: Question) => void; place: string; all: Question[]; languages: string[]; problems: Record<string, string> }) {
  const w = useWords(all);
  const { question, set, place } = props;
  const hasChoices = question.type === "single" || question.type === "multiple";
  const hasBounds = ["rating", "number", "text"].includes(question.type);
  return (
    <>
      <div class="question-head">
        <Plain label={w.questionId} name={`${place}/id`} value={question.id} set={(next) => set({ ...question, id: String(next ?? "") })} problems={props.problems} />
        <label class="field">
          <span>{w.type}</span>
          <select name={`${place}/type`} value={question.type} onChange={(event) => set({ ...question, type: event.currentTarget.value })}>
            {Object.entries(TYPES).map(([type, word]) => <option key={type} value={type} selected={type === question.type}>{w[word]}</option>)}
          </select>
        </label>
        <label class="check"><input type="checkbox" name={`${place}/required`} checked={question.required === true} onChange={(event) => set(put(question, "required", event.currentTarget.checked || undefined))} /> {w.required}</label>
      </div>
      <TextsField label={w.text} value={question.text} set={(next) => set(put(question, "text", next))} languages={props.languages} place={`${place}/text`} problems={props.problems} />
      {hasBounds && (
        <div class="question-head">
          {question.type !== "text" && <Plain number label={w.min} name={`${place}/min`} value={question.min} set={(next) => set(put(question, "min", next))} problems={props.problems} />}
          <Plain number label={question.type === "text" ? w.maxChars : w.max} name={`${place}/max`} value={question.max} set={(next) => set(put(question, "max", next))} problems={props.problems} />
        </div>
      )}
      {hasChoices && (
        <fieldset>
          <legend>{w.choices}</legend>
          <Items all={question.choices ?? []} set={(next) => set(put(question, "choices", next))} place={`${place}/choices`} add={w.addChoice} fresh={(): Choice => ({ value: "" })} name={(choice, at) => `${at + 1}. ${choice.value}`}>
            {(choice, at, setChoice) => (
              <>
                <Plain label={w.value} name={`${place}/choices/${at}/value`} value={choice.value} set={(next) => setChoice({ ...choice, value: String(next ?? "") })} problems={props.problems} />
                <TextsField small label={w.text} value={choice.text} set={(next) => setChoice(put(choice, "text", next))} languages={props.languages} place={`${place}/choices/${at}/text`} problems={props.problems} />
              </>
            )}
          </Items>
          <Wrong problems={props.problems} place={`${place}/choices`} />
        </fieldset>
      )}
      <Rules {...props} />
    </>
  );
}

function Questions(props: FieldProps) {
  const w = useWords(all);
  const questions = (Array.isArray(props.value) ? props.value : []) as Question[];
  const languages = languagesOf(props.whole);
  const freshId = () => {
    for (let n = questions.length + 1; ; n++) if (!questions.some((one) => one.id === `q${n}`)) return `q${n}`;
  };
  return (
    <fieldset class="questions">
      <legend>{w.questions}</legend>
      <Items all={questions} set={(next) => props.set(next.length ? next : undefined)} place="/questions" add={w.add} fresh={(): Question => ({ id: freshId(), type: "text" })} name={(one, n) => `${fill(w.question, { n: n + 1 })}: ${one.id}`}>
        {(one, n, set) => <QuestionEdit question={one} n={n} set={set} place={`/questions/${n}`} all={questions} languages={languages} problems={props.problems} />}
      </Items>
      <Wrong problems={props.problems} place="/questions" />
    </fieldset>
  );
}

function Triggers(props: FieldProps) {
  const w = useWords(all);
  const triggers = (Array.isArray(props.value) ? props.value : []) as (Value & { id: string })[];
  return (
    <fieldset>
      <legend>{w.triggers}</legend>
      <Items all={triggers} set={(next) => props.set(next.length ? next : undefined)} place="/triggers" add={w.addTrigger} fresh={() => ({ id: `t${triggers.length + 1}` }) as Value & { id: string }} name={(one) => one.id}>
        {(one, n, set) => {
          const place = `/triggers/${n}`;
          const schedule = (one["schedule"] ?? {}) as { initialDelay?: string; reminders?: string[] } & Value;
          const known = (member: string, from: string, of: (row: Record<string, unknown>) => unknown, label: string) => (
            <Known schema={{}} whole={one} problems={props.problems} place={`${place}/${member}`} value={one[member]} set={(next) => set(put(one, member, next))} from={from} of={of} label={label} />
          );
          return (
            <>
              <div class="question-head">
                <Plain label={w.id} name={`${place}/id`} value={one.id} set={(next) => set({ ...one, id: String(next ?? "") })} problems={props.problems} />
                {known("eventKind", "/v1/events", (row) => row["kind"], w.eventKind)}
                {known("channel", "/v1/channels", (row) => row["key"], w.channel)}
                <Plain label={w.initialDelay} name={`${place}/schedule/initialDelay`} value={schedule.initialDelay} set={(next) => { const made = put(schedule, "initialDelay", next); set(put(one, "schedule", Object.keys(made).length ? made : undefined)); }} problems={props.problems} />
                <Commas label={w.reminders} name={`${place}/schedule/reminders`} value={schedule.reminders} set={(next) => { const made = put(schedule, "reminders", next); set(put(one, "schedule", Object.keys(made).length ? made : undefined)); }} problems={props.problems} />
                <Plain label={w.expireAfter} name={`${place}/expireAfter`} value={one["expireAfter"]} set={(next) => set(put(one, "expireAfter", next))} problems={props.problems} />
              </div>
              <Builder filter={one["filter"]} set={(next) => set(put(one, "filter", next))} place={`${place}/filter`} label={w.filter} every={w.everyEvent} problems={props.problems} />
              <details><summary>{w.wholeJson}</summary><JsonField value={one} set={(next) => set((next ?? {}) as Value & { id: string })} label={w.wholeJson} /></details>
            </>
          );
        }}
      </Items>
    </fieldset>
  );
}

function Subscribers(props: FieldProps) {
  const w = useWords(all);
  const subscribers = (Array.isArray(props.value) ? props.value : []) as Value[];
  const ids = ((props.whole["questions"] ?? []) as Question[]).map((one) => one.id);
  return (
    <fieldset>
      <legend>{w.subscribers}</legend>
      <Items all={subscribers} set={(next) => props.set(next.length ? next : undefined)} place="/subscribers" add={w.addSubscriber} fresh={(): Value => ({ key: "" })} name={(one) => String(one["key"] || w.addSubscriber)}>
        {(one, n, set) => (
          <>
            <Known schema={{}} whole={one} problems={props.problems} place={`/subscribers/${n}/key`} value={one["key"]} set={(next) => set({ ...one, key: next ?? "" })} from="/v1/channels" of={(row) => row["key"]} label={w.channel} />
            <Builder filter={one["filter"]} set={(next) => set(put(one, "filter", next))} place={`/subscribers/${n}/filter`} label={w.subscriberFilter} every={w.everyAnswer} leaf="questionId" paths={ids} problems={props.problems} />
          </>
        )}
      </Items>
    </fieldset>
  );
}

function MissingList(props: { survey: Value }) {
  const w = useWords(all);
  const missing = missingTexts(props.survey);
  if (missing.length === 0) return <p class="faint" data-missing="0">✓ {w.missingNone}</p>;
  return (
    <details class="note" open data-missing={missing.length}>
      <summary>{w.missing}: {missing.length}</summary>
      <ul>
        {missing.slice(0, 50).map((one) => (
          <li key={one.place + one.language}>
            <button type="button" class="plain" onClick={() => document.getElementById(fieldId(one.place, one.language))?.focus()}><bdi dir="ltr">{one.language} {one.place}</bdi></button> {one.isFirst && <strong>{w.missingFirst}</strong>}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Preview(props: { survey: Survey | null; now: Value; isChanged: boolean }) {
  const w = useWords(all);
  const languages = languagesOf((props.survey as Value | null) ?? props.now);
  const [chosen, setChosen] = useState("");
  const language = languages.includes(chosen) ? chosen : languages[0]!;
  return (
    <section class="try" aria-label={w.preview}>
      <h2>{w.preview}</h2>
      <MissingList survey={props.now} />
      {!props.survey ? (
        <p class="faint">{w.previewNew}</p>
      ) : (
        <>
          <p class="faint">{w.previewHelp} {props.isChanged && <strong>{w.previewUnsaved}</strong>}</p>
          <div class="views" role="group" aria-label={w.inLanguage}>
            {languages.map((one) => <button key={one} type="button" class="small" aria-pressed={one === language} onClick={() => setChosen(one)}>{one}</button>)}
          </div>
          <iframe class="survey-page" key={`${props.survey.version}-${language}`} title={`${w.preview} (${language})`} src={`/v1/surveys/${encodeURIComponent(props.survey.id)}/page?lang=${encodeURIComponent(language)}`} />
        </>
      )}
    </section>
  );
}

export function Edit(props: { survey: Survey | null; saved: (survey: Survey) => void }) {
  const w = useWords(all);
  const { survey } = props;
  const first = (survey as Value | null) ?? { languages: ["en"] };
  const texts = (label: string) => (field: FieldProps) => <TextsField label={label} value={field.value} set={field.set} languages={languagesOf(field.whole)} place={field.place} problems={field.problems} />;
  const body = (value: Value) => JSON.stringify(["languages", "title", "thanks", "paging", "questions", "triggers", "subscribers", "integrationId"].map((name) => value[name]));
  return (
    <Form
      shape="SurveyBody"
      first={first}
      draft={`survey/${survey?.id ?? "new"}`}
      save={survey ? { route: "PUT /v1/surveys/{id}", path: { id: survey.id }, version: survey.version } : { route: "POST /v1/surveys" }}
      order={["id", "languages", "title", "questions", "thanks", "paging", "triggers", "subscribers", "integrationId"]}
      fixed={survey ? ["id"] : []}
      labels={{ id: w.id, languages: w.languages, title: w.titleText, thanks: w.thanks, paging: w.paging, questions: w.questions, triggers: w.triggers, subscribers: w.subscribers, integrationId: w.integrationId }}
      override={{ "/title": texts(w.titleText), "/thanks": texts(w.thanks), "/questions": (field) => <Questions {...field} />, "/triggers": (field) => <Triggers {...field} />, "/subscribers": (field) => <Subscribers {...field} /> }}
      beside={(now) => <Preview survey={survey} now={now} isChanged={!!survey && body(now) !== body(first)} />}
      saved={(answer) => props.saved(answer as Survey)}
    />
  );
}
