import { useId } from "preact/hooks";
import { useWhyNot } from "./action";

// Go is a link that looks like a button, to a page that calls a route: disabled, with why, where the role may not.
export function Go(props: { route: string; href: string; children: string; primary?: boolean }) {
  const why = useWhyNot(props.route, props.children);
  const id = useId();
  if (!why) return <a class={`button${props.primary === false ? "" : " is-primary"}`} href={props.href}>{props.children}</a>;
  return (
    <span class="action">
      <button type="button" aria-disabled="true" aria-describedby={id}>{props.children}</button>
      <span class="why" id={id} role="tooltip">{why}</span>
    </span>
  );
}
