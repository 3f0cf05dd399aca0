import { words } from "../i18n";

export default words({
  en: {
    title: "Templates", kind: "Template", make: "New template", edit: "Edit and preview", facts: "Facts", versions: "Versions", json: "JSON",
    sentence: "Events of the type {type} make the message {name} through {channel}.", language: "Language", byDefault: "default", scope: "Only where", eventType: "Type of events", channel: "Channel", name: "Name of the message", version: "Version", updated: "Changed", format: "Format of the body", missing: "A missing value becomes", address: "Address", locale: "Locale",
    enable: "Activate", disable: "Deactivate", disableAsk: "It makes no more messages until it is active again.", remove: "Delete", removeAsk: "One that is active is deactivated; one that is not goes from the lists. Its history stays.",
    id: "Id", subject: "Subject", body: "Body", active: "Active", provider: "The provider's own template", providerTemplate: "Its name there", params: "What it is filled with", declares: "Placeholders that events have", dedupRecipe: "Paths that make another message", schedule: "Schedule", initialDelay: "First send after", reminders: "Reminders", retry: "Retries", cancelOn: "Called off by", path: "Path", value: "Value",
    policy: "Policy", interval: "Interval", max: "Retries at most", giveUpAfter: "Give up after", unclassified: "Retries of unknown answers", match: "Paths that must agree", eventKind: "Kind of events", cancelEvery: "No condition: every event of that kind.", conditions: "Conditions",
    bodyHelp: "{{guestName}} is a value of the event; {{day | date:\"d MMMM yyyy\"}} a day. There are no loops and no conditions.", insert: "Insert:",
    preview: "Preview", previewHelp: "As the server renders it, unsaved as it is. Nothing is sent.", data: "With data of", dataOwn: "my own JSON", dataEvent: "the event of {time}", dataJson: "Data as JSON", noData: "No event of this type was stored yet: write data yourself.",
    warningsNone: "Every placeholder has a value.", warning: "{{name}}", source: "As HTML source", rendered: "Rendered", characters: "{n} character|{n} characters", segments: "{n} SMS|{n} SMS", gsm: "7-bit letters, {n} in one", ucs: "16-bit letters because of “{letter}”, {n} in one", images: "Images from elsewhere are not loaded.",
    nothing: "The body is empty.", providerShown: "The provider is given", sayMore: "Say type and channel, and what the message says: the preview appears here.",
  },
  ar: {
    title: "القوالب", kind: "قالب", make: "قالب جديد", edit: "تعديل ومعاينة", facts: "الحقائق", versions: "الإصدارات", json: "JSON",
    sentence: "الأحداث من النوع {type} تُنشئ الرسالة {name} عبر {channel}.", language: "اللغة", byDefault: "الافتراضية", scope: "فقط حيث", eventType: "نوع الأحداث", channel: "القناة", name: "اسم الرسالة", version: "الإصدار", updated: "تغيّر", format: "صيغة النص", missing: "القيمة الناقصة تصبح", address: "العنوان", locale: "اللغة المحلية",
    enable: "تفعيل", disable: "تعطيل", disableAsk: "لا يُنشئ رسائل أخرى حتى يُفعَّل من جديد.", remove: "حذف", removeAsk: "المفعّل يُعطَّل، والمعطّل يغيب عن القوائم. يبقى سجله.",
    id: "المعرّف", subject: "الموضوع", body: "النص", active: "مفعّل", provider: "قالب المزوّد نفسه", providerTemplate: "اسمه هناك", params: "ما يُملأ به", declares: "مواضع تملكها الأحداث", dedupRecipe: "مسارات تجعلها رسالة أخرى", schedule: "الجدول", initialDelay: "أول إرسال بعد", reminders: "التذكيرات", retry: "إعادات المحاولة", cancelOn: "يلغيه", path: "المسار", value: "القيمة",
    policy: "السياسة", interval: "الفترة", max: "أقصى عدد للإعادات", giveUpAfter: "التخلي بعد", unclassified: "إعادات لأجوبة غير معروفة", match: "مسارات يجب أن تتطابق", eventKind: "نوع الأحداث", cancelEvery: "لا شرط: كل حدث من ذلك النوع.", conditions: "الشروط",
    bodyHelp: "{{guestName}} قيمة من الحدث؛ {{day | date:\"d MMMM yyyy\"}} يوم. لا حلقات ولا شروط.", insert: "أدرج:",
    preview: "معاينة", previewHelp: "كما يصوغها الخادم، قبل الحفظ. لا يُرسل شيء.", data: "ببيانات", dataOwn: "JSON من عندي", dataEvent: "حدث {time}", dataJson: "البيانات بصيغة JSON", noData: "لم يُحفظ حدث من هذا النوع بعد: اكتب البيانات بنفسك.",
    warningsNone: "لكل موضع قيمة.", warning: "{{name}}", source: "مصدر HTML", rendered: "كما تظهر", characters: "لا أحرف|حرف واحد|حرفان|{n} أحرف|{n} حرفًا|{n} حرف", segments: "لا رسائل قصيرة|رسالة قصيرة واحدة|رسالتان قصيرتان|{n} رسائل قصيرة|{n} رسالة قصيرة|{n} رسالة قصيرة", gsm: "أحرف 7 بت، {n} في الواحدة", ucs: "أحرف 16 بت بسبب «{letter}»، {n} في الواحدة", images: "لا تُحمَّل الصور من أماكن أخرى.",
    nothing: "النص فارغ.", providerShown: "يُعطى المزوّد", sayMore: "حدّد النوع والقناة وما تقوله الرسالة: تظهر المعاينة هنا.",
  },
});
