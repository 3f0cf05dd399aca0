import { words } from "../i18n";

export default words({
  en: {
    title: "Notifications", intro: "Messages to a list, wherever they came from: here, from a site, from a transaction.", one: "Notification",
    status: "Status", subject: "Subject", list: "List", type: "Type", site: "Site", taken: "Taken in", next: "Next attempt", error: "Last error", channel: "Channel", from: "From", to: "Before", stuck: "Stuck only", q: "Words in the subject", noSubject: "without a subject",
    tiles: "Notifications in figures", here: "Here, and all sites", allSites: "All", bySite: "By site", depth: "Due, not sent", stuckTile: "Stuck", parked: "Parked", delivered: "Delivered in the last minute", oldest: "Oldest that waits", none: "nothing waits", scheduled: "Not due yet",
    atLeast: "{n}+", hDepth: "due now or being sent", hStuck: "due ten minutes ago or longer", hParked: "wait for a person", hScheduled: "{n} not due yet", siteHere: "without a site",
    emptyTitle: "No notifications yet", emptyText: "A notification goes to everybody on a list. Make the list first, then send:",
    retry: "Retry", discard: "Discard", retryAsk: "It goes out again to those that have it not; its list is asked anew.", discardAsk: "It is given up: nobody else gets it. The row stays.",
    allMatching: "Retry or discard all parked that match…", gathering: "Looking for those that are parked…", gathered: "{n} parked notification matches.|{n} parked notifications match.", tooMany: "More than 1,000 are parked: these are the newest 1,000. Come back for the rest.", noneParked: "Nothing that matches is parked.",
    targets: "Whom it goes to", address: "Address", name: "Name", outcome: "Outcome", reason: "Reason", at: "When", waiting: "waits", noTargets: "Nobody yet", noTargetsText: "The list is asked when it is sent.",
    of: "{delivered} of {all} have it", refused: "{n} refused", optedOut: "{n} opted out", tries: "Failed attempts", created: "Taken in", siteAt: "Taken in at the site", lastAttempt: "Last attempt", deliveredAt: "Delivered", delivery: "Delivery", event: "Event", source: "Came from", body: "Text", data: "Data for the channel",
    onlyParked: "Only what is parked can be retried or discarded", why: "Why: {reason}", deliveryLink: "Its delivery, with every attempt", masked: "Addresses are masked for your role.",
  },
  ar: {
    title: "الإشعارات", intro: "رسائل إلى قائمة، أيًا كان مصدرها: من هنا أو من موقع أو من معاملة.", one: "إشعار",
    status: "الحالة", subject: "الموضوع", list: "القائمة", type: "النوع", site: "الموقع", taken: "استُلم", next: "المحاولة التالية", error: "آخر خطأ", channel: "القناة", from: "من", to: "قبل", stuck: "العالقة فقط", q: "كلمات في الموضوع", noSubject: "بلا موضوع",
    tiles: "الإشعارات بالأرقام", here: "هنا وكل المواقع", allSites: "الكل", bySite: "حسب الموقع", depth: "مستحق لم يُرسل", stuckTile: "عالق", parked: "موقوف", delivered: "سُلّم في الدقيقة الأخيرة", oldest: "أقدم منتظر", none: "لا شيء ينتظر", scheduled: "لم يحن بعد",
    atLeast: "{n}+", hDepth: "مستحق الآن أو قيد الإرسال", hStuck: "مستحق منذ عشر دقائق أو أكثر", hParked: "ينتظر شخصًا", hScheduled: "{n} لم يحن بعد", siteHere: "بلا موقع",
    emptyTitle: "لا إشعارات بعد", emptyText: "يصل الإشعار إلى كل من في القائمة. أنشئ القائمة أولًا ثم أرسل:",
    retry: "إعادة المحاولة", discard: "إهمال", retryAsk: "يُرسل من جديد إلى من لم يصله، وتُسأل القائمة من جديد.", discardAsk: "يُترك: لن يصل إلى أحد بعد. ويبقى الصف.",
    allMatching: "أعد أو أهمل كل الموقوف المطابق…", gathering: "جارٍ البحث عن الموقوف…", gathered: "لا إشعار موقوف يطابق.|إشعار موقوف واحد يطابق.|إشعاران موقوفان يطابقان.|{n} إشعارات موقوفة تطابق.|{n} إشعارًا موقوفًا يطابق.|{n} إشعار موقوف يطابق.", tooMany: "الموقوف أكثر من 1,000: هذه أحدث 1,000. عُد للباقي.", noneParked: "لا شيء مما يطابق موقوف.",
    targets: "إلى من يصل", address: "العنوان", name: "الاسم", outcome: "النتيجة", reason: "السبب", at: "متى", waiting: "ينتظر", noTargets: "لا أحد بعد", noTargetsText: "تُسأل القائمة عند الإرسال.",
    of: "وصل إلى {delivered} من {all}", refused: "رُفض: {n}", optedOut: "امتنع: {n}", tries: "محاولات فاشلة", created: "استُلم", siteAt: "استُلم في الموقع", lastAttempt: "آخر محاولة", deliveredAt: "سُلّم", delivery: "التسليم", event: "الحدث", source: "جاء من", body: "النص", data: "بيانات للقناة",
    onlyParked: "لا يُعاد أو يُهمل إلا الموقوف", why: "السبب: {reason}", deliveryLink: "تسليمه بكل محاولاته", masked: "العناوين مخفية لدورك.",
  },
});
