// directionOf is how a language is written.
export function directionOf(language: unknown): "rtl" | "ltr" | "auto" {
  if (typeof language !== "string" || !language) return "auto";
  return /^(ar|he|fa|ur|ps|sd|ug|yi|dv|ckb)(-|$)/i.test(language) ? "rtl" : "ltr";
}
