"""Pages of surveys: how long a page takes when 64 people ask for one at the same time, without end.

The survey has eight questions, one of each type and a rule, in two languages; each request asks for another of many
invitations, as mail scanners and recipients do. wrk shares the machine with Peal and its store, and leaves them no
pause, so that this is the worst that 64 connections can do; what a page cost Peal and its store stands beside it.

PAGES makes it another number of invitations, SECONDS another time.
"""
import os
import re
import subprocess
import tempfile

from chain import fresh

INVITATIONS = int(os.environ.get("PAGES", 20_000))
SECONDS = int(os.environ.get("SECONDS", 8))
CONNECTIONS, FILLED = 64, 5000
AIM_MS = 10  # at the p99
YES_NO = [{"value": "Yes", "text": {"en": "Yes", "ar": "نعم"}}, {"value": "No", "text": {"en": "No", "ar": "لا"}}]
QUESTIONS = [
    {"id": "rate", "type": "rating", "min": 1, "max": 5, "required": True, "text": {"en": "How was your visit?", "ar": "كيف كانت زيارتك؟"}},
    {"id": "complaint", "type": "single", "required": True, "choices": YES_NO, "text": {"en": "Was anything wrong?", "ar": "هل كان هناك خطأ؟"}},
    {"id": "what", "type": "text", "text": {"en": "What was it?", "ar": "ما هو؟"},
     "show": {"questionId": "complaint", "op": "==", "value": "Yes"}},
    {"id": "which", "type": "multiple", "choices": YES_NO, "text": {"en": "Which of these?", "ar": "أي من هذه؟"}},
    {"id": "likely", "type": "nps", "text": {"en": "Would you tell a friend?", "ar": "هل تنصح صديقًا؟"}},
    {"id": "spent", "type": "number", "min": 0, "text": {"en": "How much did you spend?", "ar": "كم أنفقت؟"}},
    {"id": "day", "type": "date", "text": {"en": "On which day?", "ar": "في أي يوم؟"}},
    {"id": "more", "type": "text", "text": {"en": "Anything else?", "ar": "أي شيء آخر؟"}}]
SURVEY = {"id": "csi", "languages": ["en", "ar"], "title": {"en": "Your visit", "ar": "زيارتك"}, "questions": QUESTIONS,
          "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default", "schedule": {"initialDelay": "100d"}}]}
SCRIPT = """local ids = {} for id in io.lines("%s") do ids[#ids + 1] = id end
function request() return wrk.format("GET", "/s/" .. ids[math.random(#ids)]) end"""
UNITS = {"us": 0.001, "ms": 1, "s": 1000}


def invite(peal):
    """Public ids of invitations, none of which is due."""
    peal.call("POST", "/v1/surveys", SURVEY)
    peal.call("POST", "/v1/surveys/csi/publish")
    for first in range(0, INVITATIONS, FILLED):
        items = [{"payload": {"wip": str(i)}, "recipient": {"address": f"+964770{i:07d}", "locale": "ar" if i % 2 else "en"}}
                 for i in range(first, min(first + FILLED, INVITATIONS))]
        made = peal.call("POST", "/v1/ingest", {"eventKind": "visit", "items": items})
        yield from (one["deliveries"][0]["publicId"] for one in made["items"])


def look(port, script, seconds):
    """Has wrk look at pages; answers how many it saw, how many a second, and the percentiles in ms."""
    told = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in told:
        raise RuntimeError(told)
    taken = {n: float(value) * UNITS[unit] for n, value, unit in re.findall(r"(\d+)%\s+([\d.]+)(us|ms|s)\b", told)}
    return int(re.search(r"(\d+) requests in", told)[1]), float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1]), taken


def measure(program, kind, report):
    """The p99 of a page in ms, beside what was asked; and what one cost."""
    with fresh(program, kind) as (_, start), start() as peal, tempfile.NamedTemporaryFile("w") as ids, \
            tempfile.NamedTemporaryFile("w") as script:
        ids.write("\n".join(invite(peal)))
        script.write(SCRIPT % ids.name)
        ids.flush(), script.flush()
        look(peal.port, script.name, 1)  # what was just written is read back, and versions are compiled
        before = peal.cpu_ms()
        count, rate, taken = look(peal.port, script.name, SECONDS)
        spent = {"cpu_us": (peal.cpu_ms() - before) * 1000 / count}
    report(f"page_{kind}_rate", rate, None, None, spent)
    report(f"page_{kind}_p50_ms", taken["50"], None, None)
    return taken["99"], None, AIM_MS, spent
