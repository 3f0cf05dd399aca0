import { useState } from "preact/hooks";
import { Problem } from "../api";
import { useWords } from "../i18n";
import { Action } from "../parts/action";
import { CopyAs } from "../parts/copy";
import { Detail } from "../parts/detail";
import { Form, type Value } from "../parts/form";
import { List } from "../parts/list";
import { useLoad } from "../parts/load";
import { Time } from "../parts/time";
import { Waiting } from "../parts/waiting";
import { go, link, usePlace } from "../router";
import { preferenceWords } from "./preferences.words";

interface Preference {
  address: string;
  optOut?: string[];
  channel?: Record<string, string>;
  updatedAt: string;
}

function Instead(props: { channel: Preference["channel"] }) {
  const all = Object.entries(props.channel ?? {});
  if (all.length === 0) return <span class="faint">–</span>;
  return <>{all.map(([from, to]) => <div key={from}><bdi dir="ltr">{from} → {to}</bdi></div>)}</>;
}

function LookUp() {
  const w = useWords(preferenceWords);
  const [address, setAddress] = useState("");
  return (
    <form class="filter" role="search" aria-label={w.newOne} onSubmit={(event) => {
      event.preventDefault();
      if (address.trim()) go(link("/preferences", { address: address.trim() }));
    }}>
      <label class="grow"><span class="off-screen">{w.address}</span><input name="address" dir="ltr" placeholder={w.addressHelp} autocomplete="off" value={address} onInput={(event) => setAddress(event.currentTarget.value)} /></label>
      <button type="submit">{w.lookUp}</button>
    </form>
  );
}

// One is what the recipient at an address wants; there may be nothing kept of him.
function One(props: { address: string }) {
  const w = useWords(preferenceWords);
  const { address } = props;
  const found = useLoad<Preference>("/v1/preferences", { query: { address } });
  const isNone = found.problem instanceof Problem && found.problem.status === 404;
  if (!found.data && !isNone) return <Waiting of={found} />;
  const kept = isNone ? null : found.data;
  return (
    <Detail
      kind={w.title}
      title={<bdi dir="ltr">{address}</bdi>}
      back={["/preferences", w.all]}
      sentence={kept ? w.kept : w.none}
      facts={kept ? [[w.optOut, <bdi dir="ltr">{kept.optOut?.join(", ") || "–"}</bdi>], [w.instead, <Instead channel={kept.channel} />], [w.updated, <Time at={kept.updatedAt} />]] : []}
      actions={
        <>
          {kept && <Action route="DELETE /v1/preferences" query={{ address }} danger="moderate" ask={w.forgetAsk} done={() => go("/preferences")}>{w.forget}</Action>}
          <CopyAs path="/v1/preferences" options={{ query: { address } }} />
        </>
      }
    >
      <Form key={kept?.updatedAt ?? "none"} shape="PreferenceBody" first={(kept as Value | null) ?? { address }} draft={`preference/${address}`} save={{ route: "PUT /v1/preferences" }} fixed={["address"]} labels={{ "/address": w.address, "/optOut": w.optOut, "/channel": w.instead }} saved={() => go("/preferences")} />
    </Detail>
  );
}


export default function Preferences() {
  const w = useWords(preferenceWords);
  const { query } = usePlace();
  const address = query.get("address");
  if (address) return <One key={address} address={address} />;
  return (
    <List<Preference>
      title={w.title}
      intro={w.intro}
      path="/v1/preferences"
      id={(row) => row.address + row.updatedAt}
      name={(row) => row.address}
      href={(row) => (row.address.includes("***") ? null : link("/preferences", { address: row.address }))}
      above={<LookUp />}
      columns={[
        { key: "address", label: w.address, kind: "main", cell: (row) => <bdi dir="ltr">{row.address}</bdi> },
        { key: "optOut", label: w.optOut, cell: (row) => <bdi dir="ltr">{row.optOut?.join(", ") || "–"}</bdi> },
        { key: "instead", label: w.instead, cell: (row) => <Instead channel={row.channel} /> },
        { key: "updated", label: w.updated, cell: (row) => <Time at={row.updatedAt} /> },
      ]}
      empty={{ title: w.nothing, text: w.nothingText }}
    />
  );
}
