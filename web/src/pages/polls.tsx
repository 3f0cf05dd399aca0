import type { Row } from "../api";
import { number, useWords } from "../i18n";
import { List } from "../parts/list";
import { Time } from "../parts/time";
import { integrationWords } from "./integrations.words";

type Group = Row<"/v1/poll-groups">;

export default function Polls() {
  const w = useWords(integrationWords);
  return (
    <List<Group>
      title={w.polls}
      intro={w.pollsIntro}
      path="/v1/poll-groups"
      id={(row) => `${row.provider}/${row.integration ?? ""}`}
      href={(row) => (row.integration ? `/integrations/${encodeURIComponent(row.integration)}` : null)}
      peal={["poll-groups"]}
      columns={[
        { key: "provider", label: w.provider, cell: (row) => <bdi dir="ltr">{row.provider}</bdi> },
        { key: "integration", label: w.id, kind: "main", cell: (row) => <bdi dir="ltr">{row.integration ?? "–"}</bdi> },
        { key: "triggers", label: w.triggers, kind: "number", cell: (row) => number(row.triggers) },
        { key: "every", label: w.every, kind: "number", cell: (row) => <bdi dir="ltr">{row.interval}</bdi> },
        { key: "last", label: w.last, cell: (row) => <Time at={row.lastPolledAt} /> },
        { key: "next", label: w.next, cell: (row) => <Time at={row.nextPollAt} none={w.stopped} /> },
        { key: "baseline", label: w.baseline, cell: (row) => <Time at={row.cursorSetAt} none={w.noBaseline} /> },
        { key: "backoff", label: w.backoff, cell: (row) => <Time at={row.backoffUntil} /> },
        { key: "lastError", label: w.lastError, kind: "wide", cell: (row) => <bdi>{row.lastError ?? "–"}</bdi> },
      ]}
      empty={{ title: w.noPolls, text: w.noPollsText, command: "curl -sS -H \"Authorization: Bearer $PEAL_KEY\" localhost:7325/v1/providers" }}
    />
  );
}
