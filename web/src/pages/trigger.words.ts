import { words } from "../i18n";

export default words({
  en: {
    title: "Triggers", kind: "Trigger", make: "New trigger", rule: "Rule", edit: "Edit and try", events: "What it made", versions: "Versions", json: "JSON",
    sentence: "Events of the kind {kind} go through {channel}.", sentenceRun: "Events of the kind {kind} run {automation}.", pendingSentence: "{n} delivery is still to be done.|{n} deliveries are still to be done.",
    listens: "Listens to", channel: "Channel", automation: "Automation", template: "Template", dedup: "The same event, by", firstSend: "First send", atOnce: "at once", reminders: "Reminders", expires: "Expires after", cancelOn: "Called off by", address: "Address", locale: "Locale",
    version: "Version", updated: "Changed", integration: "Integration", source: "Source", retry: "Retries", pending: "Still to do", conditions: "Conditions", config: "What it asks of the provider's events",
    enable: "Enable", disable: "Disable", disableAsk: "It makes no more deliveries until it is enabled again. What it made goes on.", remove: "Delete", removeAsk: "Its history stays, and what it made goes on.",
    ofSurvey: "It belongs to the survey {id}, and is edited there.", toSurvey: "To the survey",
    id: "Id", eventKind: "Kind of events", filter: "Conditions", enabled: "Enabled", provider: "Provider", type: "Type of events", schedule: "Schedule", initialDelay: "First send after", awaitAnswer: "Awaits an answer", expireAfter: "Expires after", templateId: "Template id", dedupRecipe: "Paths that make two events the same",
    way: "Way", interval: "Interval", emitExisting: "Tell of what is there already", policy: "Policy", max: "Retries at most", giveUpAfter: "Give up after", unclassified: "Retries of unknown answers", match: "Paths that must agree", cancelEvery: "No condition: every event of that kind.",
    tried: "Tried on stored events", triedHelp: "The newest events of the kind, held against the conditions as you write them. Nothing is sent.", noKind: "Say which kind of events it listens to: the newest of them appear here.", noEvents: "No event of this kind was stored yet.", matches: "matches", matchesNot: "does not match",
    matched: "{n} of {all} match", why: "Why", seen: "It saw", missing: "nothing there", wanted: "It wanted", wouldMatchIf: "It would match if", payload: "The event", own: "An event of your own", ownLabel: "Event as JSON", dryRun: "What would follow", dryRunOf: "Dry run of version {version}, as it is saved", dryRunUnsaved: "What is not saved yet is not in it.", saveFirst: "Save it to see what would follow.",
    outcome: "Outcome", sends: "Sends", send: "Send {n}", at: "at", expiresAt: "Expires", message: "Message", to: "To", stops: "It would end first", callsOff: "It would call off what this trigger made.", made: "a delivery would be made", filtered: "nothing: the conditions do not hold", disabled: "nothing: the trigger is disabled", duplicate: "nothing: it came before", failed: "it could not be made",
    notFinished: "Not finished yet:", status: "Status", event: "Event", delivery: "Delivery", received: "Received", reason: "Why skipped", skip: "Skip", skipAsk: "It will not be sent.", eventsEmpty: "It has made nothing yet", eventsEmptyText: "What it makes of each event appears here: sent, waiting, skipped and why.", eventsIntro: "What it made of each event, newest first.",
    r_manual: "a person skipped it", r_filter_mismatch: "the conditions do not hold", r_automation_disabled: "it was disabled", r_run_create_failed: "there was no such automation", unsavedTry: "Try it",
  },
  ar: {
    title: "المشغّلات", kind: "مشغّل", make: "مشغّل جديد", rule: "القاعدة", edit: "تعديل وتجربة", events: "ما صنعه", versions: "الإصدارات", json: "JSON",
    sentence: "الأحداث من النوع {kind} تخرج عبر {channel}.", sentenceRun: "الأحداث من النوع {kind} تشغّل {automation}.", pendingSentence: "لا تسليمات متبقية.|بقي تسليم واحد.|بقي تسليمان.|بقيت {n} تسليمات.|بقي {n} تسليمًا.|بقي {n} تسليم.",
    listens: "يستمع إلى", channel: "القناة", automation: "الأتمتة", template: "القالب", dedup: "الحدث نفسه بحسب", firstSend: "أول إرسال", atOnce: "فورًا", reminders: "التذكيرات", expires: "ينتهي بعد", cancelOn: "يلغيه", address: "العنوان", locale: "اللغة",
    version: "الإصدار", updated: "تغيّر", integration: "التكامل", source: "المصدر", retry: "إعادات المحاولة", pending: "ما زال عليه", conditions: "الشروط", config: "ما يطلبه من أحداث المزوّد",
    enable: "تفعيل", disable: "تعطيل", disableAsk: "لا ينشئ تسليمات أخرى حتى يُفعَّل من جديد. ما أنشأه يستمر.", remove: "حذف", removeAsk: "يبقى سجله، وما أنشأه يستمر.",
    ofSurvey: "هو جزء من الاستبيان {id} ويُعدَّل هناك.", toSurvey: "إلى الاستبيان",
    id: "المعرّف", eventKind: "نوع الأحداث", filter: "الشروط", enabled: "مفعّل", provider: "المزوّد", type: "نوع أحداثه", schedule: "الجدول", initialDelay: "أول إرسال بعد", awaitAnswer: "ينتظر جوابًا", expireAfter: "ينتهي بعد", templateId: "معرّف القالب", dedupRecipe: "مسارات تجعل حدثين واحدًا",
    way: "الطريقة", interval: "الفترة", emitExisting: "أخبر بما هو موجود", policy: "السياسة", max: "أقصى عدد للإعادات", giveUpAfter: "التخلي بعد", unclassified: "إعادات لأجوبة غير معروفة", match: "مسارات يجب أن تتطابق", cancelEvery: "لا شرط: كل حدث من ذلك النوع.",
    tried: "تجربة على أحداث محفوظة", triedHelp: "أحدث الأحداث من النوع، تُقابَل بالشروط وأنت تكتبها. لا يُرسل شيء.", noKind: "حدّد نوع الأحداث التي يستمع إليها: يظهر أحدثها هنا.", noEvents: "لم يُحفظ حدث من هذا النوع بعد.", matches: "يطابق", matchesNot: "لا يطابق",
    matched: "يطابق {n} من {all}", why: "لماذا", seen: "رأى", missing: "لا شيء هناك", wanted: "أراد", wouldMatchIf: "كان سيطابق لو", payload: "الحدث", own: "حدث من عندك", ownLabel: "الحدث بصيغة JSON", dryRun: "ماذا سيتبع", dryRunOf: "تجربة بلا أثر للإصدار {version} كما حُفظ", dryRunUnsaved: "ما لم يُحفظ بعد ليس فيها.", saveFirst: "احفظه لترى ماذا سيتبع.",
    outcome: "النتيجة", sends: "الإرسالات", send: "الإرسال {n}", at: "في", expiresAt: "ينتهي", message: "الرسالة", to: "إلى", stops: "سينتهي قبل ذلك", callsOff: "سيلغي ما أنشأه هذا المشغّل.", made: "سيُنشأ تسليم", filtered: "لا شيء: الشروط لا تتحقق", disabled: "لا شيء: المشغّل معطّل", duplicate: "لا شيء: جاء من قبل", failed: "تعذّر إنشاؤه",
    notFinished: "لم يكتمل بعد:", status: "الحالة", event: "الحدث", delivery: "التسليم", received: "استُلم", reason: "سبب التجاوز", skip: "تجاوز", skipAsk: "لن يُرسل.", eventsEmpty: "لم يصنع شيئًا بعد", eventsEmptyText: "يظهر هنا ما يصنعه من كل حدث: مُرسل أو منتظر أو متجاوَز ولماذا.", eventsIntro: "ما صنعه من كل حدث، الأحدث أولًا.",
    r_manual: "تجاوزه شخص", r_filter_mismatch: "الشروط لا تتحقق", r_automation_disabled: "كان معطّلًا", r_run_create_failed: "لم توجد أتمتة كهذه", unsavedTry: "جرّبه",
  },
});
