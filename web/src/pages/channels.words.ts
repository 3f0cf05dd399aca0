import { words } from "../i18n";

export default words({
  en: {
    title: "Channels", intro: "The ways out: how deliveries leave.", key: "Channel", type: "Type", state: "State", concurrency: "At once", rate: "Rate", noRate: "no limit", timeout: "Timeout", circuit: "Circuit",
    make: "New channel", emptyTitle: "No channels yet", emptyText: "A channel is a way out: mail, SMS, a webhook. Make one here or on the command line.",
  },
  ar: {
    title: "القنوات", intro: "طرق الخروج: كيف تغادر التسليمات.", key: "القناة", type: "النوع", state: "الحالة", concurrency: "في آنٍ واحد", rate: "المعدل", noRate: "بلا حد", timeout: "المهلة", circuit: "القاطع",
    make: "قناة جديدة", emptyTitle: "لا قنوات بعد", emptyText: "القناة طريق للخروج: بريد أو رسالة قصيرة أو طلب ويب. أنشئ واحدة هنا أو من سطر الأوامر.",
  },
});
