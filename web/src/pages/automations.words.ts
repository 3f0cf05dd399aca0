import { words } from "../i18n";

export default words({
  en: {
    title: "Automations", intro: "Handlers that are run: by triggers, by schedules, or by hand.", automation: "Automation", name: "Name", handler: "Handler", state: "State", last: "Last run", next: "Next run", schedules: "Schedules", dead: "Dead", make: "New automation", "Never run": "never run", Running: "running", Succeeded: "succeeded", Failed: "failed",
    emptyTitle: "No automations yet", emptyText: "An automation is a named handler with retries, schedules and a history. Make one here, or on the command line:",
  },
  ar: {
    title: "الأتمتة", intro: "معالِجات تُشغَّل: بمشغّلات أو بجداول أو يدويًا.", automation: "الأتمتة", name: "الاسم", handler: "المعالِج", state: "الحالة", last: "آخر تشغيل", next: "التشغيل التالي", schedules: "الجداول", dead: "ميتة", make: "أتمتة جديدة", "Never run": "لم تُشغَّل", Running: "تعمل", Succeeded: "نجح", Failed: "فشل",
    emptyTitle: "لا أتمتة بعد", emptyText: "الأتمتة معالِج له اسم وإعادات وجداول وسجل. أنشئ واحدة هنا أو من سطر الأوامر:",
  },
});
