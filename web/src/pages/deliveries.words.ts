import { words } from "../i18n";

export const deliveriesWords = words({
  en: {
    title: "Deliveries", intro: "Each is one promise: this content, to this recipient, on this channel, at its time.",
    all: "All", due: "Due", sending: "Sending", retrying: "Retrying", parked: "Parked", stuck: "Stuck", scheduled: "Pending", waiting: "Waiting", delivered: "Delivered", completed: "Completed", expired: "Expired", cancelled: "Cancelled", discarded: "Discarded",
    states: "States", atLeast: "at least {n}",
    state: "State", what: "What", channel: "Channel", recipient: "Recipient", tries: "Tries", when: "Due or ended", made: "Triggered", lastError: "Last error", test: "test",
    fTrigger: "Trigger", fEvent: "Event", fCause: "Cause", fSite: "Site", fList: "List", fType: "Channel type", fEntity: "Entity", fFrom: "Triggered from", fTo: "Triggered before", fDueFrom: "Due from", fDueTo: "Due before", fStuck: "Stuck", fQ: "Recipient or words",
    emptyTitle: "No deliveries yet", emptyText: "A trigger makes them of events. Send an event that one matches:",
    noneParked: "Nothing is parked", noneParkedText: "Nothing waits for a person to decide.", noneStuck: "Nothing is stuck", noneStuckText: "All that was due ten minutes ago has been sent, or waits for its retry.",
    noneState: "Nothing is in this state now", helpStuck: "Due ten minutes ago or longer, and not sent.",
    notNow: "{action} is for what is parked.", cancelNotNow: "Call off is for what is still to be sent.",
  },
  ar: {
    title: "التسليمات", intro: "كل تسليم وعد واحد: هذا المحتوى، لهذا المستلم، عبر هذه القناة، في وقته.",
    all: "الكل", due: "مستحق", sending: "قيد الإرسال", retrying: "يُعاد", parked: "موقوف", stuck: "عالق", scheduled: "بانتظار", waiting: "ينتظر جوابًا", delivered: "سُلّم", completed: "مكتمل", expired: "منتهٍ", cancelled: "ملغى", discarded: "مُهمل",
    states: "الحالات", atLeast: "{n} على الأقل",
    state: "الحالة", what: "ماذا", channel: "القناة", recipient: "المستلم", tries: "المحاولات", when: "الاستحقاق أو النهاية", made: "أُنشئ", lastError: "آخر خطأ", test: "تجربة",
    fTrigger: "المشغّل", fEvent: "الحدث", fCause: "السبب", fSite: "الموقع", fList: "القائمة", fType: "نوع القناة", fEntity: "الكيان", fFrom: "أُنشئ من", fTo: "أُنشئ قبل", fDueFrom: "مستحق من", fDueTo: "مستحق قبل", fStuck: "عالق", fQ: "المستلم أو كلمات",
    emptyTitle: "لا تسليمات بعد", emptyText: "تنشئها المشغّلات من الأحداث. أرسل حدثًا يطابق أحدها:",
    noneParked: "لا شيء موقوف", noneParkedText: "لا شيء ينتظر قرار شخص.", noneStuck: "لا شيء عالق", noneStuckText: "كل ما استُحق قبل عشر دقائق أُرسل أو ينتظر إعادته.",
    noneState: "لا شيء في هذه الحالة الآن", helpStuck: "استُحق قبل عشر دقائق أو أكثر ولم يُرسل.",
    notNow: "{action} للموقوف فقط.", cancelNotNow: "إلغاء الإرسال لما لم يُرسل بعد.",
  },
});
