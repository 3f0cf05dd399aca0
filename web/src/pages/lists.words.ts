import { words } from "../i18n";

export const listWords = words({
  en: {
    title: "Lists", intro: "Whom notifications go to, and by which channels.", id: "List", name: "Name", channels: "Channels", count: "Targets", updated: "Changed", make: "New list", nothing: "No lists yet", nothingText: "A list says whom a notification goes to. Make one here, or apply a file:",
    kind: "List", targets: "Targets", edit: "Edit", versions: "Versions", json: "JSON", remove: "Delete", removeAsk: "Notifications that name it will be refused. What was sent stays on the record.", version: "Version", showTargets: "Readers see whom else a mail goes to", yes: "yes", no: "no", notify: "Its notifications",
    address: "Address", locale: "Language", add: "Add targets", addIntro: "Who is there already gets the new name and language.", lines: "One a line", linesHelp: "address, name, language: only the address is needed", takeOut: "Take out", takeOutAsk: "{address} gets nothing more from this list.", nobody: "Nobody is in it yet", nobodyText: "Add whom it is to go to.",
  },
  ar: {
    title: "القوائم", intro: "إلى من تذهب الإشعارات، وبأي القنوات.", id: "القائمة", name: "الاسم", channels: "القنوات", count: "الأهداف", updated: "تغيّرت", make: "قائمة جديدة", nothing: "لا قوائم بعد", nothingText: "تحدد القائمة إلى من يذهب الإشعار. أنشئ واحدة هنا أو طبّق ملفًا:",
    kind: "قائمة", targets: "الأهداف", edit: "تعديل", versions: "الإصدارات", json: "JSON", remove: "حذف", removeAsk: "تُرفض الإشعارات التي تسميها. ما أُرسل يبقى في السجل.", version: "الإصدار", showTargets: "يرى القراء إلى من يذهب البريد أيضًا", yes: "نعم", no: "لا", notify: "إشعاراتها",
    address: "العنوان", locale: "اللغة", add: "أضف أهدافًا", addIntro: "من هو فيها يأخذ الاسم واللغة الجديدين.", lines: "واحد في كل سطر", linesHelp: "العنوان، الاسم، اللغة: العنوان وحده مطلوب، وبينها فاصلة", takeOut: "أخرجه", takeOutAsk: "لن يصل {address} شيء من هذه القائمة بعد الآن.", nobody: "لا أحد فيها بعد", nobodyText: "أضف من تذهب إليهم.",
  },
});
