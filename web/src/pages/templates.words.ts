import { words } from "../i18n";

export default words({
  en: {
    title: "Templates", intro: "What messages say, in which language, through which channel.", template: "Template", name: "Message", eventType: "Events", channel: "Channel", language: "Language", byDefault: "default", state: "State", version: "Version", make: "New template", subject: "Says", scope: "Only where", active: "Active",
    emptyTitle: "No templates yet", emptyText: "A template words a message, and makes it: whoever posts an event of its type gets one message for each channel and name. Make one here, or try a text without a server:",
  },
  ar: {
    title: "القوالب", intro: "ماذا تقول الرسائل، بأي لغة وعبر أي قناة.", template: "القالب", name: "الرسالة", eventType: "الأحداث", channel: "القناة", language: "اللغة", byDefault: "الافتراضية", state: "الحالة", version: "الإصدار", make: "قالب جديد", subject: "تقول", scope: "فقط حيث", active: "مفعّل",
    emptyTitle: "لا قوالب بعد", emptyText: "القالب يصوغ رسالة ويُنشئها: من يرسل حدثًا من نوعه تُرسل له رسالة لكل قناة واسم. أنشئ واحدًا هنا، أو جرّب نصًا من دون خادم:",
  },
});
