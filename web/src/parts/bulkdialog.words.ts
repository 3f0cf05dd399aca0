import { words } from "../i18n";

export const bulkDialogWords = words({
  en: {
    looking: "Looking what it would act on…", which: "Which deliveries", willRetry: "{n} parked delivery will be tried again.|{n} parked deliveries will be tried again.",
    willDiscard: "{n} parked delivery will be given up.|{n} parked deliveries will be given up.",
    willCancel: "{n} delivery that is still to be sent will be called off.|{n} deliveries that are still to be sent will be called off.",
    nothing: "Nothing of it can be acted on: retry and discard are for what is parked, call off is for what is still to be sent.",
    leftOut: "{n} of those picked is left out: it is in another state.|{n} of those picked are left out: they are in another state.",
    frozen: "Exactly these: what begins to match later is left alone.",
    frozenAt: "As it stood at {time}: what came later is left alone. What is parked meanwhile, and came before, is acted on too.", sample: "For example", more: "and {n} more",
    tooMany: "More than 1,000 match, and an operation cannot be told “{name}”. Narrow the filter, or pick rows.", state: "State", trigger: "Trigger", list: "List", channel: "Channel",
    event: "Event", entity: "Entity", cause: "Cause", site: "Site", from: "From", to: "Before", q: "Words", stuck: "Stuck", type: "Channel type", dueFrom: "Due from", dueTo: "Due before",
    ids: "Deliveries", job: "Job", status: "Status", source: "Source", provider: "Provider", side: "Of", everything: "no filter: all that the action is for",
    needReason: "Say why: it stays on the record.",
  },
  ar: {
    looking: "جارٍ النظر فيما ستشمله العملية…", which: "أي التسليمات",
    willRetry: "لن يُعاد أي تسليم.|سيُعاد تسليم موقوف واحد.|سيُعاد تسليمان موقوفان.|ستُعاد {n} تسليمات موقوفة.|سيُعاد {n} تسليمًا موقوفًا.|سيُعاد {n} تسليم موقوف.",
    willDiscard: "لن يُهمل أي تسليم.|سيُهمل تسليم موقوف واحد.|سيُهمل تسليمان موقوفان.|ستُهمل {n} تسليمات موقوفة.|سيُهمل {n} تسليمًا موقوفًا.|سيُهمل {n} تسليم موقوف.",
    willCancel: "لن يُلغى أي تسليم.|سيُلغى تسليم واحد لم يُرسل بعد.|سيُلغى تسليمان لم يُرسلا بعد.|ستُلغى {n} تسليمات لم تُرسل بعد.|سيُلغى {n} تسليمًا لم يُرسل بعد.|سيُلغى {n} تسليم لم يُرسل بعد.",
    nothing: "لا شيء منها يقبل هذا الإجراء: الإعادة والإهمال للموقوف، وإلغاء الإرسال لما لم يُرسل بعد.",
    leftOut: "لم يُترك شيء.|تُرك واحد مما حُدّد: حالته مختلفة.|تُرك اثنان مما حُدّد: حالتهما مختلفة.|تُركت {n} مما حُدّد: حالتها مختلفة.|تُرك {n} مما حُدّد: حالتها مختلفة.|تُرك {n} مما حُدّد: حالتها مختلفة.",
    frozen: "هذه بعينها: ما يطابق لاحقًا لا يُمسّ.", frozenAt: "كما كانت عند {time}: ما جاء بعدها لا يُمسّ. وما يُوقف في هذه الأثناء وكان قد جاء قبلها يُشمل أيضًا.", sample: "مثلًا",
    more: "و{n} غيرها", tooMany: "يطابق أكثر من 1,000، والعملية لا تقبل «{name}». ضيّق المرشّح أو حدّد صفوفًا.", state: "الحالة", trigger: "المشغّل", list: "القائمة", channel: "القناة",
    event: "الحدث", entity: "الكيان", cause: "السبب", site: "الموقع", from: "من", to: "قبل", q: "كلمات", stuck: "عالق", type: "نوع القناة", dueFrom: "مستحق من", dueTo: "مستحق قبل",
    ids: "التسليمات", job: "المهمة", status: "الحالة", source: "المصدر", provider: "المزوّد", side: "من", everything: "بلا مرشّح: كل ما يخص الإجراء", needReason: "اذكر السبب: يبقى في السجل.",
  },
});
