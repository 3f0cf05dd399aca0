import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { Dialog } from "./dialog";
import { partWords } from "./parts.words";
import { Time } from "./time";
import all from "./author.words";

export interface OriginOf {
  set: string;
  file?: string;
  by: string;
  at: string;
  version: number;
  drifted: boolean;
}

// OriginNote says that a thing comes from files.
export function OriginNote(props: { origin: OriginOf | undefined }) {
  const w = useWords(all);
  const { origin } = props;
  if (!origin) return null;
  return (
    <p class="note" data-origin={origin.set}>
      <bdi>{origin.file ? fill(w.fromFile, { file: origin.file, set: origin.set }) : fill(w.fromSet, { set: origin.set })}</bdi> <Time at={origin.at} />. {origin.drifted && <strong>{w.drifted}</strong>}
    </p>
  );
}

// Locked shows what edits a thing; where it comes from files, only after one said that this is wanted.
export function Locked(props: { origin: OriginOf | undefined; children: ComponentChildren }) {
  const w = useWords(all);
  const p = useWords(partWords);
  const [isOpen, setOpen] = useState(false);
  const [asks, setAsks] = useState(false);
  if (!props.origin || isOpen) return <>{props.children}</>;
  return (
    <div class="empty">
      <OriginNote origin={props.origin} />
      <button type="button" onClick={() => setAsks(true)}>{w.editAnyway}</button>
      {asks && (
        <Dialog title={w.editAnyway} close={() => setAsks(false)}>
          <p>{w.editAsk}</p>
          <div class="dialog-foot">
            <button type="button" onClick={() => setAsks(false)}>{p.cancel}</button>
            <button type="button" class="is-primary" onClick={() => setOpen(true)}>{w.goOn}</button>
          </div>
        </Dialog>
      )}
    </div>
  );
}
