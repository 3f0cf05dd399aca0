// A value that views look at: whoever uses it is shown again when it changes.
import { useEffect, useReducer } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(value: T): void;
  watch(told: () => void): () => void;
}

export function store<T>(first: T): Store<T> {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const told of [...watchers]) told();
    },
    watch(told) {
      watchers.add(told);
      return () => watchers.delete(told);
    },
  };
}

export function useStore<T>(of: Store<T>): T {
  const [, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => of.watch(() => again(undefined as never)), [of]);
  return of.get();
}
