import { words } from "../i18n";

export default words({
  en: {
    title: "Keys", intro: "Who may call: each key has one role in one tenant. Whoever signs in here opens a session of their key, which ends with it.",
    name: "Name", role: "Role", limits: "Limited to", created: "Made", expires: "Expires", never: "never", actions: "Actions", tenant: "Tenant", noName: "without a name",
    session: "session", sessionOf: "session of {name}", yours: "yours, now", system: "system right", site: "Site", handlers: "Handlers", everything: "–",
    make: "New key", makeText: "The key itself is shown once, when it is made: only its hash is kept.", edit: "Edit", revoke: "Revoke", end: "End session",
    nameHelp: "Whose it is, and what for", expiresAt: "Expires at", expiresHelp: "Empty: never. In your own time zone.", siteHelp: "The site that it is for", handlersHelp: "Those that the worker may claim from, with commas between. Empty: all.",
    tenantHelp: "Your own", choose: "Choose…",
    revokeAsk: "Whoever uses this key is refused from now on, on every node, and its sessions end. This cannot be undone.",
    revokeOwn: "It is your own key: you are signed out as well.", endAsk: "Whoever works in this session has to sign in again.", endOwn: "It is your own session: you are signed out.",
    noSystem: "A key with the system right does not change", noSession: "A session is as its key is",
    once: "Your new key", onceText: "Copy it now: it is never shown again.", kept: "I have kept it", emptyTitle: "No keys", emptyText: "That cannot be: you signed in with one.",
    read: "looks at everything; sees addresses masked", ingest: "posts events", worker: "fetches work and reports what became of it", author: "looks, and writes definitions",
    operator: "looks, and acts on deliveries", siteRole: "hands on what a site took in", auditExport: "exports the audit chain", operations: "looks at any tenant; needs the system right to be given", admin: "may do all that is its tenant's",
  },
  ar: {
    title: "المفاتيح", intro: "من يحق له الطلب: لكل مفتاح دور واحد لدى مستأجر واحد. من يدخل هنا يفتح جلسة لمفتاحه، وتنتهي بانتهائه.",
    name: "الاسم", role: "الدور", limits: "مقصور على", created: "أُنشئ", expires: "ينتهي", never: "أبدًا", actions: "إجراءات", tenant: "المستأجر", noName: "بلا اسم",
    session: "جلسة", sessionOf: "جلسة للمفتاح {name}", yours: "جلستك الآن", system: "صلاحية النظام", site: "الموقع", handlers: "المعالجات", everything: "–",
    make: "مفتاح جديد", makeText: "يظهر المفتاح مرة واحدة عند إنشائه: لا يُحفظ إلا بصمته.", edit: "تعديل", revoke: "إبطال", end: "إنهاء الجلسة",
    nameHelp: "لمن هو ولأي غرض", expiresAt: "ينتهي في", expiresHelp: "فارغ: لا ينتهي. بتوقيتك المحلي.", siteHelp: "الموقع الذي هو له", handlersHelp: "ما يحق للعامل أن يأخذ منه، بينها فواصل. فارغ: الكل.",
    tenantHelp: "مستأجرك", choose: "اختر…",
    revokeAsk: "يُرفض كل من يستعمل هذا المفتاح من الآن على كل العُقد، وتنتهي جلساته. لا يمكن التراجع.",
    revokeOwn: "إنه مفتاحك: ستخرج أنت أيضًا.", endAsk: "على من يعمل في هذه الجلسة أن يدخل من جديد.", endOwn: "إنها جلستك: ستخرج.",
    noSystem: "المفتاح ذو صلاحية النظام لا يتغير", noSession: "الجلسة كمفتاحها",
    once: "مفتاحك الجديد", onceText: "انسخه الآن: لن يظهر مرة أخرى.", kept: "حفظته", emptyTitle: "لا مفاتيح", emptyText: "لا يمكن ذلك: لقد دخلت بواحد.",
    read: "يرى كل شيء والعناوين مخفية", ingest: "يرسل الأحداث", worker: "يأخذ العمل ويبلّغ بنتيجته", author: "يرى ويكتب التعريفات",
    operator: "يرى ويتصرف في التسليمات", siteRole: "يسلّم ما استقبله موقع", auditExport: "يصدّر سجل التدقيق", operations: "يرى أي مستأجر؛ منحه يتطلب صلاحية النظام", admin: "كل ما يخص مستأجره",
  },
});
