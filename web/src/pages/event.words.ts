import { words } from "../i18n";

export default words({
  en: {
    title: "Events", kind: "Event", id: "Id", source: "Source", entity: "Entity", correlation: "Correlation id", trace: "Trace", topic: "Topic", schema: "Schema version", occurred: "Occurred", received: "Received", recipient: "Recipient", payload: "Payload",
    sentence: "{made} {missed}", madeNone: "It made no delivery.", made: "It made {n} delivery.|It made {n} deliveries.", missed: "{n} rule did not match.|{n} rules did not match.", missedMore: "More than {n} rules did not match.",
    again: "Post again", againAsk: "A new event with the same content comes in: triggers decide anew, and what matches is sent. A trigger that has a deduplication key may hold it back.", againJob: "A run of a job is repeated on the job's page.",
    reprocess: "Process again", reprocessAsk: "The webhook is read again, as it came. What was made of it already is not made twice.",
    hook: "It came as a webhook", hookOnly: "A webhook that made no event", provider: "Provider", externalId: "The provider's id", status: "Status", error: "Why", size: "Size", bytes: "{n} bytes", openHook: "Open the webhook",
    timeline: "Timeline", timelineText: "From the first byte to the last attempt; times are counted from the first.", more: "Show more", start: "start", deliveriesOf: "All deliveries of it",
    tReceived: "Received", tFrom: "from {source}", tVerified: "Webhook verified", tDrained: "Taken in from where it waited", tMatched: "matched", tMissed: "{n} rule did not match|{n} rules did not match", why: "why?", tPlanned: "Delivery planned", tTo: "to {address} on {channel}", tDue: "due {time}", tAtOnce: "due at once",
    tAttempt: "Attempt {n}", tTook: "took {time}", tEnded: "Delivery now", delivery: "delivery",
    matched: "What it made", matchedNone: "Nothing was made of this event.", rule: "Made by", deliveryId: "Delivery", channel: "Channel", address: "To", state: "State", attempts: "Attempts", due: "Next", version: "version {n}",
    unmatched: "{n} not matched – why?|{n} not matched – why?", unmatchedMore: "More than {n} not matched – why?", verdict: "Verdict", condition: "Condition", seen: "It saw", would: "Would match if", tester: "Try in the tester", testerColumn: "Tester", at: "at {path}", note: "Note",
    "filter-false": "The filter was false", "trigger-disabled": "The trigger was disabled", "duplicate-key": "A delivery has this deduplication key already", "too-large": "Too large", "other-language": "Of another language", "narrower-scope": "A rule of a narrower scope went first", "automation-disabled": "The automation was disabled", "run-create-failed": "The run could not be made", "other-kind": "It listens to another kind", matchedReason: "Matched",
    holder: "the one that has it", delivered: "delivered", transient: "failed for now", permanent: "refused for good", unknown: "unknown", elsewhere: "went elsewhere",
  },
  ar: {
    title: "الأحداث", kind: "حدث", id: "المعرّف", source: "المصدر", entity: "الكيان", correlation: "معرّف الارتباط", trace: "التتبع", topic: "الموضوع", schema: "إصدار المخطط", occurred: "حدث في", received: "وصل", recipient: "المستلِم", payload: "المحتوى",
    sentence: "{made} {missed}", madeNone: "لم ينتج عنه أي تسليم.", made: "لم ينتج عنه أي تسليم.|نتج عنه تسليم واحد.|نتج عنه تسليمان.|نتجت عنه {n} تسليمات.|نتج عنه {n} تسليمًا.|نتج عنه {n} تسليم.", missed: "طابقت كل القواعد.|قاعدة واحدة لم تطابق.|قاعدتان لم تطابقا.|{n} قواعد لم تطابق.|{n} قاعدة لم تطابق.|{n} قاعدة لم تطابق.", missedMore: "أكثر من {n} قاعدة لم تطابق.",
    again: "أرسله من جديد", againAsk: "يصل حدث جديد بالمحتوى نفسه: تقرر المشغّلات من جديد ويُرسل ما يطابق. قد يحجزه مشغّل له مفتاح منع التكرار.", againJob: "تشغيل المهمة يُعاد من صفحة المهمة.",
    reprocess: "عالجه من جديد", reprocessAsk: "يُقرأ طلب الويب من جديد كما وصل. ما نتج عنه سابقًا لا ينتج مرتين.",
    hook: "وصل كطلب ويب", hookOnly: "طلب ويب لم ينتج حدثًا", provider: "المزوّد", externalId: "معرّف المزوّد", status: "الحالة", error: "السبب", size: "الحجم", bytes: "{n} بايت", openHook: "افتح طلب الويب",
    timeline: "الخط الزمني", timelineText: "من أول بايت إلى آخر محاولة؛ تُحسب الأوقات من البداية.", more: "اعرض المزيد", start: "البداية", deliveriesOf: "كل تسليماته",
    tReceived: "وصل", tFrom: "من {source}", tVerified: "تم التحقق من طلب الويب", tDrained: "أُخذ من حيث كان ينتظر", tMatched: "طابق", tMissed: "طابقت كل القواعد|قاعدة واحدة لم تطابق|قاعدتان لم تطابقا|{n} قواعد لم تطابق|{n} قاعدة لم تطابق|{n} قاعدة لم تطابق", why: "لماذا؟", tPlanned: "خُطط للتسليم", tTo: "إلى {address} عبر {channel}", tDue: "موعده {time}", tAtOnce: "موعده فورًا",
    tAttempt: "المحاولة {n}", tTook: "استغرقت {time}", tEnded: "التسليم الآن", delivery: "التسليم",
    matched: "ما نتج عنه", matchedNone: "لم ينتج شيء عن هذا الحدث.", rule: "أنشأته", deliveryId: "التسليم", channel: "القناة", address: "إلى", state: "الحالة", attempts: "المحاولات", due: "التالي", version: "الإصدار {n}",
    unmatched: "طابقت كل القواعد|واحدة لم تطابق – لماذا؟|اثنتان لم تطابقا – لماذا؟|{n} لم تطابق – لماذا؟|{n} لم تطابق – لماذا؟|{n} لم تطابق – لماذا؟", unmatchedMore: "أكثر من {n} لم تطابق – لماذا؟", verdict: "الحكم", condition: "الشرط", seen: "ما رآه", would: "كان سيطابق لو", tester: "جرّبه في المختبِر", testerColumn: "المختبِر", at: "عند {path}", note: "ملاحظة",
    "filter-false": "لم يتحقق المرشّح", "trigger-disabled": "المشغّل معطّل", "duplicate-key": "لتسليم آخر مفتاح منع التكرار نفسه", "too-large": "كبير جدًا", "other-language": "بلغة أخرى", "narrower-scope": "سبقته قاعدة أضيق نطاقًا", "automation-disabled": "الأتمتة معطّلة", "run-create-failed": "تعذّر إنشاء التشغيل", "other-kind": "يصغي إلى نوع آخر", matchedReason: "طابق",
    holder: "الذي يحمله", delivered: "سُلّم", transient: "فشل مؤقتًا", permanent: "رُفض نهائيًا", unknown: "غير معروف", elsewhere: "ذهب إلى مكان آخر",
  },
});
