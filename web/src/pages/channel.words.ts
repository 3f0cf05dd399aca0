import { words } from "../i18n";

export default words({
  en: {
    title: "Channels", kind: "Channel", make: "New channel", version: "Version", type: "Type", updated: "Changed", created: "Made", origin: "From", edit: "Edit", show: "Facts", json: "JSON",
    enable: "Enable", disable: "Disable", disableAsk: "What it is to send is parked until it is enabled again.", remove: "Delete", removeAsk: "Its history stays. What names this channel will be parked.",
    config: "Settings of the type", typeFirst: "Choose a type first: its settings appear here.", limits: "Limits", concurrency: "Attempts at once", rate: "Rate", timeout: "Timeout", retry: "Retries",
  },
  ar: {
    title: "القنوات", kind: "قناة", make: "قناة جديدة", version: "الإصدار", type: "النوع", updated: "تغيّر", created: "أُنشئ", origin: "من", edit: "تعديل", show: "الحقائق", json: "JSON",
    enable: "تفعيل", disable: "تعطيل", disableAsk: "يوقف ما عليها إرساله حتى تُفعَّل من جديد.", remove: "حذف", removeAsk: "يبقى سجلها. ما يشير إلى هذه القناة سيوقف.",
    config: "إعدادات النوع", typeFirst: "اختر نوعًا أولًا: تظهر إعداداته هنا.", limits: "الحدود", concurrency: "محاولات في آنٍ واحد", rate: "المعدل", timeout: "المهلة", retry: "إعادات المحاولة",
  },
});
