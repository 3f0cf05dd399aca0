import { words } from "./i18n";

export default words({
  en: {
    keyboard: "Keyboard",
    keyHelpKey: "this help",
    keyFilter: "to the filter",
    keyNext: "next row, row before",
    keySelect: "select the row",
    keyOpen: "open the row",
    keyBack: "back to the list",
    keyLive: "pause or resume live updates",
    keyEscape: "close, leave",
    keyGo: "go to {page}",
    keyOff: "Shortcuts are switched off in the preferences.",
  },
  ar: {
    keyboard: "لوحة المفاتيح",
    keyHelpKey: "هذه المساعدة",
    keyFilter: "إلى المرشّح",
    keyNext: "الصف التالي، الصف السابق",
    keySelect: "تحديد الصف",
    keyOpen: "فتح الصف",
    keyBack: "العودة إلى القائمة",
    keyLive: "إيقاف التحديث المباشر أو استئنافه",
    keyEscape: "إغلاق، خروج",
    keyGo: "الانتقال إلى {page}",
    keyOff: "الاختصارات معطّلة في التفضيلات.",
  },
});
