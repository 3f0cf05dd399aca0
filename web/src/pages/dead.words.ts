import { words } from "../i18n";

export default words({
  en: {
    title: "Dead letters", intro: "Runs of jobs and automations that used up their retries, or that nobody handles. They wait for a person.", job: "Job", entity: "Entity", source: "Asked for by", failedAt: "Failed", attempts: "Tries", error: "Last error", actions: "What to do", retry: "Retry", discard: "Discard", discardAsk: "It is given up: nothing runs, and its history stays.",
    none: "Nothing is dead", noneText: "Every run ended, or is tried again by itself.", Scheduled: "schedule", Manual: "hand", Deferred: "deferral", Trigger: "trigger", notParked: "It is no longer dead.",
  },
  ar: {
    title: "المهام الميتة", intro: "تشغيلات مهام وأتمتات استنفدت إعاداتها أو ليس لها منفّذ. تنتظر شخصًا.", job: "المهمة", entity: "الكيان", source: "طلبه", failedAt: "فشل", attempts: "المحاولات", error: "آخر خطأ", actions: "ما العمل", retry: "أعد المحاولة", discard: "أهمل", discardAsk: "يُتخلى عنه: لا يعمل شيء، ويبقى سجله.",
    none: "لا شيء ميت", noneText: "كل تشغيل انتهى أو يُعاد من تلقاء نفسه.", Scheduled: "الجدول", Manual: "يدويًا", Deferred: "تأجيل", Trigger: "مشغّل", notParked: "لم يعد ميتًا.",
  },
});
