import { words } from "../i18n";

export const barredWords = words({
  en: {
    title: "{page}: not with this key", needsRole: "It needs the role {roles}; you are signed in as {role}.", needsSystem: "It needs the system right, which {role} does not have.", or: " or ",
    out: "Somebody with the role admin makes such a key:", outSystem: "The system right has the key that lies beside the store (admin.key). Sign out, and in again with that one.",
  },
  ar: {
    title: "{page}: لا يسمح بها هذا المفتاح", needsRole: "تتطلب الدور {roles}، وأنت داخل بالدور {role}.", needsSystem: "تتطلب صلاحية النظام، وليست لدى {role}.", or: " أو ",
    out: "من لديه الدور admin ينشئ مفتاحًا كهذا:", outSystem: "صلاحية النظام للمفتاح المحفوظ بجانب المخزن (admin.key). اخرج ثم ادخل به.",
  },
});
