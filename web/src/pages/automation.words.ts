import { words } from "../i18n";

export default words({
  en: {
    title: "Automations", kind: "Automation", make: "New automation", runs: "Runs", edit: "Edit", schedules: "Schedules", versions: "Versions", json: "JSON",
    run: "Run now", runAsk: "It is run once, enabled or not; its schedules stay as they are.", payload: "Payload", entity: "What it is about", started: "Begun:", sentence: "Its handler is {handler}.", lastSentence: "The last run: {result}.", deadSentence: "{n} run waits for a person.|{n} runs wait for a person.", fault: "Its schedule does not fire:",
    handler: "Handler", name: "Name", triggers: "Run by the triggers", last: "Last run", next: "Next run", retries: "Retries at most", timeout: "Timeout of a try", missedCount: "Missed and not made up", skippedCount: "Passed over", version: "Version", updated: "Changed", noTriggers: "none",
    enable: "Enable", disable: "Disable", disableAsk: "Nothing fires it until it is enabled again, and what falls meanwhile is not made up. It can still be run by hand.", remove: "Delete", removeAsk: "Its history stays. Triggers that name it make no more runs.",
    id: "Id", enabled: "Enabled", maxRetries: "Retries at most", cron: "Cron expression", zone: "Time zone", missed: "What is made up", missedWindow: "Not older than", overlap: "While one still runs",
    source: "Started by", manual: "a person", schedule: "a schedule", trigger: "a trigger", status: "Status", attempts: "Attempts", created: "Made", ended: "Ended", runId: "Run", runsEmpty: "It has never run", runsEmptyText: "Run it now, give it a schedule, or let a trigger name it.",
    noSchedules: "No schedules", noSchedulesText: "A schedule runs it by the clock: a cron expression in a time zone.", addSchedule: "New schedule", editSchedule: "Edit", removeSchedule: "Remove", removeScheduleAsk: "It no longer fires. Runs that were made go on.", scheduleName: "Name of the schedule", means: "It means", nextTimes: "Next times", there: "there", here: "here", "Never run": "never run", Running: "running", Succeeded: "succeeded", Failed: "failed",
  },
  ar: {
    title: "الأتمتة", kind: "أتمتة", make: "أتمتة جديدة", runs: "التشغيلات", edit: "تعديل", schedules: "الجداول", versions: "الإصدارات", json: "JSON",
    run: "شغّل الآن", runAsk: "تُشغَّل مرة واحدة، مفعّلة أو معطّلة؛ وتبقى جداولها كما هي.", payload: "البيانات", entity: "ما الذي يخصه", started: "بدأ:", sentence: "معالِجها {handler}.", lastSentence: "آخر تشغيل: {result}.", deadSentence: "لا تشغيلات تنتظر شخصًا.|تشغيل واحد ينتظر شخصًا.|تشغيلان ينتظران شخصًا.|{n} تشغيلات تنتظر شخصًا.|{n} تشغيلًا ينتظر شخصًا.|{n} تشغيل ينتظر شخصًا.", fault: "جدولها لا يعمل:",
    handler: "المعالِج", name: "الاسم", triggers: "تشغّلها المشغّلات", last: "آخر تشغيل", next: "التشغيل التالي", retries: "أقصى عدد للإعادات", timeout: "مهلة المحاولة", missedCount: "فات ولم يُعوَّض", skippedCount: "تُجووز", version: "الإصدار", updated: "تغيّر", noTriggers: "لا شيء",
    enable: "تفعيل", disable: "تعطيل", disableAsk: "لا يشغّلها شيء حتى تُفعَّل من جديد، وما يفوت لا يُعوَّض. يمكن تشغيلها يدويًا.", remove: "حذف", removeAsk: "يبقى سجلها. المشغّلات التي تسمّيها لا تُنشئ تشغيلات أخرى.",
    id: "المعرّف", enabled: "مفعّلة", maxRetries: "أقصى عدد للإعادات", cron: "تعبير cron", zone: "المنطقة الزمنية", missed: "ما الذي يُعوَّض", missedWindow: "ليس أقدم من", overlap: "ما دام تشغيل قائمًا",
    source: "بدأه", manual: "شخص", schedule: "جدول", trigger: "مشغّل", status: "الحالة", attempts: "المحاولات", created: "أُنشئ", ended: "انتهى", runId: "التشغيل", runsEmpty: "لم تُشغَّل قط", runsEmptyText: "شغّلها الآن أو أعطها جدولًا أو دع مشغّلًا يسمّيها.",
    noSchedules: "لا جداول", noSchedulesText: "الجدول يشغّلها بالساعة: تعبير cron في منطقة زمنية.", addSchedule: "جدول جديد", editSchedule: "تعديل", removeSchedule: "أزل", removeScheduleAsk: "لن يعمل بعد الآن. ما أُنشئ من تشغيلات يستمر.", scheduleName: "اسم الجدول", means: "معناه", nextTimes: "الأوقات التالية", there: "هناك", here: "هنا", "Never run": "لم تُشغَّل", Running: "يعمل", Succeeded: "نجح", Failed: "فشل",
  },
});
