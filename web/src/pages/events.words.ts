import { words } from "../i18n";

export default words({
  en: {
    title: "Events", intro: "What came in. Each has a page that tells what followed from it, and why.", received: "Received", kind: "Type", source: "Source", entity: "Entity", payload: "Payload", q: "Words", from: "Received from", to: "Received before",
    nothing: "No events yet", nothingText: "An event comes in by the API, a webhook, an outbox or a poll. Send one:",
  },
  ar: {
    title: "الأحداث", intro: "ما وصل. لكل حدث صفحة تروي ما نتج عنه ولماذا.", received: "وصل", kind: "النوع", source: "المصدر", entity: "الكيان", payload: "المحتوى", q: "كلمات", from: "وصل منذ", to: "وصل قبل",
    nothing: "لا أحداث بعد", nothingText: "يصل الحدث عبر الواجهة البرمجية أو طلب ويب أو صندوق صادر أو استطلاع. أرسل واحدًا:",
  },
});
