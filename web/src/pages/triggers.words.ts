import { words } from "../i18n";

export default words({
  en: {
    title: "Triggers", intro: "What follows from which events.", trigger: "Trigger", listens: "Listens to", does: "Sends through, or runs", state: "State", pending: "Still to do", conditions: "Conditions", version: "Version", make: "New trigger",
    emptyTitle: "No triggers yet", emptyText: "A trigger says what follows from an event: which kind, under which conditions, through which channel. Make one here, or write an example project of files:",
    always: "always", ofSurvey: "of the survey {id}", fromFile: "from a file",
  },
  ar: {
    title: "المشغّلات", intro: "ما الذي يتبع أي أحداث.", trigger: "المشغّل", listens: "يستمع إلى", does: "يرسل عبر، أو يشغّل", state: "الحالة", pending: "ما زال عليه", conditions: "الشروط", version: "الإصدار", make: "مشغّل جديد",
    emptyTitle: "لا مشغّلات بعد", emptyText: "المشغّل يقول ما يتبع الحدث: أي نوع، وبأي شروط، وعبر أي قناة. أنشئ واحدًا هنا، أو اكتب مشروعًا مثالًا من الملفات:",
    always: "دائمًا", ofSurvey: "من الاستبيان {id}", fromFile: "من ملف",
  },
});
