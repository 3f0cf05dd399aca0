// Moments of a zone's days and hours, where clocks may be set: an hour that is shown twice begins the first time, one that
// is skipped begins where the clocks go on.
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", { timeZone: zone, year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" });
    formats.set(zone, format);
  }
  return format;
}

// wall is what the zone's clocks show at a moment, as if that were UTC.
function wall(at: number, zone: string): number {
  const part = Object.fromEntries(formatOf(zone).formatToParts(at).map((one) => [one.type, Number(one.value)]));
  return Date.UTC(part["year"]!, part["month"]! - 1, part["day"]!, part["hour"]!, part["minute"]!, part["second"]!);
}

export function dayOf(at: number, zone: string): string {
  return new Date(wall(at, zone)).toISOString().slice(0, 10);
}

// instantOf is when an hour (0 to 24) of a day (2026-11-19) begins.
export function instantOf(day: string, hour: number, zone: string): number {
  const shown = Date.parse(`${day}T00:00:00Z`) + hour * 3_600_000;
  const offsets = [shown - 86_400_000, shown + 86_400_000].map((near) => wall(near, zone) - near);
  const found = offsets.map((offset) => shown - offset).filter((at) => wall(at, zone) === shown);
  return found.length > 0 ? Math.min(...found) : shown - offsets[0]!;
}
