import { Component, type ComponentChildren, type ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { frameWords, titles } from "./frame.words";
import { fill, useWords } from "./i18n";
import { onKeys } from "./keys";
import { liveState } from "./live";
import { findPage, groups, pages, type Page, type PageProps } from "./pages";
import { prefer, prefs } from "./prefs";
import { go, place, usePlace } from "./router";
import { leaving, readSession, session, signOut } from "./session";
import { announce, status } from "./status";
import { useStore } from "./store";
import { local } from "./time";
import { later } from "./parts/later";

const Help = later(() => import("./help").then((part) => part.Help));

// The icons are of one stroke, in the colour of the text.
const ICON = "M12 3a1.500 1.500 0 0 1 1.500 1.500v.9A6.500 6.500 0 0 1 18.500 12v4l2 3H3.500l2-3v-4a6.500 6.500 0 0 1 5-6.600v-.9A1.500 1.500 0 0 1 12 3zM9.500 20.500h5a2.500 2.500 0 0 1-5 0z";

function Mark() {
  return (
    <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" class="mark">
      <path d={ICON} fill="currentColor" />
    </svg>
  );
}

function current(path: string, page: Page): boolean {
  return page.path === "/" ? path === "/" : path === page.path || path.startsWith(`${page.path}/`);
}

function Rail() {
  const w = useWords(frameWords);
  const t = useWords(titles);
  const { path } = usePlace();
  return (
    <nav class="rail-pages" aria-label={w.pages}>
      {groups.map((group) => (
        <section key={group} aria-labelledby={`group-${group}`}>
          <h2 id={`group-${group}`}>{w[group]}</h2>
          <ul>
            {pages
              .filter((page) => page.group === group)
              .map((page) => (
                <li key={page.path}>
                  <a href={page.path} aria-current={current(path, page) ? "page" : undefined}>
                    {t[page.title]}
                  </a>
                </li>
              ))}
          </ul>
        </section>
      ))}
    </nav>
  );
}

function Choice<T extends string>(props: { label: string; value: T; options: [T, string][]; set: (value: T) => void }) {
  return (
    <label class="choice">
      <span>{props.label}</span>
      <select value={props.value} onChange={(event) => props.set(event.currentTarget.value as T)}>
        {props.options.map(([value, label]) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </label>
  );
}

function Preferences() {
  const w = useWords(frameWords);
  const chosen = useStore(prefs);
  return (
    <details class="prefs" name="prefs">
      <summary>{w.preferences}</summary>
      <div class="prefs-body">
        <Choice label={w.theme} value={chosen.theme} set={(theme) => prefer({ theme })} options={[["system", w.followSystem], ["light", w.light], ["dark", w.dark]]} />
        <Choice label={w.language} value={chosen.language} set={(language) => prefer({ language })} options={[["en", "English"], ["ar", "العربية"]]} />
        <Choice label={w.time} value={chosen.time} set={(time) => prefer({ time })} options={[["relative", w.relative], ["local", w.local], ["utc", w.utc]]} />
        <Choice label={w.shortcuts} value={chosen.shortcuts ? "on" : "off"} set={(value) => prefer({ shortcuts: value === "on" })} options={[["on", w.on], ["off", w.off]]} />
      </div>
    </details>
  );
}

function Person() {
  const w = useWords(frameWords);
  const who = useStore(session);
  if (!who) return null;
  return (
    <div class="person">
      <span class="who" title={who.tenant}>
        <bdi>{fill(w.signedInAs, { name: who.name || who.keyId, role: who.role })}</bdi>
        <small><bdi dir="ltr">{who.tenant} · Peal {who.version}</bdi></small>
      </span>
      <a href="/docs">{w.docs}</a>
      <button type="button" class="plain" onClick={() => void signOut().catch(() => undefined)}>
        {w.signOut}
      </button>
    </div>
  );
}

function Live() {
  const w = useWords(frameWords);
  const state = useStore(liveState);
  const { live } = useStore(prefs);
  if (state.is === "off") return null;
  const text = state.is === "stale" ? fill(w.stale, { time: state.at ? local(state.at) : "–" }) : state.is === "live" ? w.live : state.is === "paused" ? w.paused : w.connecting;
  return (
    <div class={`live is-${state.is}`} data-live={state.is}>
      <span class="live-text" role={state.is === "stale" ? "alert" : undefined}>
        <i class="dot" aria-hidden="true" />
        {text}
      </span>
      <button type="button" class="plain" aria-keyshortcuts="l" onClick={() => prefer({ live: !live })}>
        {live ? w.pause : w.resume}
      </button>
    </div>
  );
}

function Band() {
  const w = useWords(frameWords);
  const who = useStore(session);
  if (!who) return null;
  const lines = [who.environment ? fill(w.environment, { name: who.environment }) : "", who.dev ? w.devBand : "", who.held ? w.heldBand : ""].filter(Boolean);
  if (lines.length === 0) return null;
  return <aside class={`band${who.held ? " is-held" : ""}`} aria-label={w.notice}>{lines.join(" · ")}</aside>;
}

// Guard keeps a page that fails from taking the frame with it.
class Guard extends Component<{ children: ComponentChildren; words: { title: string; again: string } }, { why: Error | null }> {
  override state = { why: null as Error | null };
  static override getDerivedStateFromError(why: Error) {
    return { why };
  }
  override componentDidCatch(why: Error) {
    console.error(why);
  }
  override render() {
    if (!this.state.why) return this.props.children;
    return (
      <div class="problem" role="alert">
        <h1>{this.props.words.title}</h1>
        <p>{String(this.state.why.message)}</p>
        <button type="button" onClick={() => location.reload()}>{this.props.words.again}</button>
      </div>
    );
  }
}

const loaded = new Map<string, ComponentType<PageProps>>();

function Shown() {
  const w = useWords(frameWords);
  const t = useWords(titles);
  const { path } = usePlace();
  const found = findPage(path);
  const [, again] = useState(0);
  const [failed, setFailed] = useState<string | null>(null);
  const first = useRef(true);
  const page = found?.page;
  useEffect(() => {
    if (!page || loaded.has(page.path)) return;
    let isHere = true;
    setFailed(null);
    page.load().then(
      (module) => {
        loaded.set(page.path, module.default);
        if (isHere) again((n) => n + 1);
      },
      (why: Error) => isHere && setFailed(why.message),
    );
    return () => void (isHere = false);
  }, [page]);
  useEffect(() => {
    document.title = page ? `${t[page.title]} · Peal` : "Peal";
    if (first.current) {
      first.current = false;
      return;
    }
    document.getElementById("content")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
    if (page) announce(t[page.title]);
  }, [path]);
  if (!page)
    return (
      <div class="empty">
        <h1>{w.noPage}</h1>
        <p>{fill(w.noPageText, { path })}</p>
        <p><a href="/">{w.home}</a></p>
      </div>
    );
  const View = loaded.get(page.path);
  if (failed)
    return (
      <div class="problem" role="alert">
        <h1>{w.failedToLoad}</h1>
        <p>{failed}</p>
        <button type="button" onClick={() => location.reload()}>{w.again}</button>
      </div>
    );
  if (!View) return <p class="loading" aria-busy="true">{w.loading}</p>;
  return (
    <Guard key={path} words={{ title: w.failedToLoad, again: w.again }}>
      <View id={found.id} />
    </Guard>
  );
}

function StatusLine() {
  const told = useStore(status);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (!told.text) return;
    setSeen(true);
    const timer = setTimeout(() => setSeen(false), 6000);
    return () => clearTimeout(timer);
  }, [told]);
  return (
    <div class={`status${isSeen && told.text ? " is-seen" : ""}`} role="status" aria-live="polite">
      {told.text}
    </div>
  );
}

// useKeys binds what holds on every page.
function useKeys(showHelp: (shown: boolean) => void): void {
  useEffect(() => {
    const goes = Object.fromEntries(pages.filter((page) => page.letter).map((page) => [`g ${page.letter}`, () => go(page.path)]));
    return onKeys({
      ...goes,
      "?": () => showHelp(true),
      "/": () => {
        const field = document.querySelector<HTMLElement>("[data-filter]");
        if (!field) return false;
        field.focus();
        return true;
      },
      u: () => {
        const up = place.get().path.split("/").slice(0, -1).join("/");
        if (!up) return false;
        go(up);
        return true;
      },
      l: () => prefer({ live: !prefs.get().live }),
    });
  }, []);
}

// useSession asks who is signed in, leads to the sign-in page who is not, and back from it who is.
function useSession(): { isKnown: boolean; problem: string | null; ask: () => void } {
  const who = useStore(session);
  const { path } = usePlace();
  const [problem, setProblem] = useState<string | null>(null);
  const was = useRef(false);
  const ask = () => {
    setProblem(null);
    readSession().catch((why: Error) => setProblem(why.message));
  };
  useEffect(ask, []);
  useEffect(() => {
    if (who === null && path !== "/signin") {
      const here = location.pathname + location.search;
      const query = new URLSearchParams();
      if (here !== "/") query.set("back", here);
      if (was.current && !leaving.get()) query.set("ended", "1");
      leaving.set(false);
      const text = query.toString();
      go(`/signin${text ? `?${text}` : ""}`, { replace: true });
    }
    was.current = !!who;
  }, [who, path]);
  return { isKnown: who !== undefined, problem, ask };
}

export function Frame() {
  const w = useWords(frameWords);
  const { path } = usePlace();
  const who = useStore(session);
  const { isKnown, problem, ask } = useSession();
  const [help, setHelp] = useState(false);
  const [menu, setMenu] = useState(false);
  useKeys(setHelp);
  useEffect(() => setMenu(false), [path]);
  if (problem)
    return (
      <main class="alone">
        <h1>{w.failedToLoad}</h1>
        <p>{problem}</p>
        <button type="button" onClick={ask}>{w.again}</button>
      </main>
    );
  if (!isKnown || (!who && path !== "/signin")) return <main class="alone" aria-busy="true"><p class="loading">{w.loading}</p></main>;
  if (path === "/signin")
    return (
      <main class="alone" id="content" tabIndex={-1}>
        <Shown />
      </main>
    );
  return (
    <>
      <a class="skip" href="#content">{w.skip}</a>
      <Band />
      <div class="frame">
        <header class={`rail${menu ? " is-open" : ""}`}>
          <div class="rail-head">
            <a class="brand" href="/"><Mark /> Peal</a>
            <Live />
            <button type="button" class="menu" aria-expanded={menu} aria-controls="menu" onClick={() => setMenu(!menu)}>
              {menu ? w.close : w.menu}
            </button>
          </div>
          <div class="rail-body" id="menu">
            <Rail />
            <div class="rail-foot">
              <Preferences />
              <button type="button" class="plain" aria-keyshortcuts="?" onClick={() => setHelp(true)}>{w.help}</button>
              <Person />
            </div>
          </div>
        </header>
        <main id="content" tabIndex={-1}>
          <Shown />
        </main>
      </div>
      <StatusLine />
      {help && <Help close={() => setHelp(false)} />}
    </>
  );
}
