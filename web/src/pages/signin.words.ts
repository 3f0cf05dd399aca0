import { words } from "../i18n";

export default words({
  en: {
    key: "Key",
    keyHelp: "A key begins with pk_. The first one was written beside the store (admin.key); peal keys create makes others.",
    signIn: "Sign in",
    signingIn: "Signing in…",
    wrongKey: "This key is not known, was revoked or has expired.",
    ended: "Your session has ended. Sign in to go on where you were.",
  },
  ar: {
    key: "المفتاح",
    keyHelp: "يبدأ المفتاح بـ pk_. كُتب الأول بجانب المخزن (admin.key)، والأمر peal keys create ينشئ غيره.",
    signIn: "دخول",
    signingIn: "جارٍ الدخول…",
    wrongKey: "هذا المفتاح غير معروف أو أُلغي أو انتهت صلاحيته.",
    ended: "انتهت جلستك. سجّل الدخول لتتابع من حيث كنت.",
  },
});
