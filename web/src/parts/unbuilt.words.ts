import { words } from "../i18n";

export default words({
  en: {
    unbuilt: "This page is being built",
    unbuiltText: "What it will show is there by the API and the command line.",
  },
  ar: {
    unbuilt: "هذه الصفحة قيد البناء",
    unbuiltText: "ما ستعرضه متاح عبر الواجهة البرمجية وسطر الأوامر.",
  },
});
