import { words } from "../i18n";

export default words({
  en: {
    title: "Campaigns", intro: "What a trigger sends, sent to each row of a file or to each member of a list.", campaign: "Campaign", trigger: "Trigger", from: "From", file: "a file", state: "State", rows: "Rows", created: "Made", skipped: "Skipped", failed: "Failed", started: "Started", dryRun: "dry run", make: "New campaign",
    emptyTitle: "No campaigns yet", emptyText: "A campaign makes an event for one trigger of each row of a CSV file, or of each member of a list. Begin here, or on the command line:",
  },
  ar: {
    title: "الحملات", intro: "ما يرسله مشغّل، يُرسل إلى كل صف من ملف أو كل عضو في قائمة.", campaign: "الحملة", trigger: "المشغّل", from: "من", file: "ملف", state: "الحالة", rows: "الصفوف", created: "أُنشئ", skipped: "تُجووز", failed: "فشل", started: "بدأت", dryRun: "تجربة بلا أثر", make: "حملة جديدة",
    emptyTitle: "لا حملات بعد", emptyText: "الحملة تُنشئ لمشغّل واحد حدثًا من كل صف في ملف CSV أو من كل عضو في قائمة. ابدأ هنا أو من سطر الأوامر:",
  },
});
