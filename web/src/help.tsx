import { titles } from "./frame.words";
import all from "./help.words";
import { fill, useWords } from "./i18n";
import { pages } from "./pages";
import { Dialog } from "./parts/dialog";
import { prefs } from "./prefs";
import { useStore } from "./store";

export function Help(props: { close: () => void }) {
  const w = useWords(all);
  const t = useWords(titles);
  const { shortcuts } = useStore(prefs);
  const rows: [string, string][] = [
    ["?", w.keyHelpKey], ["/", w.keyFilter], ["j k", w.keyNext], ["x", w.keySelect], ["Enter", w.keyOpen], ["u", w.keyBack], ["l", w.keyLive], ["Esc", w.keyEscape],
    ...pages.filter((page) => page.letter).map((page): [string, string] => [`g ${page.letter}`, fill(w.keyGo, { page: t[page.title] })]),
  ];
  return (
    <Dialog title={w.keyboard} close={props.close}>
      {!shortcuts && <p>{w.keyOff}</p>}
      <dl class="keys">
        {rows.map(([keys, what]) => (
          <div key={keys}>
            <dt dir="ltr">{keys.split(" ").map((one) => <kbd key={one}>{one}</kbd>)}</dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
