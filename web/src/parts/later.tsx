import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

// later makes a component that is fetched when it is first shown: what most people never open is not in the first load.
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let known: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [, again] = useState(0);
    useEffect(() => {
      if (known) return;
      let isHere = true;
      void load().then((View) => {
        known = View;
        if (isHere) again((n) => n + 1);
      });
      return () => void (isHere = false);
    }, []);
    const View = known;
    return View ? <View {...props} /> : null;
  };
}
