import { words } from "../i18n";

export default words({
  en: {
    title: "Sites", intro: "Peals elsewhere that hand on to this one: what they told last, and for how long they have been silent.", site: "Site", state: "State", seen: "Last seen", silent: "Silent for", backlog: "Waits at the site", received: "Taken in from it", version: "Version", skew: "Clock", key: "Key", links: "See also",
    never: "never seen", isSilent: "silent", heard: "heard", unknown: "not told", deliveries: "Deliveries", notifications: "Notifications", onTime: "on time", ahead: "{time} ahead", behind: "{time} behind",
    emptyTitle: "No sites", emptyText: "A site is a Peal at the edge that hands on what it takes in. Make a key for it; then start it there with peal site.", silentNote: "{n} site has been silent for more than five minutes. Is it running, and can it reach this server?|{n} sites have been silent for more than five minutes. Are they running, and can they reach this server?",
  },
  ar: {
    title: "المواقع", intro: "نسخ Peal في أماكن أخرى تسلّم إلى هذه: آخر ما أبلغت به، ومنذ متى هي صامتة.", site: "الموقع", state: "الحالة", seen: "آخر ظهور", silent: "صامت منذ", backlog: "ينتظر في الموقع", received: "استُلم منه", version: "الإصدار", skew: "الساعة", key: "المفتاح", links: "انظر أيضًا",
    never: "لم يظهر قط", isSilent: "صامت", heard: "مسموع", unknown: "لم يُبلّغ", deliveries: "التسليمات", notifications: "الإشعارات", onTime: "مضبوطة", ahead: "متقدمة {time}", behind: "متأخرة {time}",
    emptyTitle: "لا مواقع", emptyText: "الموقع نسخة Peal على الأطراف تسلّم ما تستقبله. أنشئ له مفتاحًا ثم شغّله هناك بالأمر peal site.", silentNote: "لا مواقع صامتة.|موقع صامت منذ أكثر من خمس دقائق. هل يعمل؟ وهل يصل إلى هذا الخادم؟|موقعان صامتان منذ أكثر من خمس دقائق. هل يعملان؟ وهل يصلان إلى هذا الخادم؟|{n} مواقع صامتة منذ أكثر من خمس دقائق. هل تعمل؟ وهل تصل إلى هذا الخادم؟|{n} موقعًا صامتًا منذ أكثر من خمس دقائق. هل تعمل؟ وهل تصل إلى هذا الخادم؟|{n} موقع صامت منذ أكثر من خمس دقائق. هل تعمل؟ وهل تصل إلى هذا الخادم؟",
  },
});
