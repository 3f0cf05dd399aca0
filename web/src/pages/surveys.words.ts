import { words } from "../i18n";

export default words({
  en: {
    title: "Surveys", intro: "What people are asked, in which languages, and what they answered.", survey: "Survey", name: "Title", questions: "Questions", languages: "Languages", published: "Published", never: "not yet", state: "State", draft: "draft", publishedState: "published", changed: "Changed", make: "New survey",
    emptyTitle: "No surveys yet", emptyText: "A survey has questions in several languages, and triggers that say who is asked and when. Make one here, or from a file:",
  },
  ar: {
    title: "الاستبيانات", intro: "عمّ يُسأل الناس، وبأي لغات، وبماذا أجابوا.", survey: "الاستبيان", name: "العنوان", questions: "الأسئلة", languages: "اللغات", published: "نُشر", never: "ليس بعد", state: "الحالة", draft: "مسودة", publishedState: "منشور", changed: "تغيّر", make: "استبيان جديد",
    emptyTitle: "لا استبيانات بعد", emptyText: "للاستبيان أسئلة بعدة لغات ومشغّلات تقول من يُسأل ومتى. أنشئ واحدًا هنا أو من ملف:",
  },
});
