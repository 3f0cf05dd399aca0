import type { ComponentType } from "preact";
import { useId, useState } from "preact/hooks";
import { useWords } from "../i18n";
import { useWhyNot } from "./action";
import { bulkWords } from "./bulk.words";

// What is done to many deliveries at once, by a dialog (bulkdialog.tsx) that is fetched when somebody asks for it.
export type BulkAction = "retry" | "discard" | "cancel";
export type BulkFilter = Record<string, string | boolean | string[]>;

export interface OperationShown {
  id: string;
  action: string;
  filter: BulkFilter;
  reason: string | null;
  dryRun: boolean;
  matched: number | null;
  done: number;
  skipped: number;
  failed: number;
  state: string;
  sample?: string[];
  createdAt: string;
  finishedAt: string | null;
}

const FITS: Record<BulkAction, string[]> = { retry: ["parked"], discard: ["parked"], cancel: ["pending", "sending", "retrying", "waiting"] };

export function fits(action: BulkAction, state: string | null | undefined): boolean {
  return !state || FITS[action].includes(state);
}

export interface BulkDialogProps {
  action: BulkAction;
  filter: BulkFilter;
  label: string;
  close: () => void;
}

// BulkButton opens the dialog for what a filter names.
export function BulkButton(props: { action: BulkAction; filter: BulkFilter; label?: string; primary?: boolean; disabled?: string }) {
  const w = useWords(bulkWords);
  const label = props.label ?? w[props.action];
  const why = useWhyNot("POST /v1/operations", label) || props.disabled || "";
  const [dialog, setDialog] = useState<{ View: ComponentType<BulkDialogProps> } | null>(null);
  const id = useId();
  const open = () => {
    if (!why) void import("./bulkdialog").then(({ BulkDialog }) => setDialog({ View: BulkDialog }));
  };
  return (
    <span class="action">
      <button type="button" class={props.primary ? "is-primary" : ""} aria-disabled={why ? true : undefined} aria-describedby={why ? id : undefined} data-bulk={props.action} onClick={open}>
        {label}
      </button>
      {why && <span class="why" id={id} role="tooltip">{why}</span>}
      {dialog && <dialog.View action={props.action} filter={props.filter} label={label} close={() => setDialog(null)} />}
    </span>
  );
}
