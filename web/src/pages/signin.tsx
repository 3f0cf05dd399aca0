import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api";
import { useWords } from "../i18n";
import { prefer, prefs } from "../prefs";
import { go, usePlace } from "../router";
import { session, signIn } from "../session";
import { useStore } from "../store";
import { ProblemBox } from "../parts/problem";
import all from "./signin.words";

// back is where one was. Only a path of this console is one.
function back(query: URLSearchParams): string {
  const to = query.get("back") ?? "/";
  return to.startsWith("/") && !to.startsWith("//") && !to.startsWith("/signin") ? to : "/";
}

export default function SignIn() {
  const w = useWords(all);
  const { query } = usePlace();
  const who = useStore(session);
  const { language } = useStore(prefs);
  const [key, setKey] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(null);
  const enter = async (with_: string) => {
    setBusy(true);
    setProblem(null);
    try {
      await signIn(with_);
      go(back(query), { replace: true });
    } catch (why) {
      setProblem(why);
      setBusy(false);
    }
  };
  // A key in the fragment never reached the server; it is wiped before anything else.
  useEffect(() => {
    const given = location.hash.slice(1);
    if (given) {
      history.replaceState({}, "", location.pathname + location.search);
      void enter(decodeURIComponent(given));
    } else if (who) go(back(query), { replace: true });
  }, []);
  const isWrong = problem instanceof Problem && problem.status === 401;
  return (
    <div class="signin">
      <h1>Peal</h1>
      {query.get("ended") && !problem && <p class="note" role="status">{w.ended}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) void enter(key);
        }}
      >
        <label class="field">
          <span>{w.key}</span>
          <input name="key" type="password" dir="ltr" autocomplete="off" spellcheck={false} value={key} required aria-describedby="key-help" onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
        <small class="help" id="key-help">{w.keyHelp}</small>
        {isWrong ? <p class="wrong" role="alert">{w.wrongKey}</p> : <ProblemBox problem={problem} />}
        <button type="submit" class="is-primary" aria-busy={isBusy}>{isBusy ? w.signingIn : w.signIn}</button>
      </form>
      <p>
        <button type="button" class="plain" lang={language === "ar" ? "en" : "ar"} onClick={() => prefer({ language: language === "ar" ? "en" : "ar" })}>
          {language === "ar" ? "English" : "العربية"}
        </button>
      </p>
    </div>
  );
}
