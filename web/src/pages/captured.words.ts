import { words } from "../i18n";

export const capturedWords = words({
  en: {
    title: "Captured", intro: "What memory channels took instead of sending it, newest first. peal dev has every channel do so.", at: "At", channel: "Channel", to: "To", what: "What it says", send: "Send", attempt: "Attempt",
    delivery: "Delivery", nothing: "Nothing has been captured yet", nothingText: "What a memory channel would send is kept here to be read. Send an event that a trigger of such a channel takes:", fresh: "New messages – show",
    kind: "Captured message", from: "From", link: "The link in it", asHtml: "As mail", asText: "As text", source: "Source", request: "Request", data: "Data", shown: "How it is shown",
    frame: "The message as a mail program shows it", closed: "Nothing in it runs, loads or leads anywhere.", noRequest: "Its channel sends nothing itself, so there is no request to show.", url: "URL", headers: "Headers", header: "Header", value: "Value", body: "Body",
    secrets: "Secrets are stand-ins.", note: "It was made anew for you to read: what is rendered is not kept.", gone: "its channel is gone", open: "Open the delivery", more: "and {n} more",
  },
  ar: {
    title: "الرسائل الملتقطة", intro: "ما أخذته قنوات الذاكرة بدل إرساله، الأحدث أولًا. في peal dev تفعل كل القنوات ذلك.", at: "الوقت", channel: "القناة", to: "إلى", what: "النص", send: "الإرسال", attempt: "المحاولة",
    delivery: "التسليم", nothing: "لم يُلتقط شيء بعد", nothingText: "ما كانت قناة الذاكرة سترسله يُحفظ هنا للقراءة. أرسل حدثًا يأخذه مشغّل لقناة كهذه:", fresh: "رسائل جديدة – اعرض",
    kind: "رسالة ملتقطة", from: "من", link: "الرابط الذي فيها", asHtml: "كبريد", asText: "كنص", source: "المصدر", request: "الطلب", data: "البيانات", shown: "طريقة العرض",
    frame: "الرسالة كما يعرضها برنامج بريد", closed: "لا شيء فيها يعمل أو يُحمَّل أو يقود إلى مكان.", noRequest: "قناتها لا ترسل شيئًا بنفسها، فلا طلب يُعرض.", url: "العنوان", headers: "الترويسات", header: "الترويسة", value: "القيمة", body: "المتن",
    secrets: "حلّت بدائل محل الأسرار.", note: "أُنشئت من جديد لتقرأها: ما يُصيَّر لا يُحفظ.", gone: "حُذفت قناتها", open: "افتح التسليم", more: "و{n} غيرها",
  },
});
