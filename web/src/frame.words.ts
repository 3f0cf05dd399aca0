import { words } from "./i18n";

const titles = words({
  en: {
    overview: "Overview", signin: "Sign in", deliveries: "Deliveries", delivery: "Delivery", events: "Events", event: "Event",
    notifications: "Notifications", notification: "Notification", plan: "Plan", operations: "Operations", operation: "Operation", dead: "Dead letters",
    triggers: "Triggers", trigger: "Trigger", automations: "Automations", automation: "Automation", templates: "Templates", template: "Template",
    jobs: "Jobs", job: "Job", surveys: "Surveys", survey: "Survey", campaigns: "Campaigns", campaign: "Campaign", lists: "Lists", list: "List",
    sources: "Sources", source: "Source", integrations: "Integrations", integration: "Integration", polls: "Polls", inbox: "Inbox", hook: "Webhook",
    outbox: "Outbox", emitted: "Outbox row", channels: "Channels", channel: "Channel", preferences: "Preferences", sites: "Sites",
    captured: "Captured", message: "Captured message", audit: "Audit", nodes: "Nodes", settings: "Settings", keys: "Keys", tenants: "Tenants",
  },
  ar: {
    overview: "نظرة عامة", signin: "تسجيل الدخول", deliveries: "التسليمات", delivery: "تسليم", events: "الأحداث", event: "حدث",
    notifications: "الإشعارات", notification: "إشعار", plan: "الخطة", operations: "العمليات", operation: "عملية", dead: "المهام الميتة",
    triggers: "المشغّلات", trigger: "مشغّل", automations: "الأتمتة", automation: "أتمتة", templates: "القوالب", template: "قالب",
    jobs: "المهام", job: "مهمة", surveys: "الاستبيانات", survey: "استبيان", campaigns: "الحملات", campaign: "حملة", lists: "القوائم", list: "قائمة",
    sources: "المصادر", source: "مصدر", integrations: "التكاملات", integration: "تكامل", polls: "الاستطلاع الدوري", inbox: "الوارد", hook: "طلب ويب",
    outbox: "الصادر", emitted: "صف صادر", channels: "القنوات", channel: "قناة", preferences: "التفضيلات", sites: "المواقع",
    captured: "الرسائل الملتقطة", message: "رسالة ملتقطة", audit: "سجل التدقيق", nodes: "العُقد", settings: "الإعدادات", keys: "المفاتيح", tenants: "المستأجرون",
  },
});

export type TitleKey = keyof (typeof titles)["en"];
export { titles };

export const frameWords = words({
  en: {
    operate: "Operate", author: "Author", connect: "Connect", measure: "Measure", system: "System",
    skip: "Skip to the content", notice: "Notice", menu: "Menu", close: "Close", pages: "Pages",
    preferences: "Appearance and keys", theme: "Theme", light: "Light", dark: "Dark", followSystem: "As the system",
    language: "Language", time: "Times", relative: "Relative", local: "Local", utc: "UTC", shortcuts: "Shortcuts of single keys", on: "On", off: "Off",
    signOut: "Sign out", signedInAs: "{name}, {role}", docs: "Documents", help: "Keyboard help",
    live: "Live", connecting: "Connecting…", stale: "Not live: last update {time}", paused: "Paused", pause: "Pause live updates", resume: "Resume live updates",
    devBand: "Development: every channel captures, nothing is sent", heldBand: "Outbound is held: events are taken in, nothing is sent", environment: "Environment {name}",
    noPage: "There is no such page", noPageText: "Nothing lies at {path}.", home: "To the overview",
    loading: "Loading…", failedToLoad: "The page could not be loaded", again: "Try again",
  },
  ar: {
    operate: "التشغيل", author: "التأليف", connect: "الربط", measure: "القياس", system: "النظام",
    skip: "انتقل إلى المحتوى", notice: "تنبيه", menu: "القائمة", close: "إغلاق", pages: "الصفحات",
    preferences: "المظهر والمفاتيح", theme: "المظهر", light: "فاتح", dark: "داكن", followSystem: "حسب النظام",
    language: "اللغة", time: "الأوقات", relative: "نسبية", local: "محلية", utc: "UTC", shortcuts: "اختصارات المفتاح الواحد", on: "مفعّلة", off: "معطّلة",
    signOut: "تسجيل الخروج", signedInAs: "{name}، {role}", docs: "الوثائق", help: "مساعدة لوحة المفاتيح",
    live: "مباشر", connecting: "جارٍ الاتصال…", stale: "غير مباشر: آخر تحديث {time}", paused: "متوقف", pause: "أوقف التحديث المباشر", resume: "استأنف التحديث المباشر",
    devBand: "بيئة تطوير: كل قناة تلتقط رسائلها ولا يُرسل شيء", heldBand: "الإرسال موقوف: تُستقبل الأحداث ولا يُرسل شيء", environment: "البيئة {name}",
    noPage: "لا توجد صفحة كهذه", noPageText: "لا شيء في {path}.", home: "إلى النظرة العامة",
    loading: "جارٍ التحميل…", failedToLoad: "تعذّر تحميل الصفحة", again: "أعد المحاولة",
  },
});
