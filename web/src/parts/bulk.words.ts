import { words } from "../i18n";

export const bulkWords = words({
  en: {
    retry: "Retry", discard: "Discard", cancel: "Call off", retryAll: "Retry all that match", discardAll: "Discard all that match", cancelAll: "Call off all that match",
  },
  ar: {
    retry: "إعادة المحاولة", discard: "إهمال", cancel: "إلغاء الإرسال", retryAll: "أعد محاولة كل المطابق", discardAll: "أهمل كل المطابق", cancelAll: "ألغِ إرسال كل المطابق",
  },
});
