import { words } from "../i18n";

export const partWords = words({
  en: {
    needsRole: "{action} needs the role {roles}", needsSystem: "{action} needs the system right", or: " or ", cancel: "Cancel", confirm: "Confirm", sure: "Are you sure?",
    reason: "Reason", reasonNeeded: "A reason is needed", typeName: "Type {name} to confirm", working: "Working…", done: "{action}: done",
    unreachable: "The server cannot be reached.", unreachableOut: "Is it running? What you entered is still here; try again.", wayOut: "What {code} means", request: "Request {id}",
    stale: "Somebody else has changed it meanwhile.", staleOut: "Load it again to see the change; your edit is kept as a draft.", reload: "Load again",
    loading: "Loading…", rows: "{n} row|{n} rows", selected: "{n} selected", clear: "Clear", selectAll: "Select all rows of this page", select: "Select {name}",
    next: "Next", before: "Before", first: "First page", pages: "Pages of this list", newRows: "{n} new – show|{n} new – show", refresh: "Refresh", incomplete: "The search was stopped at its bound: there may be more behind “Next”.",
    filter: "Filter", addFilter: "Add a filter", apply: "Apply", remove: "Remove {name}", any: "any", yes: "yes", no: "no", value: "Value", field: "Field",
    hiddenTitle: "The filter hides everything", hiddenText: "Nothing matches it.", clearFilter: "Clear the filter", tryCommand: "Try:", copy: "Copy", copied: "Copied",
    copyCurl: "Copy as curl", copyPeal: "Copy as peal command", showTable: "Show as table", showChart: "Show as chart", timeColumn: "Time",
    required: "required", optional: "optional", json: "JSON", fields: "Fields", both: "Both", add: "Add", removeOne: "Remove", up: "Up", down: "Down", notSet: "not set", name: "Name",
    badJson: "This is not JSON: {why}", save: "Save", saved: "Saved", discardDraft: "Throw the draft away", draftKept: "An unsaved edit of {time} was kept.", draftOld: "It began from version {version}, which is not the newest.",
    unsaved: "Unsaved changes", problems: "{n} field needs a look|{n} fields need a look", secretKept: "set; leave it as it is to keep it", set: "Set", unset: "Unset", choose: "Choose…",
    before_: "Before", after: "After", same: "They are the same.", added: "added", removed: "removed", none: "none", actions: "Actions", backTo: "Back to {page}",
  },
  ar: {
    needsRole: "{action} يتطلب الدور {roles}", needsSystem: "{action} يتطلب صلاحية النظام", or: " أو ", cancel: "إلغاء", confirm: "تأكيد", sure: "هل أنت متأكد؟",
    reason: "السبب", reasonNeeded: "السبب مطلوب", typeName: "اكتب {name} للتأكيد", working: "جارٍ العمل…", done: "{action}: تم",
    unreachable: "تعذّر الوصول إلى الخادم.", unreachableOut: "هل يعمل؟ ما أدخلته ما زال هنا؛ أعد المحاولة.", wayOut: "معنى {code}", request: "الطلب {id}",
    stale: "غيّره شخص آخر في هذه الأثناء.", staleOut: "حمّله من جديد لترى التغيير؛ تعديلك محفوظ كمسودة.", reload: "حمّل من جديد",
    loading: "جارٍ التحميل…", rows: "لا صفوف|صف واحد|صفّان|{n} صفوف|{n} صفًا|{n} صف", selected: "المحدد: {n}", clear: "مسح", selectAll: "حدّد كل صفوف هذه الصفحة", select: "حدّد {name}",
    next: "التالي", before: "السابق", first: "الصفحة الأولى", pages: "صفحات هذه القائمة", newRows: "{n} جديد – اعرض", refresh: "تحديث", incomplete: "توقف البحث عند حدّه: قد يوجد المزيد خلف «التالي».",
    filter: "مرشّح", addFilter: "أضف مرشّحًا", apply: "طبّق", remove: "أزل {name}", any: "أي", yes: "نعم", no: "لا", value: "القيمة", field: "الحقل",
    hiddenTitle: "المرشّح يخفي كل شيء", hiddenText: "لا شيء يطابقه.", clearFilter: "امسح المرشّح", tryCommand: "جرّب:", copy: "نسخ", copied: "نُسخ",
    copyCurl: "نسخ كأمر curl", copyPeal: "نسخ كأمر peal", showTable: "عرض كجدول", showChart: "عرض كمخطط", timeColumn: "الوقت",
    required: "مطلوب", optional: "اختياري", json: "JSON", fields: "الحقول", both: "كلاهما", add: "أضف", removeOne: "أزل", up: "إلى أعلى", down: "إلى أسفل", notSet: "غير محدد", name: "الاسم",
    badJson: "هذا ليس JSON: {why}", save: "حفظ", saved: "حُفظ", discardDraft: "تخلَّ عن المسودة", draftKept: "حُفظ تعديل غير محفوظ من {time}.", draftOld: "بدأ من الإصدار {version} وهو ليس الأحدث.",
    unsaved: "تغييرات غير محفوظة", problems: "لا حقول|حقل واحد يحتاج إلى مراجعة|حقلان يحتاجان إلى مراجعة|{n} حقول تحتاج إلى مراجعة|{n} حقلًا يحتاج إلى مراجعة|{n} حقل يحتاج إلى مراجعة", secretKept: "محدد؛ اتركه كما هو لتبقيه", set: "حدّد", unset: "أزل القيمة", choose: "اختر…",
    before_: "قبل", after: "بعد", same: "لا فرق بينهما.", added: "أُضيف", removed: "حُذف", none: "لا شيء", actions: "إجراءات", backTo: "العودة إلى {page}",
  },
});

// Words of states, for badges: in Arabic beside the API's own word.
export const stateWords: { ar: Record<string, string> } = {
  ar: {
    pending: "بانتظار", scheduled: "مجدول", due: "مستحق", sending: "قيد الإرسال", retrying: "يُعاد", delivered: "سُلّم", parked: "موقوف", discarded: "مُهمل", cancelled: "ملغى", suppressed: "محجوب", completed: "مكتمل", skipped: "متجاوَز", failed: "فشل",
    enabled: "مفعّل", disabled: "معطّل", ok: "سليم", open: "مفتوح", closed: "مغلق", "half-open": "نصف مفتوح", running: "يعمل", done: "تم", paused: "متوقف", alive: "حي", dead: "ميت", left: "غادر", queued: "في الطابور", test: "تجربة",
  },
};
