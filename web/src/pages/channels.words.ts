import { words } from "../i18n";

export default words({
  en: {
    title: "Channels", intro: "The ways out: how deliveries leave.", key: "Channel", type: "Type", state: "State", concurrency: "At once", rate: "Rate", noRate: "no limit", circuit: "Circuit", lastError: "What holds it",
    make: "New channel", emptyTitle: "No channels yet", emptyText: "A channel is a way out: mail, SMS, a webhook. Make one here or on the command line.", paused: "paused", since: "since",
  },
  ar: {
    title: "القنوات", intro: "طرق الخروج: كيف تغادر التسليمات.", key: "القناة", type: "النوع", state: "الحالة", concurrency: "في آنٍ واحد", rate: "المعدل", noRate: "بلا حد", circuit: "القاطع", lastError: "ما يعيقها",
    make: "قناة جديدة", emptyTitle: "لا قنوات بعد", emptyText: "القناة طريق للخروج: بريد أو رسالة قصيرة أو طلب ويب. أنشئ واحدة هنا أو من سطر الأوامر.", paused: "متوقفة", since: "منذ",
  },
});
