import { words } from "../i18n";

export default words({
  en: {
    title: "Plan", intro: "What will be sent, as it is promised now. Reminders after the next one, and runs of schedules, are not in it.", total: "{n} send|{n} sends", between: "from {from} to {to}", atLeast: "at least {n}", nothing: "Nothing is planned", nothingText: "A trigger with a delay, a reminder or quiet hours makes promises. In peal dev this one is reminded of in three days:",
    hidden: "Nothing of this is planned", hiddenText: "The filter, or the time, leaves nothing over.", clear: "Clear the filter", channel: "Channel", trigger: "Trigger", entity: "Entity", from: "From", to: "Before", zone: "Days and hours of", yours: "{zone} (yours)",
    earlier: "Earlier", later: "Later", now: "From now on", span: "Time shown", refresh: "Refresh", days: "Days", hours: "Hours of {day}", hour: "{from} to {to}: {n}", today: "today", tomorrow: "tomorrow", gap: "{n} day without anything|{n} days without anything", open: "Open its deliveries", other: "other channels",
    count: "Sends", peak: "Busiest minute", peakAt: "{n} at {time}", capacity: "Capacity", noLimit: "no rate is set", limit: "{n} a second", lasts: "they take {time}", tooMany: "more than the channel sends in that minute",
    partial: "There is more than is counted at once. Up to {time} everything is counted; from there on these are the least numbers. A shorter time, or one channel, counts further.",
    cancel: "Call off for the entity", cancelAsk: "Everything that is still to be sent about {entity} is called off, also beyond the time that is shown.", cancelChannel: "Only what goes out on {channel}.", cancelFirst: "Choose an entity by the filter first", cancelled: "{n} called off.|{n} called off.", cancelMore: "There is more than one call takes: do it again.",
  },
  ar: {
    title: "الخطة", intro: "ما سيُرسل كما هو موعود الآن. ليس فيها التذكيرات التي بعد التذكير التالي ولا تشغيلات الجداول.", total: "لا إرسال|إرسال واحد|إرسالان|{n} إرسالات|{n} إرسالًا|{n} إرسال", between: "من {from} إلى {to}", atLeast: "{n} على الأقل", nothing: "لا شيء مخطط", nothingText: "المشغّل الذي له تأخير أو تذكير أو ساعات هدوء يَعِد بإرسال. في peal dev يُذكَّر بهذا بعد ثلاثة أيام:",
    hidden: "لا شيء من هذا مخطط", hiddenText: "المرشّح أو المدة لا يُبقيان شيئًا.", clear: "امسح المرشّح", channel: "القناة", trigger: "المشغّل", entity: "الكيان", from: "من", to: "قبل", zone: "أيام وساعات", yours: "{zone} (منطقتك)",
    earlier: "أبكر", later: "لاحقًا", now: "من الآن", span: "المدة المعروضة", refresh: "تحديث", days: "الأيام", hours: "ساعات {day}", hour: "من {from} إلى {to}: {n}", today: "اليوم", tomorrow: "غدًا", gap: "لا أيام|يوم بلا شيء|يومان بلا شيء|{n} أيام بلا شيء|{n} يومًا بلا شيء|{n} يوم بلا شيء", open: "افتح تسليماته", other: "قنوات أخرى",
    count: "الإرسالات", peak: "أكثر الدقائق ازدحامًا", peakAt: "{n} عند {time}", capacity: "السعة", noLimit: "لا معدل محدد", limit: "{n} في الثانية", lasts: "تستغرق {time}", tooMany: "أكثر مما ترسله القناة في تلك الدقيقة",
    partial: "يوجد أكثر مما يُعدّ مرة واحدة. حتى {time} كل شيء معدود؛ وبعده هذه أقل الأعداد. مدة أقصر أو قناة واحدة تعدّ أبعد.",
    cancel: "ألغِ للكيان", cancelAsk: "يُلغى كل ما لم يُرسل بعد عن {entity}، حتى خارج المدة المعروضة.", cancelChannel: "فقط ما يخرج عبر {channel}.", cancelFirst: "اختر كيانًا بالمرشّح أولًا", cancelled: "لم يُلغَ شيء.|أُلغي واحد.|أُلغي اثنان.|أُلغي {n}.|أُلغي {n}.|أُلغي {n}.", cancelMore: "يوجد أكثر مما يأخذه نداء واحد: أعده.",
  },
});
