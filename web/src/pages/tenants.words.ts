import { words } from "../i18n";

export default words({
  en: {
    title: "Tenants", intro: "Each tenant has its own definitions, deliveries, keys and audit; nothing is seen across.", id: "Id", name: "Name", created: "Made", actions: "Actions",
    make: "New tenant", idHelp: "Small letters, digits and hyphens. It never changes.", nameHelp: "Empty: as the id", rename: "Rename", remove: "Delete", keys: "Keys", yours: "yours", stays: "The tenant default always exists",
    makeText: "It begins empty. Make a key for its administrator next.", removeAsk: "Only a tenant that has nothing left can be deleted: no definitions, no keys, no live deliveries. Its history stays on the record.",
    made: "The tenant {name} is there. Make a key for its administrator:", emptyTitle: "No tenants", emptyText: "That cannot be: you are of one.",
  },
  ar: {
    title: "المستأجرون", intro: "لكل مستأجر تعريفاته وتسليماته ومفاتيحه وسجله؛ لا يُرى شيء عبر الحدود.", id: "المعرّف", name: "الاسم", created: "أُنشئ", actions: "إجراءات",
    make: "مستأجر جديد", idHelp: "حروف لاتينية صغيرة وأرقام وشرطات. لا يتغير أبدًا.", nameHelp: "فارغ: كالمعرّف", rename: "إعادة تسمية", remove: "حذف", keys: "المفاتيح", yours: "مستأجرك", stays: "المستأجر default باقٍ دائمًا",
    makeText: "يبدأ فارغًا. أنشئ بعده مفتاحًا لمديره.", removeAsk: "لا يُحذف إلا مستأجر لم يبقَ له شيء: لا تعريفات ولا مفاتيح ولا تسليمات جارية. يبقى تاريخه في السجل.",
    made: "أُنشئ المستأجر {name}. أنشئ مفتاحًا لمديره:", emptyTitle: "لا مستأجرين", emptyText: "لا يمكن ذلك: أنت لدى واحد.",
  },
});
