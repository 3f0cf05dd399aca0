// A value as JSON that somebody writes: what is half written stays as it is typed, and the value follows when it can be read.
import { useEffect, useRef, useState } from "preact/hooks";
import { fill, useWords } from "../i18n";
import { partWords } from "./parts.words";

const shown = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 2));

// useJsonText gives the text, what is wrong with it ("": nothing), and write() for what was typed.
export function useJsonText(value: unknown, set: (value: unknown) => void): { text: string; wrong: string; write: (next: string) => void } {
  const w = useWords(partWords);
  const [text, setText] = useState(() => shown(value));
  const [wrong, setWrong] = useState("");
  const last = useRef(JSON.stringify(value));
  useEffect(() => {
    const now = JSON.stringify(value);
    if (now === last.current) return;
    last.current = now;
    setText(shown(value));
    setWrong("");
  }, [value]);
  const write = (next: string) => {
    setText(next);
    try {
      const read = next.trim() ? (JSON.parse(next) as unknown) : undefined;
      last.current = JSON.stringify(read);
      setWrong("");
      set(read);
    } catch (why) {
      setWrong(fill(w.badJson, { why: (why as Error).message }));
    }
  };
  return { text, wrong, write };
}
