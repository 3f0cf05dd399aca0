import { words } from "../i18n";

export const inboxWords = words({
  en: {
    title: "Inbox", intro: "What webhooks brought, newest first. What is stored was verified as its source says; what was refused is kept nowhere, and told here while you watch.", status: "Status", received: "Received", source: "Source", provider: "Provider", external: "Their id", size: "Bytes", became: "What became of it",
    from: "From", to: "Before", nothing: "No webhook has come in yet", nothingText: "Make a source, and have its provider post to its URL; or send an example, signed:", refused: "Refused while you watch", verdict: "Why", at: "At", fine: "became events",
    kind: "Webhook", reprocess: "Read it anew", reprocessAsk: "It is read and decided anew. What fired does not fire again.", event: "The event it became", headers: "Headers", header: "Header", value: "Value", body: "Body", noBody: "It had no body.", contentType: "Content type", attempts: "Tries that failed", processed: "Processed", none: "–", credentials: "Credentials are left out.", base64: "It is no UTF-8: shown in base64.",
    sPending: "It waits to be read.", sProcessing: "It is being read again after a failure.", sCompleted: "It was verified, read, and became events.", sQuiet: "It was verified and read, and started nothing: {why}", sFailed: "It was verified, and could not be read: {why}",
  },
  ar: {
    title: "الوارد", intro: "ما جاءت به طلبات الويب، الأحدث أولًا. ما خُزّن تم التحقق منه كما يقول مصدره؛ وما رُفض لا يُحفظ، ويُذكر هنا ما دمت تراقب.", status: "الحالة", received: "وصل", source: "المصدر", provider: "المزوّد", external: "معرّفهم", size: "بايت", became: "ما آل إليه",
    from: "من", to: "قبل", nothing: "لم يصل أي طلب ويب بعد", nothingText: "أنشئ مصدرًا واجعل مزوّده يرسل إلى عنوانه؛ أو أرسل مثالًا موقّعًا:", refused: "رُفض وأنت تراقب", verdict: "السبب", at: "الوقت", fine: "صار أحداثًا",
    kind: "طلب ويب", reprocess: "اقرأه من جديد", reprocessAsk: "يُقرأ ويُبتّ فيه من جديد. ما أُطلق لا يُطلق ثانية.", event: "الحدث الذي صار إليه", headers: "الترويسات", header: "الترويسة", value: "القيمة", body: "المتن", noBody: "لم يكن له متن.", contentType: "نوع المحتوى", attempts: "محاولات فاشلة", processed: "عولج", none: "–", credentials: "حُذفت بيانات الاعتماد.", base64: "ليس UTF-8: يُعرض بترميز base64.",
    sPending: "ينتظر أن يُقرأ.", sProcessing: "يُقرأ من جديد بعد إخفاق.", sCompleted: "تم التحقق منه وقُرئ وصار أحداثًا.", sQuiet: "تم التحقق منه وقُرئ ولم يبدأ شيئًا: {why}", sFailed: "تم التحقق منه وتعذّرت قراءته: {why}",
  },
});
