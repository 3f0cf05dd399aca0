import type { Row } from "../api";
import { useWords } from "../i18n";
import { StateBadge } from "../parts/badge";
import { Go } from "../parts/go";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import all from "./surveys.words";

type Survey = Row<"/v1/surveys">;

export default function Surveys() {
  const w = useWords(all);
  return (
    <List<Survey>
      title={w.title}
      intro={w.intro}
      path="/v1/surveys"
      id={(row) => row.id}
      href={(row) => `/surveys/${encodeURIComponent(row.id)}`}
      peal={["surveys"]}
      actions={<Go route="POST /v1/surveys" href="/surveys/new">{w.make}</Go>}
      columns={[
        { key: "id", label: w.survey, kind: "main", cell: (row) => <bdi dir="ltr">{row.id}</bdi> },
        { key: "title", label: w.name, kind: "wide", cell: (row) => <bdi>{row.title?.[row.languages?.[0] ?? "en"] ?? row.id}</bdi> },
        { key: "questions", label: w.questions, kind: "number", cell: (row) => row.questions?.length ?? 0 },
        { key: "languages", label: w.languages, cell: (row) => <bdi dir="ltr">{(row.languages ?? ["en"]).join(", ")}</bdi> },
        { key: "state", label: w.state, cell: (row) => (row.publishedVersion === null ? <StateBadge state="pending">{w.draft}</StateBadge> : <StateBadge state="ok">{w.publishedState} {row.publishedVersion}</StateBadge>) },
        { key: "published", label: w.published, cell: (row) => <Time at={row.publishedAt} none={w.never} /> },
        { key: "changed", label: w.changed, cell: (row) => <Time at={row.updatedAt} /> },
      ]}
      empty={{ title: w.emptyTitle, text: w.emptyText, command: "peal surveys create -f survey.json" }}
    />
  );
}
