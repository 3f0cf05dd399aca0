"""cron_oracle.py - when a cron expression is due in a zone, found out another way than Peal does.

Peal searches forward, from bits and from periods of its own reading of tzdata. Here every wall time of the
days in question is asked whether it matches, and Python's zoneinfo says which instants show it: none (the
clocks skip it: due at the end of the gap), one, or two (the first; both for an interval).
"""
import calendar
import datetime
import re
import zoneinfo

UTC = datetime.timezone.utc
SECOND = datetime.timedelta(seconds=1)
DAY = datetime.timedelta(days=1)
NAMES = {name: number for names, first in ((calendar.month_abbr[1:], 1),
                                           (("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"), 0))
         for number, name in enumerate((name.lower() for name in names), first)}
BOUNDS = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def number_of(word):
    return NAMES[word.lower()] if word.lower() in NAMES else int(word)


def values_of(text, least, most):
    """All that an ordinary field matches. Where a range wraps its step goes on over the wrap."""
    found, size = set(), 7 if most == 7 else most - least + 1
    for item in text.split(","):
        span, _, step = item.partition("/")
        if span in "*?":
            first, last = least, most
        elif "-" in span:
            first, last = map(number_of, span.split("-"))
        else:
            first = number_of(span)
            last = most if step else first
        last += size if first > last else 0
        found.update(least + (value - least) % size for value in range(first, last + 1, int(step or 1)))
    return found


def is_interval(fields):
    return any(re.search(r"[*?/-]", field) for field in fields[:3])


def nearest_weekday(year, month, day):
    last = calendar.monthrange(year, month)[1]
    weekday = datetime.date(year, month, day).weekday()
    if weekday == 5:  # Saturday
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < last else day - 2
    return day


def matches_day_of_month(text, date):
    last = calendar.monthrange(date.year, date.month)[1]
    found = re.fullmatch(r"(?:(\d+)|L(?:-(\d+))?)(W?)", text, re.I)
    if not found or (found[1] and not found[3]):
        return date.day in values_of(text, 1, 31)
    day = int(found[1]) if found[1] else last - int(found[2] or 0)
    if not 1 <= day <= last:
        return False
    return date.day == (nearest_weekday(date.year, date.month, day) if found[3] else day)


def matches_weekday(text, date):
    weekday = date.isoweekday() % 7
    last = calendar.monthrange(date.year, date.month)[1]
    if text[-1] in "lL":
        return number_of(text[:-1]) % 7 == weekday and date.day + 7 > last
    if "#" in text:
        name, nth = text.split("#")
        return number_of(name) % 7 == weekday and (date.day + 6) // 7 == int(nth)
    return weekday in values_of(text, 0, 7)


def matches_date(fields, date):
    return (date.month in values_of(fields[4], 1, 12) and matches_day_of_month(fields[3], date)
            and matches_weekday(fields[5], date))


def end_of_gap(zone, before, after):
    """The instant between the two at which the clocks are set: found by halving."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // 2
        middle -= datetime.timedelta(microseconds=middle.microsecond)
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def instants_of(wall, zone, both):
    """When clocks show this wall time, or would have."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return [first]
    if first > second:  # the clocks skip it
        return [end_of_gap(zone, second, first)]
    return [first, second] if both else [first]


def occurrences(expression, zone_name, begin, end):
    """All of them after begin, up to end, as UTC times in their order."""
    words = expression.split()
    fields = words if len(words) == 6 else ["0", *words]
    zone, both = zoneinfo.ZoneInfo(zone_name), is_interval(fields)
    seconds, minutes, hours = (sorted(values_of(field, *bounds)) for field, bounds in zip(fields, BOUNDS[:3]))
    found, date = set(), begin.astimezone(zone).date() - DAY
    while date <= end.astimezone(zone).date() + DAY:
        if matches_date(fields, date):
            for hour in hours:
                for minute in minutes:
                    for second in seconds:
                        wall = datetime.datetime(date.year, date.month, date.day, hour, minute, second)
                        found.update(instants_of(wall, zone, both))
        date += DAY
    return sorted(at for at in found if begin < at <= end)
