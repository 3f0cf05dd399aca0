// HTML of a message, shown without running or loading anything of it: known elements and attributes alone are taken over
// into a tree of its own, whose styles are set by script, as the page's policy wants it.
import { useEffect, useRef } from "preact/hooks";

const KEPT = new Set("a abbr b blockquote br caption center code col colgroup dd div dl dt em font h1 h2 h3 h4 h5 h6 hr i img li ol p pre s small span strong sub sup table tbody td tfoot th thead tr u ul".split(" "));
const GONE = new Set("script style head title noscript template iframe object embed svg math form input button select textarea link meta base".split(" "));
const ATTRIBUTES = new Set("align alt bgcolor border cellpadding cellspacing color colspan dir face height lang rowspan size title valign width".split(" "));

function copy(from: Node, to: Node): void {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) to.appendChild(document.createTextNode(node.textContent ?? ""));
    if (!(node instanceof Element)) continue;
    const name = node.localName;
    if (GONE.has(name)) continue;
    if (!KEPT.has(name)) {
      copy(node, to);
      continue;
    }
    const level = /^h([1-6])$/.exec(name)?.[1];
    const made = document.createElement(level ? "div" : name); // its headings are none of the page
    if (level) {
      made.style.fontWeight = "bold";
      made.style.fontSize = `${[2, 1.5, 1.2, 1, 0.9, 0.8][Number(level) - 1]}em`;
    }
    for (const { name: attribute, value } of node.attributes) if (ATTRIBUTES.has(attribute)) made.setAttribute(attribute, value);
    const style = node.getAttribute("data-style");
    if (style && !/url\s*\(|position|@/i.test(style)) made.style.cssText += style;
    if (name === "a" && /^(https?:|mailto:|tel:)/i.test(node.getAttribute("href") ?? "")) {
      made.setAttribute("href", node.getAttribute("href")!);
      made.setAttribute("target", "_blank");
      made.setAttribute("rel", "noopener noreferrer");
    }
    const image = node.getAttribute("src") ?? "";
    if (name === "img" && /^data:image\/(png|jpeg|gif|webp);/i.test(image)) made.setAttribute("src", image);
    else if (name === "img") {
      const stand = document.createElement("span");
      stand.textContent = `▨ ${node.getAttribute("alt") || image}`;
      to.appendChild(stand);
      continue;
    }
    copy(node, made);
    to.appendChild(made);
  }
}

// parsed renames attributes of styles and handlers first: the policy would note each that a parser meets, even in a document nobody shows.
function parsed(html: string): HTMLElement {
  const text = html.replace(/<style[\s\S]*?<\/style\s*>/gi, "").replace(/<[^>]*>/g, (tag) => tag.replace(/[\s/](style|on\w+)\s*=/gi, " data-$1="));
  return new DOMParser().parseFromString(text, "text/html").body;
}

export function Html(props: { html: string; dir?: "rtl" | "ltr" | "auto"; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = box.current!.shadowRoot ?? box.current!.attachShadow({ mode: "open" });
    const inner = document.createElement("div");
    copy(parsed(props.html), inner);
    inner.style.cssText = "font: 15px/1.5 Georgia, serif; color: #1a1f24; overflow-wrap: anywhere";
    root.replaceChildren(inner);
  }, [props.html]);
  return <div class="mail" ref={box} dir={props.dir ?? "auto"} role="group" aria-label={props.label} data-html />;
}
