import { words } from "../i18n";

export const sourceWords = words({
  en: {
    title: "Sources", intro: "Where webhooks come in, and which tables are drained.", id: "Source", provider: "Provider", state: "State", where: "Where", integration: "Integration", updated: "Changed", make: "New source", table: "a table", nothing: "No sources yet", nothingText: "A source has a URL of its own that a provider posts to. Make one here, or try one with an example that is signed:",
    kind: "Source", show: "Connect", edit: "Edit", versions: "Versions", json: "JSON", version: "Version", enable: "Enable", disable: "Disable", disableAsk: "Webhooks that come to it are refused until it is enabled again.", remove: "Delete", removeAsk: "Its URL is gone for good; what came stays in the inbox.",
    url: "Give the provider this URL", secretSet: "Its secret was set", told: "This is its secret, shown once. Give it to the provider together with the URL.", rotate: "Change its secret", rotateIntro: "One is made where you give none. The last one stays good beside it for a while.", secret: "New secret", secretHelp: "Empty: one is made.", overlap: "The last one is good for", overlapHelp: "Such as 24h, which it is unless said.", until: "The last one is good until",
    curl: "Try it", curlText: "Put the secret in the place of $SECRET. peal hooks send signs as this provider does.", seen: "Last webhooks", never: "Nothing has come to it yet.", allSeen: "All of it in the inbox", allRows: "Its rows in the outbox", config: "Settings", shared: "Shared by all tenants", yes: "yes", status: "Status", received: "Received", became: "What became of it",
    sTable: "Peal reads this table of an application, and tells it what became of each row.", sOff: "It is disabled: what comes to it is refused.", sOn: "Webhooks that come to its URL are verified, stored, and become events.", sUnsigned: "Whatever comes to its URL is taken: nothing is verified.",
  },
  ar: {
    title: "المصادر", intro: "أين تصل طلبات الويب، وأي الجداول تُفرَّغ.", id: "المصدر", provider: "المزوّد", state: "الحالة", where: "أين", integration: "التكامل", updated: "تغيّر", make: "مصدر جديد", table: "جدول", nothing: "لا مصادر بعد", nothingText: "للمصدر عنوان خاص يرسل إليه المزوّد. أنشئ واحدًا هنا، أو جرّب واحدًا بمثال موقّع:",
    kind: "مصدر", show: "الربط", edit: "تعديل", versions: "الإصدارات", json: "JSON", version: "الإصدار", enable: "تفعيل", disable: "تعطيل", disableAsk: "تُرفض طلبات الويب التي تصل إليه حتى يُفعَّل من جديد.", remove: "حذف", removeAsk: "يزول عنوانه نهائيًا؛ وما وصل يبقى في الوارد.",
    url: "أعطِ المزوّد هذا العنوان", secretSet: "حُدّد سره", told: "هذا سره، يُعرض مرة واحدة. أعطه للمزوّد مع العنوان.", rotate: "غيّر سره", rotateIntro: "يُنشأ واحد إن لم تعطِ. ويبقى السابق صالحًا بجانبه مدة.", secret: "السر الجديد", secretHelp: "إن تُرك فارغًا أُنشئ واحد.", overlap: "يبقى السابق صالحًا", overlapHelp: "مثل 24h، وهي المدة ما لم يُذكر غيرها.", until: "يبقى السابق صالحًا حتى",
    curl: "جرّبه", curlText: "ضع السر مكان $SECRET. والأمر peal hooks send يوقّع كما يفعل هذا المزوّد.", seen: "آخر طلبات الويب", never: "لم يصل إليه شيء بعد.", allSeen: "كلها في الوارد", allRows: "صفوفه في الصادر", config: "الإعدادات", shared: "مشترك بين كل المستأجرين", yes: "نعم", status: "الحالة", received: "وصل", became: "ما آل إليه",
    sTable: "يقرأ Peal هذا الجدول من تطبيق، ويخبره بما آل إليه كل صف.", sOff: "معطّل: يُرفض ما يصل إليه.", sOn: "طلبات الويب التي تصل إلى عنوانه يُتحقق منها وتُخزَّن وتصير أحداثًا.", sUnsigned: "يُقبل كل ما يصل إلى عنوانه: لا يُتحقق من شيء.",
  },
});
