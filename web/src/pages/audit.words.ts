import { words } from "../i18n";

export default words({
  en: {
    title: "Audit", intro: "What happened, and who did it: rows that are only ever added, each linked to the one before by its hash.",
    seq: "Row", at: "When", kind: "Kind", status: "Status", actor: "Who", what: "What", channel: "Channel", target: "Target", site: "Site", instance: "Instance", correlation: "Correlation id", delivery: "Delivery", detail: "Detail",
    errorsOnly: "Errors only", from: "From", to: "Before", installation: "The installation's own", engine: "Peal itself", more: "More", unreadable: "cannot be read any more: its key is gone; the row still counts in the chain",
    attempt: "attempt {n}", code: "code {n}", hash: "Hash", eventId: "Id of the row", providerId: "Id at the provider",
    tiles: "The audit in figures", volume: "Rows in the last hour", volumeMore: "{n} in the chain", rate: "Errors in the last hour", rateMore: "{bad} of {all} rows", rateNone: "no rows", backlog: "Backlog", backlogMore: "facts that wait to become rows", atLeast: "{n}+",
    verify: "Verify the chain", verifying: "A long chain: it is verified row by row…", whole: "The chain is whole.", wholeText: "{rows} row, from the first to the head, is as it was written.|{rows} rows, from the first to the head, are as they were written.",
    broken: "The chain is broken at row {seq}.", brokenText: "{problem}. What stands before that row is as it was written; from there on nothing is certain. Keep the database as it is, and compare with an export or a backup.", changed: "That row was changed", missing: "That row is missing", reordered: "That row stands in another place", cut: "Rows were cut off from there on", verifiedAt: "Verified",
    head: "Where the chain ends", headText: "Keep the head elsewhere: with it a cut tail is found even if the database and the file beside it were both changed.", headRow: "Last row", headHash: "Head", anchor: "Begins behind row", outside: "Head kept outside the database", rowN: "row {n}",
    export: "Export (NDJSON)", exportText: "Exporting is a right of its own: the role audit-export. The export takes the filter below.", exportNeeds: "Export needs the role {roles}", or: " or ",
    emptyTitle: "Nothing on the record yet", emptyText: "Each delivery, each attempt, and each act of a person makes a row.", page: "The list of rows",
  },
  ar: {
    title: "سجل التدقيق", intro: "ما حدث ومن فعله: صفوف تُضاف ولا تُعدّل، وكل صف مربوط بما قبله ببصمته.",
    seq: "الصف", at: "متى", kind: "النوع", status: "النتيجة", actor: "من", what: "ماذا", channel: "القناة", target: "الوجهة", site: "الموقع", instance: "النسخة", correlation: "معرّف الربط", delivery: "التسليم", detail: "تفصيل",
    errorsOnly: "الأخطاء فقط", from: "من", to: "قبل", installation: "سجل التثبيت نفسه", engine: "‏Peal نفسه", more: "المزيد", unreadable: "لم يعد يُقرأ: زال مفتاحه؛ والصف ما زال محسوبًا في السلسلة",
    attempt: "المحاولة {n}", code: "الرمز {n}", hash: "البصمة", eventId: "معرّف الصف", providerId: "المعرّف لدى المزوّد",
    tiles: "السجل بالأرقام", volume: "صفوف الساعة الأخيرة", volumeMore: "{n} في السلسلة", rate: "أخطاء الساعة الأخيرة", rateMore: "{bad} من {all} صف", rateNone: "لا صفوف", backlog: "المتراكم", backlogMore: "وقائع لم تصبح صفوفًا بعد", atLeast: "{n}+",
    verify: "تحقق من السلسلة", verifying: "سلسلة طويلة: يُتحقق منها صفًا صفًا…", whole: "السلسلة سليمة.", wholeText: "لا صفوف بعد.|الصف الوحيد كما كُتب.|الصفّان كما كُتبا.|{rows} صفوف، من أولها إلى رأسها، كما كُتبت.|{rows} صفًا، من أولها إلى رأسها، كما كُتبت.|{rows} صف، من أولها إلى رأسها، كما كُتبت.",
    broken: "السلسلة مكسورة عند الصف {seq}.", brokenText: "{problem}. ما قبل هذا الصف كما كُتب، وما بعده غير مؤكد. اترك قاعدة البيانات كما هي وقارنها بتصدير أو نسخة احتياطية.", changed: "غُيّر هذا الصف", missing: "هذا الصف مفقود", reordered: "هذا الصف في غير مكانه", cut: "قُطعت الصفوف من هنا", verifiedAt: "وقت التحقق",
    head: "أين تنتهي السلسلة", headText: "احفظ الرأس في مكان آخر: به يُكشف قطع الذيل حتى لو غُيّرت قاعدة البيانات والملف الذي بجانبها.", headRow: "آخر صف", headHash: "الرأس", anchor: "تبدأ بعد الصف", outside: "الرأس المحفوظ خارج قاعدة البيانات", rowN: "الصف {n}",
    export: "تصدير (NDJSON)", exportText: "للتصدير صلاحية خاصة: الدور audit-export. ويأخذ التصدير بالمرشّح أدناه.", exportNeeds: "التصدير يتطلب الدور {roles}", or: " أو ",
    emptyTitle: "لا شيء في السجل بعد", emptyText: "كل تسليم وكل محاولة وكل فعل لشخص يصنع صفًا.", page: "قائمة الصفوف",
  },
});
