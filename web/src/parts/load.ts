import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { send, type Query } from "../api";

export interface Loaded<T> {
  data: T | null;
  problem: unknown;
  isBusy: boolean;
  reload: () => void;
  set: (data: T) => void;
}

// useLoad asks for a path and keeps what was there while it is asked again. null: nothing is asked.
export function useLoad<T>(path: string | null, options: { path?: Record<string, string | number>; query?: Query } = {}): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const [turn, setTurn] = useState(0);
  const asked = useRef("");
  const name = path === null ? "" : JSON.stringify([path, options.path, options.query]);
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    if (asked.current !== name) setData(null);
    asked.current = name;
    setBusy(true);
    send<T>("GET", path, { ...options, signal: stop.signal }).then(
      (told) => {
        setData(told);
        setProblem(null);
        setBusy(false);
      },
      (why: Error) => {
        if (why.name === "AbortError") return;
        setProblem(why);
        setBusy(false);
      },
    );
    return () => stop.abort();
  }, [name, turn]);
  const reload = useCallback(() => setTurn((n) => n + 1), []);
  return { data, problem, isBusy, reload, set: setData };
}
