import { words } from "../i18n";

export default words({
  en: {
    title: "Jobs", intro: "What runs by the clock, by hand, or when it was put off to later.", name: "Job", schedule: "Schedule", noSchedule: "only when asked for", handler: "Handler", state: "State", last: "Last result", next: "Next run", dead: "Dead", deadLetters: "{n} dead letter|{n} dead letters", make: "New job",
    "Never run": "never run", Running: "running", Succeeded: "succeeded", Failed: "failed", fault: "does not fire", paused: "paused", empty: "No jobs yet", emptyText: "A job is a name, a handler and mostly a cron expression. Make one here or on the command line.",
  },
  ar: {
    title: "المهام", intro: "ما يعمل وفق الساعة أو يدويًا أو حين يُؤجَّل إلى وقت لاحق.", name: "المهمة", schedule: "الجدول", noSchedule: "عند الطلب فقط", handler: "المنفّذ", state: "الحالة", last: "آخر نتيجة", next: "التشغيل التالي", dead: "ميتة", deadLetters: "لا ميتة|واحدة ميتة|اثنتان ميتتان|{n} ميتة|{n} ميتة|{n} ميتة", make: "مهمة جديدة",
    "Never run": "لم تعمل قط", Running: "تعمل", Succeeded: "نجحت", Failed: "فشلت", fault: "لا تنطلق", paused: "متوقفة", empty: "لا مهام بعد", emptyText: "المهمة اسم ومنفّذ وغالبًا تعبير cron. أنشئ واحدة هنا أو من سطر الأوامر.",
  },
});
