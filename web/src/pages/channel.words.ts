import { words } from "../i18n";

export default words({
  en: {
    title: "Channels", kind: "Channel", make: "New channel", version: "Version", type: "Type", updated: "Changed", edit: "Edit", show: "Health and limits", json: "JSON",
    enable: "Enable", disable: "Disable", disableAsk: "What it is to send is parked until it is enabled again.", remove: "Delete", removeAsk: "Its history stays. What names this channel will be parked.",
    config: "Settings of the type", typeFirst: "Choose a type first: its settings appear here.", concurrency: "Attempts at once", rate: "Rate", noRate: "no limit", timeout: "Timeout", retry: "Retries", ordered: "In order", yes: "yes", no: "no",
    circuit: "Circuit", since: "Since", failures: "Failures in a row", probe: "Tried again", lastError: "Last error", health: "Health", limits: "Limits", paused: "Paused until", secrets: "Secrets", secret: "Secret", setAt: "Set", versions: "Versions", ofChannel: "the channel’s own", fallback: "{value} unless said",
    sOff: "It is disabled: what it is to send is parked.", sOpen: "Its circuit is open: {n} failures in a row. What it is to send waits; one attempt now and then finds out whether the far side is back.", sHalf: "One attempt is on its way, to find out whether the far side is back.", sPaused: "The far side asked for a pause: nothing is sent until it is over.", sFine: "Nothing holds it.",
    test: "Send a test", testIntro: "A delivery like any other, by the same queue and on the record; marked as a test. Ten a minute.", target: "To whom", targetHelp: "An address as this channel takes it; some channels know by themselves whom they reach.", subject: "Subject", body: "Text", testSent: "It is on its way. See what becomes of it:", openDelivery: "Open the delivery",
    rotate: "Change a secret", rotateIntro: "A signing secret is made where you give none, and the last one stays good beside it for a while.", which: "Which", value: "New value", valueHelp: "Empty: one is made. Only for a signing secret.", overlap: "The last one is good for", overlapHelp: "Such as 24h; only for a signing secret.", told: "This is shown once. Give it to whoever verifies.", taken: "It has its new value.", until: "The last one is good until", deliveries: "Its deliveries", parked: "parked",
  },
  ar: {
    title: "القنوات", kind: "قناة", make: "قناة جديدة", version: "الإصدار", type: "النوع", updated: "تغيّرت", edit: "تعديل", show: "الصحة والحدود", json: "JSON",
    enable: "تفعيل", disable: "تعطيل", disableAsk: "يوقف ما عليها إرساله حتى تُفعَّل من جديد.", remove: "حذف", removeAsk: "يبقى سجلها. ما يشير إلى هذه القناة سيوقف.",
    config: "إعدادات النوع", typeFirst: "اختر نوعًا أولًا: تظهر إعداداته هنا.", concurrency: "محاولات في آنٍ واحد", rate: "المعدل", noRate: "بلا حد", timeout: "المهلة", retry: "إعادة المحاولة", ordered: "بالترتيب", yes: "نعم", no: "لا",
    circuit: "القاطع", since: "منذ", failures: "إخفاقات متتالية", probe: "تُجرَّب من جديد", lastError: "آخر خطأ", health: "الصحة", limits: "الحدود", paused: "متوقفة حتى", secrets: "الأسرار", secret: "السر", setAt: "حُدّد", versions: "الإصدارات", ofChannel: "ما تحدده القناة", fallback: "{value} ما لم يُذكر غيره",
    sOff: "معطّلة: يوقف ما عليها إرساله.", sOpen: "قاطعها مفتوح: الإخفاقات المتتالية {n}. ينتظر ما عليها إرساله، وتكشف محاولة من حين لآخر هل عاد الطرف الآخر.", sHalf: "محاولة واحدة جارية لمعرفة هل عاد الطرف الآخر.", sPaused: "طلب الطرف الآخر مهلة: لا يُرسل شيء حتى تنقضي.", sFine: "لا شيء يعيقها.",
    test: "أرسل تجربة", testIntro: "تسليم كغيره، عبر الطابور نفسه ومسجَّل؛ وعليه علامة تجربة. عشر في الدقيقة.", target: "إلى من", targetHelp: "عنوان كما تقبله هذه القناة؛ وبعض القنوات يعرف بنفسه إلى من يصل.", subject: "الموضوع", body: "النص", testSent: "إنه في الطريق. انظر ما يجري له:", openDelivery: "افتح التسليم",
    rotate: "غيّر سرًا", rotateIntro: "يُنشأ سر توقيع إن لم تعطِ واحدًا، ويبقى السابق صالحًا بجانبه مدة.", which: "أي سر", value: "القيمة الجديدة", valueHelp: "إن تُركت فارغة أُنشئت واحدة. لسر التوقيع فقط.", overlap: "يبقى السابق صالحًا", overlapHelp: "مثل 24h؛ لسر التوقيع فقط.", told: "يُعرض هذا مرة واحدة. سلّمه لمن يتحقق.", taken: "أخذ قيمته الجديدة.", until: "يبقى السابق صالحًا حتى", deliveries: "تسليماتها", parked: "الموقوفة",
  },
});
