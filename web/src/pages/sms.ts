// How many short messages a text is: 160 letters of the GSM alphabet in one, 153 in each of several; 70 and 67 of any others.
const BASIC = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const TWICE = "^{}\\[~]|€\f";

export interface Sms {
  parts: number;
  each: number;
  odd: string | null; // the first letter that is not of the alphabet
}

export function smsOf(text: string): Sms {
  let length = 0;
  for (const letter of text) {
    if (BASIC.includes(letter)) length += 1;
    else if (TWICE.includes(letter)) length += 2;
    else {
      const units = text.length; // of UTF-16, as phones count them
      return { parts: units <= 70 ? 1 : Math.ceil(units / 67), each: units <= 70 ? 70 : 67, odd: letter };
    }
  }
  return { parts: length <= 160 ? 1 : Math.ceil(length / 153), each: length <= 160 ? 160 : 153, odd: null };
}
