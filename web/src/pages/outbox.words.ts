import { words } from "../i18n";

export const outboxWords = words({
  en: {
    title: "Outbox", intro: "What applications emitted in SQL or wrote into tables of their own, newest first.", status: "Status", created: "Written", source: "Source", what: "What", eventType: "Event type", entity: "Entity", tries: "Tries", became: "What went wrong", from: "From", to: "Before",
    nothing: "No application has emitted anything yet", nothingText: "An application emits in its own transaction (PostgreSQL), or a table of its own is drained as a source:", kind: "Outbox row", replay: "Replay", replayAsk: "It is decided anew. What fired does not fire again.",
    topic: "Topic", correlation: "Correlation id", schema: "Schema version", published: "Published", next: "Tried again", event: "The event it became", payload: "Payload", reason: "Reason",
    sPending: "It waits to be decided.", sPublished: "It became an event, and was decided.", sFailed: "Nothing came of it: {why}",
  },
  ar: {
    title: "الصادر", intro: "ما أصدرته التطبيقات في SQL أو كتبته في جداولها، الأحدث أولًا.", status: "الحالة", created: "كُتب", source: "المصدر", what: "ماذا", eventType: "نوع الحدث", entity: "الكيان", tries: "المحاولات", became: "ما الخطأ", from: "من", to: "قبل",
    nothing: "لم يُصدر أي تطبيق شيئًا بعد", nothingText: "يُصدر التطبيق ضمن معاملته (PostgreSQL)، أو يُفرَّغ جدول له بوصفه مصدرًا:", kind: "صف صادر", replay: "أعد", replayAsk: "يُبتّ فيه من جديد. ما أُطلق لا يُطلق ثانية.",
    topic: "الموضوع", correlation: "معرّف الربط", schema: "إصدار المخطط", published: "نُشر", next: "يُجرَّب من جديد", event: "الحدث الذي صار إليه", payload: "الحمولة", reason: "السبب",
    sPending: "ينتظر البتّ فيه.", sPublished: "صار حدثًا وبُتّ فيه.", sFailed: "لم ينتج عنه شيء: {why}",
  },
});
