import { words } from "../i18n";

// What the pages that say what Peal is to do have in common: conditions, versions, files that things come from.
export default words({
  en: {
    every: "No condition: every event of this kind.", addCondition: "Add a condition", addGroup: "Add a group", negate: "Turn into its opposite", affirm: "Take the “not” away", remove: "Remove",
    all: "All of these hold", any: "One of these holds", not: "This does not hold", none: "nothing is asked", path: "Path", op: "Comparison", value: "Value", as: "As", conditionN: "Condition {place}",
    text: "text", number: "number", yesno: "true or false", nothing: "null", list: "list", listHelp: "JSON, or values between commas", raw: "Not a condition that the builder knows; it is kept as it is.",
    builder: "Builder", jsonBeside: "The same as JSON", mend: "The JSON is not finished. Mend it to go on in the builder; nothing is lost.", failing: "this one decided",
    "==": "equals", "!=": "does not equal", "<": "less than", "<=": "at most", ">": "more than", ">=": "at least", in: "is one of", contains: "contains", startsWith: "starts with", endsWith: "ends with", exists: "is there",
    versions: "Versions", version: "Version", at: "Saved", actor: "By", origin: "From", before: "Before", after: "After", compare: "Compare", compareWith: "Compare with the one before", editFrom: "Edit from this one", itself: "Peal itself",
    onlyOne: "There is only this version.", comparing: "Version {before} and version {after}", now: "now",
    fromFile: "It comes from the file {file} of the set {set}. What is changed here is changed back by the next peal apply of these files.", fromSet: "It comes from files of the set {set}. What is changed here is changed back by the next peal apply of these files.",
    drifted: "It was changed here since it was applied.", editAnyway: "Edit anyway", editAsk: "Better change the file, and apply it. What you save here lasts only until then.", goOn: "Go on",
    edit: "Edit", json: "JSON", enable: "Enable", disable: "Disable", delete: "Delete", enabled: "Enabled", updated: "Changed", warnings: "Warnings", events: "Events", state: "State",
  },
  ar: {
    every: "لا شرط: كل حدث من هذا النوع.", addCondition: "أضف شرطًا", addGroup: "أضف مجموعة", negate: "اقلبه إلى عكسه", affirm: "أزل «ليس»", remove: "أزل",
    all: "تتحقق كلها", any: "يتحقق أحدها", not: "لا يتحقق هذا", none: "لا شيء مطلوب", path: "المسار", op: "المقارنة", value: "القيمة", as: "بوصفها", conditionN: "الشرط {place}",
    text: "نص", number: "عدد", yesno: "true أو false", nothing: "null", list: "قائمة", listHelp: "JSON أو قيم بينها فواصل", raw: "ليس شرطًا يعرفه المنشئ؛ يُحفظ كما هو.",
    builder: "المنشئ", jsonBeside: "نفسه بصيغة JSON", mend: "نص JSON غير مكتمل. أصلحه لتتابع في المنشئ؛ لا يضيع شيء.", failing: "هذا الذي حسم الأمر",
    "==": "يساوي", "!=": "لا يساوي", "<": "أقل من", "<=": "على الأكثر", ">": "أكثر من", ">=": "على الأقل", in: "واحد من", contains: "يحتوي", startsWith: "يبدأ بـ", endsWith: "ينتهي بـ", exists: "موجود",
    versions: "الإصدارات", version: "الإصدار", at: "حُفظ", actor: "بواسطة", origin: "من", before: "قبل", after: "بعد", compare: "قارن", compareWith: "قارن بالسابق", editFrom: "عدّل انطلاقًا منه", itself: "Peal نفسه",
    onlyOne: "لا يوجد إلا هذا الإصدار.", comparing: "الإصدار {before} والإصدار {after}", now: "الآن",
    fromFile: "مصدره الملف {file} من المجموعة {set}. ما يُغيَّر هنا يعيده الأمر peal apply التالي لهذه الملفات.", fromSet: "مصدره ملفات المجموعة {set}. ما يُغيَّر هنا يعيده الأمر peal apply التالي لهذه الملفات.",
    drifted: "تغيّر هنا بعد تطبيقه.", editAnyway: "عدّل على أي حال", editAsk: "الأفضل أن تغيّر الملف وتطبّقه. ما تحفظه هنا يبقى حتى ذلك الحين فقط.", goOn: "تابع",
    edit: "تعديل", json: "JSON", enable: "تفعيل", disable: "تعطيل", delete: "حذف", enabled: "مفعّل", updated: "تغيّر", warnings: "تنبيهات", events: "الأحداث", state: "الحالة",
  },
});
