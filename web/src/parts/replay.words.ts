import { words } from "../i18n";

export const replayWords = words({
  en: {
    label: "Replay all that failed", counting: "Counting…", none: "Nothing that failed matches.", will: "{n} row that failed will be decided anew.|{n} rows that failed will be decided anew.",
    again: "What fired does not fire again.", start: "Replay", frozen: "As it stood now: what fails later is left alone, unless it came before and fails meanwhile.", which: "Which rows",
  },
  ar: {
    label: "أعد كل ما فشل", counting: "جارٍ العدّ…", none: "لا شيء مما فشل يطابق.", will: "لن يُعاد أي صف.|سيُبتّ من جديد في صف واحد فشل.|سيُبتّ من جديد في صفّين فشلا.|سيُبتّ من جديد في {n} صفوف فشلت.|سيُبتّ من جديد في {n} صفًا فشل.|سيُبتّ من جديد في {n} صف فشل.",
    again: "ما أُطلق لا يُطلق ثانية.", start: "أعد", frozen: "كما هو الآن: ما يفشل لاحقًا لا يُمسّ، إلا ما جاء قبلُ وفشل في هذه الأثناء.", which: "أي الصفوف",
  },
});
