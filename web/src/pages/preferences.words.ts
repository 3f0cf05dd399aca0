import { words } from "../i18n";

export const preferenceWords = words({
  en: {
    title: "Preferences", intro: "What recipients want: which channels nothing goes through for them, and which one stands in for another.", address: "Address", optOut: "Nothing through", instead: "Instead", updated: "Changed", nothing: "Nobody has said what he wants", nothingText: "Look an address up to keep a wish for it, or call PUT /v1/preferences.",
    lookUp: "Look up", addressHelp: "The whole address, as deliveries have it", none: "Nothing is kept of this address. What you save here holds from the next delivery on.", kept: "What this recipient wants", forget: "Forget", forgetAsk: "The recipient gets everything again.", all: "All recipients", each: "{from} → {to}", masked: "Your role sees addresses masked; look one up by the whole address.", newOne: "Look an address up",
  },
  ar: {
    title: "التفضيلات", intro: "ما يريده المستلمون: أي القنوات لا يمر عبرها شيء إليهم، وأيها تنوب عن أخرى.", address: "العنوان", optOut: "لا شيء عبر", instead: "بدلًا منها", updated: "تغيّرت", nothing: "لم يقل أحد ما يريده", nothingText: "ابحث عن عنوان لتحفظ له رغبة، أو استعمل PUT /v1/preferences.",
    lookUp: "ابحث", addressHelp: "العنوان كاملًا كما في التسليمات", none: "لا شيء محفوظ لهذا العنوان. ما تحفظه هنا يسري من التسليم التالي.", kept: "ما يريده هذا المستلم", forget: "انسَ", forgetAsk: "يصل إلى المستلم كل شيء من جديد.", all: "كل المستلمين", each: "{from} ← {to}", masked: "دورك يرى العناوين محجوبة؛ ابحث بالعنوان كاملًا.", newOne: "ابحث عن عنوان",
  },
});
