import { useState } from "preact/hooks";
import type { Answer, Row } from "../api";
import { asPeal } from "../curl";
import { count, fill, number, useWords } from "../i18n";
import type { PageProps } from "../pages";
import { Action } from "../parts/action";
import { StateBadge } from "../parts/badge";
import { CopyAs } from "../parts/copy";
import { Detail, Section } from "../parts/detail";
import { Empty } from "../parts/empty";
import { FilterBar } from "../parts/filter";
import { JsonView } from "../parts/json";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Locked, OriginNote } from "../parts/origin";
import { Table } from "../parts/table";
import { Tabs, tabOf } from "../parts/tabs";
import { Time } from "../parts/time";
import { Versions } from "../parts/versions";
import { Waiting } from "../parts/waiting";
import { go, usePlace } from "../router";
import { announce } from "../status";
import { Edit, languagesOf, missingTexts, type Question, type Survey } from "./survey-edit";
import all from "./survey.words";
import "./survey.css";

type Results = Answer<"/v1/surveys/{id}/results">;
type Response = Row<"/v1/surveys/{id}/responses">;
type Published = Answer<"/v1/surveys/{id}/publish", "post">;

function Bars(props: { counts: [string, number][]; of: number }) {
  return (
    <div class="bars" role="list">
      {props.counts.map(([name, n]) => {
        const share = props.of > 0 ? n / props.of : 0;
        return (
          <div class="bar" role="listitem" key={name}>
            <bdi>{name}</bdi>
            <span class="bar-track" aria-hidden="true"><span class="bar-fill" style={{ display: "block", inlineSize: `${share * 100}%` }} /></span>
            <span class="bar-number">{number(n)} · {number(share, { style: "percent", maximumFractionDigits: 0 })}</span>
          </div>
        );
      })}
    </div>
  );
}

// inOrder: choices as the survey has them, numbers by their size; whatever else was answered comes behind.
function inOrder(counts: Record<string, number>, question: Question | undefined): [string, number][] {
  const known: string[] = question?.choices?.map((one) => String(one.value)) ?? (question?.type === "nps" ? Array.from({ length: 11 }, (_, n) => String(n)) : []);
  const others = Object.keys(counts).filter((one) => !known.includes(one)).sort((a, b) => Number(a) - Number(b) || a.localeCompare(b));
  return [...known, ...others].map((name) => [name, counts[name] ?? 0]);
}

function ResultsTab(props: { survey: Survey }) {
  const w = useWords(all);
  const { query } = usePlace();
  const { survey } = props;
  const names = ["from", "to", "trigger", "version"];
  const asked = Object.fromEntries(names.map((name) => [name, query.get(name)]));
  const found = useLoad<Results>("/v1/surveys/{id}/results", { path: { id: survey.id }, query: asked });
  if (!found.data) return <Waiting of={found} />;
  const told = found.data;
  const questions = (survey.questions ?? []) as unknown as Question[];
  const first = languagesOf(survey as never)[0]!;
  return (
    <>
      <div class="head">
        <FilterBar filters={[{ name: "trigger", label: w.trigger, values: told.triggers.map((one) => one.triggerId) }, { name: "version", label: w.version }, { name: "from", label: w.from, kind: "time" }, { name: "to", label: w.until, kind: "time" }]} />
        <div class="head-actions">
          <a class="button" href={`/v1/surveys/${encodeURIComponent(survey.id)}/export`} download={`${survey.id}.csv`}>{w.exportCsv}</a>
          <CopyAs path="/v1/surveys/{id}/results" options={{ path: { id: survey.id }, query: asked }} peal={asPeal(["surveys", "results", survey.id])} />
        </div>
      </div>
      {told.responses === 0 ? (
        <Empty title={w.noResults} text={w.noResultsText} />
      ) : (
        <>
          <div class="tiles">
            <div class="tile"><b data-responses={told.responses}>{number(told.responses)}</b><span>{w.responded}</span></div>
            {told.questions.filter((one) => one.nps !== null).map((one) => <div class="tile" key={one.id}><b data-nps={one.nps}>{number(one.nps!, { maximumFractionDigits: 0, signDisplay: "exceptZero" })}</b><span>{w.nps} · <bdi>{one.id}</bdi> · {w.npsHelp}</span></div>)}
          </div>
          {told.questions.map((one) => {
            const question = questions.find((each) => each.id === one.id);
            return (
              <Section key={one.id} title={question?.text?.[first] ?? one.id}>
                <div class="result card" data-result={one.id}>
                  <p class="result-facts">
                    <span><bdi dir="ltr">{one.id}</bdi>{one.type === null && ` · ${w.gone}`}</span>
                    <span>{count(w.answered, one.answers)}</span>
                    {one.average !== null && <span>{w.average} <b>{number(one.average, { maximumFractionDigits: 2 })}</b></span>}
                    {one.nps !== null && <span>{w.nps} <b>{number(one.nps, { maximumFractionDigits: 0, signDisplay: "exceptZero" })}</b></span>}
                  </p>
                  {Object.keys(one.counts).length > 0 ? <Bars counts={inOrder(one.counts as Record<string, number>, question)} of={one.answers} /> : one.answers === 0 && <p class="faint">{w.noAnswers}</p>}
                </div>
              </Section>
            );
          })}
          <div class="columns">
            <Section title={w.byDay}>
              <Table caption={w.byDay} plain rows={told.days.slice(0, 60)} id={(row) => row.day} columns={[{ key: "day", label: w.day, cell: (row) => <bdi dir="ltr">{row.day}</bdi> }, { key: "count", label: w.responded, kind: "number", cell: (row) => number(row.responses) }]} />
            </Section>
            <Section title={w.byTrigger}>
              <Table caption={w.byTrigger} plain rows={told.triggers} id={(row) => row.triggerId} href={(row) => `/triggers/${encodeURIComponent(row.triggerId)}`} columns={[{ key: "trigger", label: w.trigger, cell: (row) => <bdi dir="ltr">{row.triggerId}</bdi> }, { key: "count", label: w.responded, kind: "number", cell: (row) => number(row.responses) }]} />
            </Section>
          </div>
        </>
      )}
    </>
  );
}

function Answers(props: { answers: Record<string, unknown> }) {
  const all = Object.entries(props.answers);
  return (
    <div class="answers">
      {all.map(([id, answer]) => <span key={id}><code><bdi dir="ltr">{id}</bdi></code> <bdi>{Array.isArray(answer) ? answer.join(", ") : String(answer)}</bdi></span>)}
    </div>
  );
}

function Responses(props: { id: string }) {
  const w = useWords(all);
  return (
    <List<Response>
      within
      title={w.responses}
      path="/v1/surveys/{id}/responses"
      pathValues={{ id: props.id }}
      id={(row) => row.id}
      peal={["surveys", "responses", props.id]}
      columns={[
        { key: "completed", label: w.completed, cell: (row) => <Time at={row.completedAt} /> },
        { key: "answers", label: w.answers, kind: "wide", cell: (row) => <Answers answers={row.answers as Record<string, unknown>} /> },
        { key: "locale", label: w.locale, cell: (row) => row.locale ?? "–" },
        { key: "agent", label: w.agent, cell: (row) => (row.agentId ? <bdi>{row.agentId}</bdi> : "–") },
        { key: "version", label: w.version, kind: "number", cell: (row) => row.version },
        { key: "delivery", label: w.delivery, kind: "id", cell: (row) => <a href={`/deliveries/${row.deliveryId}`}><bdi dir="ltr">{row.deliveryId}</bdi></a> },
      ]}
      empty={{ title: w.responsesEmpty, text: w.responsesEmptyText }}
    />
  );
}

export default function SurveyPage({ id }: PageProps) {
  const w = useWords(all);
  const { query } = usePlace();
  const isNew = id === "new";
  const found = useLoad<Survey>(isNew ? null : "/v1/surveys/{id}", { path: { id } });
  const results = useLoad<Results>(isNew ? null : "/v1/surveys/{id}/results", { path: { id } });
  const [note, setNote] = useState("");
  if (isNew)
    return (
      <Detail kind={w.kind} title={w.make} back={["/surveys", w.title]}>
        <Edit survey={null} saved={(made) => go(`/surveys/${encodeURIComponent(made.id)}?tab=edit`)} />
      </Detail>
    );
  if (!found.data) return <Waiting of={found} />;
  const survey = found.data;
  const page = `/surveys/${encodeURIComponent(id)}`;
  const tabs: [string, string][] = [["results", w.results], ["edit", w.edit], ["responses", w.responses], ["versions", w.versions], ["drafts", w.drafts], ["json", w.json]];
  const tab = tabOf(tabs, query);
  const missing = missingTexts(survey as never).length;
  const published = (told: Published) => {
    const text = fill(told.isNew ? w.isPublished : w.isSame, { version: String(told.version) });
    setNote(text);
    announce(text);
    found.reload();
  };
  return (
    <Detail
      kind={w.kind}
      title={<bdi>{survey.title?.[languagesOf(survey as never)[0]!] ?? survey.id}</bdi>}
      back={["/surveys", w.title]}
      state={survey.publishedVersion === null ? <StateBadge state="pending">{w.kind} <bdi dir="ltr">{survey.id}</bdi></StateBadge> : <StateBadge state="ok"><bdi dir="ltr">{survey.id}</bdi> · {survey.publishedVersion}</StateBadge>}
      sentence={survey.publishedVersion === null ? w.neverPublished : <>{count(w.published, results.data?.responses ?? 0, { version: String(survey.publishedVersion) })}</>}
      actions={
        <>
          <Action<Published> route="POST /v1/surveys/{id}/publish" path={{ id }} version={survey.version} primary danger="moderate" ask={<><p>{w.publishAsk}</p>{missing > 0 && <p class="note">{count(w.missingAsk, missing)}</p>}</>} done={published}>{w.publish}</Action>
          <Action route="DELETE /v1/surveys/{id}" path={{ id }} danger="severe" name={survey.id} ask={w.removeAsk} done={() => go("/surveys")}>{w.remove}</Action>
          <CopyAs path="/v1/surveys/{id}" options={{ path: { id } }} peal={asPeal(["surveys", "show", id])} />
        </>
      }
    >
      {note && <p class="note" data-published>{note}</p>}
      {tab !== "edit" && <OriginNote origin={survey.origin} />}
      <Tabs tabs={tabs} label={w.kind} />
      {tab === "results" && <ResultsTab survey={survey} />}
      {tab === "edit" && (
        <Locked origin={survey.origin}>
          <Edit key={survey.version} survey={survey} saved={(next) => { found.set({ ...survey, ...next }); found.reload(); }} />
        </Locked>
      )}
      {tab === "responses" && <Responses id={id} />}
      {tab === "versions" && (survey.publishedVersion === null ? <p class="faint">{w.neverPublished}</p> : <Versions key="versions" path="/v1/surveys/{id}/versions" id={id} now={survey.publishedVersion} from={survey.version} draft={`survey/${id}`} page={page} />)}
      {tab === "drafts" && <Versions key="drafts" path="/v1/surveys/{id}/drafts" id={id} now={survey.version} draft={`survey/${id}`} page={page} tab="drafts" />}
      {tab === "json" && <JsonView value={survey} label={w.json} />}
    </Detail>
  );
}
