import { words } from "../i18n";

export const integrationWords = words({
  en: {
    title: "Integrations", intro: "Accounts at providers, and whether they work.", id: "Integration", provider: "Provider", status: "Status", since: "Since", reason: "Why", enabled: "Enabled", yes: "yes", no: "no", make: "New integration", nothing: "No integrations yet", nothingText: "An integration is an account at a provider, with its token. Make one here or on the command line:",
    kind: "Integration", show: "How it does", edit: "Edit", versions: "Versions", json: "JSON", version: "Version", updated: "Changed", enable: "Enable", disable: "Disable", disableAsk: "Nothing is asked of it, and no event of it is taken, until it is enabled again.", remove: "Delete", removeAsk: "Triggers that name it get no events any more. What came stays.",
    baseUrl: "Base URL", token: "Token from", connection: "Connection", installation: "Installation", polled: "How it is polled", notPolled: "No trigger asks for it to be polled.", every: "Asked every", triggers: "Triggers", last: "Last asked", next: "Next", baseline: "Baseline since", noBaseline: "none yet", backoff: "Rests until", lastError: "Last error", stopped: "polling has stopped",
    watch: "Its watch", expires: "Until", sActive: "It works.", sOff: "It is disabled: nothing is asked, and no event of it is taken.", sBad: "It does not work: {why}",
    polls: "Polls", pollsIntro: "The accounts that are polled, and how it goes. Triggers of the same provider and integration are polled together.", noPolls: "Nothing is polled", noPollsText: "A trigger of a provider with the way “polling” has its account polled. See which providers can be:",
  },
  ar: {
    title: "التكاملات", intro: "حسابات لدى المزوّدين، وهل تعمل.", id: "التكامل", provider: "المزوّد", status: "الحالة", since: "منذ", reason: "السبب", enabled: "مفعّل", yes: "نعم", no: "لا", make: "تكامل جديد", nothing: "لا تكاملات بعد", nothingText: "التكامل حساب لدى مزوّد مع رمزه. أنشئ واحدًا هنا أو من سطر الأوامر:",
    kind: "تكامل", show: "كيف حاله", edit: "تعديل", versions: "الإصدارات", json: "JSON", version: "الإصدار", updated: "تغيّر", enable: "تفعيل", disable: "تعطيل", disableAsk: "لا يُسأل عن شيء ولا يُقبل منه حدث حتى يُفعَّل من جديد.", remove: "حذف", removeAsk: "لا تصل المشغّلاتِ التي تسميه أحداثٌ بعد ذلك. ما جاء يبقى.",
    baseUrl: "العنوان الأساس", token: "مصدر الرمز", connection: "الاتصال", installation: "التثبيت", polled: "كيف يُستطلع", notPolled: "لا مشغّل يطلب استطلاعه.", every: "يُسأل كل", triggers: "المشغّلات", last: "آخر سؤال", next: "التالي", baseline: "خط الأساس منذ", noBaseline: "لا يوجد بعد", backoff: "يستريح حتى", lastError: "آخر خطأ", stopped: "توقف الاستطلاع",
    watch: "المراقبة", expires: "حتى", sActive: "يعمل.", sOff: "معطّل: لا يُسأل عن شيء ولا يُقبل منه حدث.", sBad: "لا يعمل: {why}",
    polls: "الاستطلاع الدوري", pollsIntro: "الحسابات التي تُستطلع وكيف يجري ذلك. تُستطلع معًا مشغّلات المزوّد والتكامل نفسيهما.", noPolls: "لا شيء يُستطلع", noPollsText: "المشغّل الذي طريقته «polling» يُستطلع حسابه. انظر أي المزوّدين يقبل ذلك:",
  },
});
