import { words } from "../i18n";

export const operationWords = words({
  en: {
    title: "Operations", intro: "What was done to many at once: counted first, then carried out in slices. What was done stays done.",
    kind: "Operation", back: "Operations",
    retry: "Retry", discard: "Discard", cancel: "Call off", replay: "Replay", verify: "Verify the audit", "hand-over": "Hand over",
    preview: "preview", what: "What", which: "Which", state: "State", matched: "Matched", done: "Done", skipped: "Skipped", failed: "Failed", reason: "Reason", created: "Begun", finished: "Ended", progress: "Progress",
    emptyTitle: "No operations yet", emptyText: "Pick deliveries, or filter them and act on all that match; or on the command line:",
    counting: "It counts what it matches.", running: "{done} of {matched} are through.", paused: "It rests; what it did stays.", isDone: "It is through.", cancelled: "It was ended before it was through; what it did stays.", dry: "A preview: it counted, and changed nothing.",
    pause: "Pause", resume: "Resume", end: "End it here", askEnd: "What it did stays, the rest is left as it is.", over: "It is over.", notPaused: "It is not paused.", isPaused: "It is paused already.",
    skippedHelp: "Skipped: no longer in the state that the action is for when its turn came.", show: "Show these deliveries", sample: "Sample of what it matched", id: "Id",
    gone: "There is no such operation", record: "On the record", verdict: "Verdict", showPreviews: "Show previews too", hidePreviews: "Hide previews", took: "Took",
  },
  ar: {
    title: "العمليات", intro: "ما جرى على كثير دفعة واحدة: يُعدّ أولًا ثم يُنفَّذ على شرائح. وما تم يبقى.",
    kind: "عملية", back: "العمليات",
    retry: "إعادة المحاولة", discard: "إهمال", cancel: "إلغاء الإرسال", replay: "إعادة التشغيل", verify: "التحقق من السجل", "hand-over": "نقل",
    preview: "معاينة", what: "ماذا", which: "أيها", state: "الحالة", matched: "المطابق", done: "تم", skipped: "تُجووز", failed: "فشل", reason: "السبب", created: "بدأت", finished: "انتهت", progress: "التقدم",
    emptyTitle: "لا عمليات بعد", emptyText: "حدّد تسليمات أو رشّحها وطبّق على كل المطابق؛ أو من سطر الأوامر:",
    counting: "تعدّ ما يطابقها.", running: "أُنجز {done} من {matched}.", paused: "متوقفة؛ وما فعلته يبقى.", isDone: "اكتملت.", cancelled: "أُنهيت قبل اكتمالها؛ وما فعلته يبقى.", dry: "معاينة: عدّت ولم تغيّر شيئًا.",
    pause: "إيقاف مؤقت", resume: "استئناف", end: "إنهاؤها هنا", askEnd: "ما فعلته يبقى، والباقي يُترك كما هو.", over: "انتهت.", notPaused: "ليست متوقفة.", isPaused: "متوقفة أصلًا.",
    skippedHelp: "المتجاوَز: لم يعد في الحالة التي يخصها الإجراء حين جاء دوره.", show: "اعرض هذه التسليمات", sample: "عيّنة مما طابقها", id: "المعرّف",
    gone: "لا توجد عملية كهذه", record: "في السجل", verdict: "الحكم", showPreviews: "أظهر المعاينات أيضًا", hidePreviews: "أخفِ المعاينات", took: "استغرقت",
  },
});
