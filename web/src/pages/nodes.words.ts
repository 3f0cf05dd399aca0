import { words } from "../i18n";

export default words({
  en: {
    title: "Nodes", intro: "The processes that share the store. Any of them takes over from one that is gone.", number: "Node", name: "Name", state: "State", started: "Started", beat: "Last beat", version: "Version", clock: "Clock against the store", leases: "Under way", here: "this one",
    leasesHelp: "deliveries that it has claimed", onTime: "on time", ahead: "{time} ahead", behind: "{time} behind", older: "another version", emptyTitle: "No nodes", emptyText: "That cannot be: one has answered you.",
    mixed: "Nodes of different versions run beside each other. That is meant for the time of an update only.", drift: "The clock of a node is off by more than a second: check its time service.",
  },
  ar: {
    title: "العُقد", intro: "العمليات التي تتشارك المخزن. أي منها يتولى عمل من غاب.", number: "العقدة", name: "الاسم", state: "الحالة", started: "بدأت", beat: "آخر نبضة", version: "الإصدار", clock: "ساعتها مقابل المخزن", leases: "قيد العمل", here: "هذه",
    leasesHelp: "تسليمات أخذتها", onTime: "مضبوطة", ahead: "متقدمة {time}", behind: "متأخرة {time}", older: "إصدار آخر", emptyTitle: "لا عُقد", emptyText: "لا يمكن ذلك: واحدة أجابتك.",
    mixed: "تعمل عُقد بإصدارات مختلفة جنبًا إلى جنب. هذا مقبول وقت التحديث فقط.", drift: "ساعة إحدى العُقد منحرفة أكثر من ثانية: افحص خدمة الوقت لديها.",
  },
});
