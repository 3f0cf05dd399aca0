import { words } from "../i18n";

export default words({
  en: {
    title: "Settings", intro: "How this node is set up, and where each value comes from. They are changed where they come from, and hold from the next start on.",
    version: "Version", build: "Built with", node: "Node", store: "Store", place: "Where", storeVersion: "Its version", schema: "Schema", bytes: "Size", wal: "Write-ahead log",
    values: "Values", name: "Setting", value: "Value", origin: "Comes from", secret: "secret, not shown", notSet: "not set", flag: "command line", env: "environment", file: "file", byDefault: "default", only: "Only what differs from the default",
    outbound: "Outbound", sends: "Deliveries are sent.", heldNow: "Held: events are taken in, nothing is sent.", hold: "Hold outbound", holdAsk: "From now on nothing is sent, on every node and for every tenant, until it is released. Events are taken in, and deliveries wait.", release: "Release", releaseAsk: "What waited is sent now, as fast as channels allow: reminders and retries that are due, too.", why: "Why: {reason}", inFlight: "{n} was under way when it was held, and ends by itself.|{n} were under way when it was held, and end by themselves.",
    clock: "Clock", now: "Now", mode: "Mode", manual: "manual: it stands until it is moved", systemClock: "the system's", advance: "Advance the clock", advanceAsk: "All that becomes due on the way is done before the answer comes. A clock does not go back. Sessions live 12 hours by this clock: moved further, you sign in again.", by: "By", byHelp: "Such as 10m, 24h, 7d", moved: "The clock is at {time}.", run: "The clock is the system's. Start with peal dev to move it.",
    yours: "Your session", tenant: "Tenant", role: "Role", key: "Key", until: "Session ends", here: "This server", right: "system right",
  },
  ar: {
    title: "الإعدادات", intro: "كيف ضُبطت هذه العقدة ومن أين تأتي كل قيمة. تُغيَّر من حيث تأتي، وتسري من التشغيل التالي.",
    version: "الإصدار", build: "بُني بـ", node: "العقدة", store: "المخزن", place: "المكان", storeVersion: "إصداره", schema: "المخطط", bytes: "الحجم", wal: "سجل الكتابة المسبقة",
    values: "القيم", name: "الإعداد", value: "القيمة", origin: "مصدرها", secret: "سر لا يُعرض", notSet: "غير محدد", flag: "سطر الأوامر", env: "البيئة", file: "ملف", byDefault: "الافتراضي", only: "ما يختلف عن الافتراضي فقط",
    outbound: "الإرسال", sends: "تُرسل التسليمات.", heldNow: "موقوف: تُستقبل الأحداث ولا يُرسل شيء.", hold: "أوقف الإرسال", holdAsk: "من الآن لا يُرسل شيء، على كل العُقد ولكل المستأجرين، حتى يُستأنف. تُستقبل الأحداث وتنتظر التسليمات.", release: "استأنف", releaseAsk: "يُرسل الآن ما انتظر بأسرع ما تسمح به القنوات، ومنه التذكيرات والمحاولات المستحقة.", why: "السبب: {reason}", inFlight: "لم يكن شيء قيد الإرسال.|كان واحد قيد الإرسال وينتهي وحده.|كان اثنان قيد الإرسال وينتهيان وحدهما.|كانت {n} قيد الإرسال وتنتهي وحدها.|كان {n} قيد الإرسال وتنتهي وحدها.|كان {n} قيد الإرسال وتنتهي وحدها.",
    clock: "الساعة", now: "الآن", mode: "الوضع", manual: "يدوية: لا تتحرك حتى تُحرَّك", systemClock: "ساعة النظام", advance: "قدّم الساعة", advanceAsk: "يُنجز كل ما يستحق في الطريق قبل أن يأتي الجواب. والساعة لا ترجع. تعيش الجلسات 12 ساعة بهذه الساعة: إن قُدّمت أكثر عليك الدخول من جديد.", by: "بمقدار", byHelp: "مثل 10m أو 24h أو 7d", moved: "الساعة الآن {time}.", run: "الساعة ساعة النظام. شغّل peal dev لتحريكها.",
    yours: "جلستك", tenant: "المستأجر", role: "الدور", key: "المفتاح", until: "تنتهي الجلسة", here: "هذا الخادم", right: "صلاحية النظام",
  },
});
