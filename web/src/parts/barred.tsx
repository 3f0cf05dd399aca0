import type { ComponentChildren } from "preact";
import { fill, useWords } from "../i18n";
import { mayCall, session } from "../session";
import { useStore } from "../store";
import { barredWords } from "./barred.words";
import { Empty } from "./empty";

// Barred shows what is within where the route may be called, and else why not and what to do about it.
export function Barred(props: { route: string; page: string; within?: boolean; children: ComponentChildren }) {
  const w = useWords(barredWords);
  const who = useStore(session);
  const { may, roles } = mayCall(props.route);
  if (may) return <>{props.children}</>;
  const isSystem = roles.includes("system");
  const role = who?.role ?? "";
  const why = isSystem ? fill(w.needsSystem, { role }) : fill(w.needsRole, { roles: roles.join(w.or), role });
  return (
    <section class="barred">
      {!props.within && <h1>{props.page}</h1>}
      <Empty title={fill(w.title, { page: props.page })} text={`${why} ${isSystem ? w.outSystem : w.out}`} {...(isSystem ? {} : { command: `peal keys create --role ${roles[0] ?? "admin"} --name NAME` })} />
    </section>
  );
}
