"""T10, T13: the page of a survey works without a script, speaks the recipient's language, and looking changes nothing."""
import concurrent.futures
import html.parser
import re
import urllib.parse

from harness import equal, like, main, only
from steps import advance, deliveries, delivery, make_channel, moment, settle

HOSTILE = "</title></textarea><script>alert(1)</script> \"' onload=x &<b>&lt;i>"
YES_NO = [{"value": "Yes", "text": {"en": "Yes", "ar": "نعم"}}, {"value": "No", "text": {"en": "No", "ar": "لا"}}]
QUESTIONS = [
    {"id": "rate", "type": "rating", "min": 1, "max": 5, "required": True, "text": {"en": "How was it?", "ar": "كيف كان؟"}},
    {"id": "complaint", "type": "single", "required": True, "choices": YES_NO, "text": {"en": "Any complaint?"},
     "goTo": [{"when": {"questionId": "complaint", "op": "==", "value": "No"}, "to": "more"}]},
    {"id": "what", "type": "text", "max": 20, "required": True, "text": {"en": "What was it?"},
     "show": {"questionId": "complaint", "op": "==", "value": "Yes"}},
    {"id": "which", "type": "multiple", "choices": [{"value": v} for v in "abc"], "text": {"en": "Which?"}},
    {"id": "more", "type": "text", "text": {"en": "Anything else?"}}]
OTHERS = [{"id": "likely", "type": "nps", "text": {"en": "Would you tell a friend?"}},
          {"id": "spent", "type": "number", "min": 0, "text": {"en": "How much?"}},
          {"id": "day", "type": "date", "text": {"en": "When?"}}]
PAGE_BYTES_MAX = 30 * 1024
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "Accept-Language": "en"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Page(html.parser.HTMLParser):
    """What stands on a page: the fields as a browser would send them, the text, the attributes."""

    def __init__(self, text):
        super().__init__()
        self.fields, self.tags, self.area, self.shown = [], [], None, ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag == "input" and (attrs["type"] in ("hidden", "text", "date") or "checked" in attrs):
            self.fields.append((attrs["name"], attrs.get("value", "")))
        if tag == "textarea":
            self.area = attrs["name"]
            self.fields.append((self.area, ""))

    def handle_endtag(self, tag):
        if tag == "textarea":
            self.area = None

    def handle_data(self, data):
        self.shown += data
        if self.area:
            self.fields[-1] = (self.area, self.fields[-1][1] + data.removeprefix("\n"))

    def find(self, tag, **attrs):
        return [have for name, have in self.tags if name == tag and attrs.items() <= have.items()]

    def names(self):
        return [attrs["name"] for tag, attrs in self.tags if tag in ("input", "textarea") and attrs.get("type") != "hidden"]


def make_survey(peal, questions=tuple(QUESTIONS), **members):
    peal.post("/v1/surveys", {
        "id": "csi", "languages": ["en", "ar"], "title": {"en": "Your visit", "ar": "زيارتك"}, "thanks": {"en": "Many thanks"},
        "questions": list(questions), "triggers": [{"id": "gr", "eventKind": "visit", "channel": "memory:default",
                                                     "schedule": {"reminders": ["1d"]}, "expireAfter": "30d"}], **members}, expect=201)
    peal.post("/v1/surveys/csi/publish", expect=200)


def invite(peal, locale="en"):
    [item] = peal.post("/v1/ingest", {"eventKind": "visit", "items": [
        {"payload": {}, "recipient": {"address": "+964 770 000 0001", "locale": locale}}]}, expect=200).json["items"]
    settle(peal)
    return item["deliveries"][0]


def look(peal, made, query="", expect=200, headers=None):
    answer = peal.with_key(None).get(f"/s/{made['publicId']}{query}", expect=expect, headers=headers or {})
    return Page(text_of(answer))


def text_of(answer):
    """The text of a page, which keeps to itself whatever it says."""
    like(dict(answer.headers), {"Content-Type": "text/html; charset=utf-8", "X-Robots-Tag": "noindex", "Referrer-Policy": "no-referrer",
                                "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"})
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and ":" not in policy, policy
    assert "Set-Cookie" not in answer.headers
    text = answer.text
    [lang] = re.findall(r'^<html lang="([^"]*)"', text, re.M)
    equal(answer.headers["Content-Language"], lang)
    page = Page(text)
    assert not page.find("style") and all("src" in attrs for attrs in page.find("script"))
    for name, value in (pair for _, attrs in page.tags for pair in attrs.items()):
        assert name != "style" and not name.startswith("on"), "nothing inline"
        assert name not in ("src", "href", "action") or ":" not in value and "//" not in value, "nothing from elsewhere"
    return text


def send(peal, made, fields, expect=200):
    """Posts a form as a browser without scripts does."""
    answer = peal.with_key(None).post(f"/s/{made['publicId']}/responses", raw=urllib.parse.urlencode(fields).encode(),
                                      headers=FORM, expect=expect)
    return Page(text_of(answer))


def go_on(peal, made, page, answers=(), expect=200, **buttons):
    """Fills in a page and sends it."""
    names = [name for name, _ in answers]
    return send(peal, made, [f for f in page.fields if f[0] not in names] + list(answers) + list(buttons.items()), expect)


def responses(peal):
    return peal.get("/v1/surveys/csi/responses", expect=200).json["items"]


def test_a_page_is_answered_without_a_script(ctx):
    make_survey(ctx.peal, QUESTIONS + OTHERS)
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    equal(page.find("html"), [{"lang": "en", "dir": "ltr"}])
    equal(len(page.find("input", type="radio", name="a.rate")), 5)
    equal(len(page.find("input", type="radio", name="a.likely")), 11)
    thanks = go_on(ctx.peal, made, page, [("a.rate", "4"), ("a.complaint", "Yes"), ("a.what", "a\r\nb"), ("a.which", "c"), ("a.which", "a"),
                                          ("a.likely", "0"), ("a.spent", " 1.5 "), ("a.day", "2026-05-14")], go="next")
    assert "Many thanks" in thanks.shown
    like(responses(ctx.peal), [{"answers": {"rate": 4, "complaint": "Yes", "what": "a\nb", "which": ["a", "c"], "likely": 0,
                                            "spent": 1.5, "day": "2026-05-14"}, "locale": "en"}])
    like(delivery(ctx.peal, made["deliveryId"]), {"status": "Completed"})
    assert "Many thanks" in look(ctx.peal, made).shown
    assert "Many thanks" in go_on(ctx.peal, made, page, [("a.rate", "4"), ("a.complaint", "No")], expect=409).shown
    equal(len(responses(ctx.peal)), 1)


def test_looking_changes_nothing(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    before = ctx.peal.get("/v1/deliveries", expect=200).json
    for _ in range(100):
        look(ctx.peal, made)
        ctx.peal.with_key(None).request("HEAD", f"/s/{made['publicId']}")
    equal(ctx.peal.get("/v1/deliveries", expect=200).json, before)
    like(delivery(ctx.peal, made["deliveryId"]), {"status": "Sent", "openedAt": None})


def test_opened_is_told_by_the_page_itself_once(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    address = look(ctx.peal, made).find("form")[0]["data-opened"]
    equal(address, f"{made['publicId']}/opened")
    ctx.peal.with_key(None).post(f"/s/{address}", raw=b"", expect=204)
    opened = {"status": "Opened", "openedAt": moment()}
    like(delivery(ctx.peal, made["deliveryId"]), opened)
    advance(ctx.peal, "1h")
    ctx.peal.with_key(None).post(f"/s/{address}", raw=b"", expect=204)
    like(delivery(ctx.peal, made["deliveryId"]), opened)
    advance(ctx.peal, "1d")  # the reminder goes out all the same, and does not forget it
    like(delivery(ctx.peal, made["deliveryId"]), {**opened, "send": 2})
    ctx.peal.with_key(None).post("/s/nobody/opened", raw=b"", expect=404)


def test_a_form_that_is_wrong_keeps_its_answers_and_is_a_look(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    page = go_on(ctx.peal, made, look(ctx.peal, made), [("a.complaint", "Yes"), ("a.what", HOSTILE), ("a.which", "b")], expect=422, go="next")
    like(delivery(ctx.peal, made["deliveryId"]), {"status": "Opened"})
    assert {("a.complaint", "Yes"), ("a.what", HOSTILE), ("a.which", "b")} <= set(page.fields), page.fields
    equal(page.find("script"), [{"defer": None, "src": "../page.js"}])
    [summary] = page.find("div", role="alert")
    equal((summary["tabindex"], "autofocus" in summary), ("-1", True))
    equal([a["href"] for a in page.find("a")], ["#q0", "#q2"])
    assert "Please use no more than 20 characters." in page.shown
    first = [tag for tag, attrs in page.tags if tag == "form" or attrs.get("role") == "alert"]
    equal(first, ["div", "form"])
    for link in page.find("a"):
        equal(len([1 for _, attrs in page.tags if attrs.get("id") == link["href"][1:]]), 1)
    equal(responses(ctx.peal), [])
    go_on(ctx.peal, made, page, [("a.rate", "1"), ("a.what", "short")], go="next")
    like(responses(ctx.peal), [{"answers": {"rate": 1, "complaint": "Yes", "what": "short", "which": ["b"]}}])


def test_rules_hold_on_the_server(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    assert "a.what" in page.names() and "Please answer only if this applies to you." in page.shown
    go_on(ctx.peal, made, page, [("a.rate", "5"), ("a.complaint", "No"), ("a.what", "passed over"), ("a.more", "fine"), ("x", "y")], go="next")
    like(responses(ctx.peal), [{"answers": {"rate": 5, "complaint": "No", "more": "fine"}}])
    equal(responses(ctx.peal)[0]["answers"].keys(), {"rate", "complaint", "more"})


def test_a_script_is_told_what_applies(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    equal(page.find("form")[0]["data-shown"], f"{made['publicId']}/shown")
    equal([one["data-question"] for tag, one in page.tags if "data-off" in one], ["what"])
    for fields, shown in (([], ["rate", "complaint", "which", "more"]), ([("a.complaint", "Yes")], ["rate", "complaint", "what", "which", "more"]),
                          ([("a.complaint", "No"), ("a.x", "y")], ["rate", "complaint", "more"])):
        answer = ctx.peal.with_key(None).post(f"/s/{made['publicId']}/shown", raw=urllib.parse.urlencode(fields).encode(), expect=200,
                                              headers={"Content-Type": "application/x-www-form-urlencoded"})
        equal(answer.json, {"shown": shown})
    ctx.peal.with_key(None).post("/s/nobody/shown", raw=b"", headers={"Content-Type": "application/x-www-form-urlencoded"}, expect=404)
    like(delivery(ctx.peal, made["deliveryId"]), {"status": "Sent", "openedAt": None})
    go_on(ctx.peal, made, page, [("a.rate", "4"), ("a.complaint", "No")], go="next")
    ctx.peal.with_key(None).post(f"/s/{made['publicId']}/shown", raw=b"", headers=FORM, expect=409)


def test_one_question_a_page(ctx):
    make_survey(ctx.peal, paging="one")
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    equal(set(page.names()), {"a.rate"})
    assert "Question 1 of 4" in page.shown, page.shown
    equal(len(page.find("button", value="back")), 0)
    page = go_on(ctx.peal, made, page, expect=422, go="next")
    equal((set(page.names()), len(page.find("a"))), ({"a.rate"}, 1))
    page = go_on(ctx.peal, made, page, [("a.rate", "2")], go="next")
    equal(set(page.names()), {"a.complaint"})
    assert "Question 2 of 4" in page.shown
    page = go_on(ctx.peal, made, page, [("a.complaint", "Yes")], go="next")
    equal(set(page.names()), {"a.what"})
    assert "Question 3 of 5" in page.shown
    page = go_on(ctx.peal, made, page, [("a.what", "x" * 99)], go="back")
    equal((set(page.names()), ("a.complaint", "Yes") in page.fields), ({"a.complaint"}, True))
    page = go_on(ctx.peal, made, page, switch="ar")
    equal((page.find("html"), set(page.names())), ([{"lang": "ar", "dir": "rtl"}], {"a.complaint"}))
    page = go_on(ctx.peal, made, page, [("a.complaint", "No")], go="next")
    equal((set(page.names()), page.find("html")[0]["lang"]), ({"a.more"}, "ar"))
    equal(responses(ctx.peal), [])
    page = go_on(ctx.peal, made, page, [("a.rate", "99")], expect=422, go="next")
    equal(set(page.names()), {"a.rate"})
    for answers in ([("a.rate", "3")], [], []):
        page = go_on(ctx.peal, made, page, answers, go="next")
    assert "Many thanks" in page.shown, page.shown
    like(responses(ctx.peal), [{"answers": {"rate": 3, "complaint": "No"}}])


def test_it_speaks_the_language_of_who_is_asked(ctx):
    make_survey(ctx.peal)
    for locale, query, accepts, language in (("ar-IQ", "", "en", "ar"), ("ar", "?lang=en", "ar", "en"), ("fi", "", "fi, ar;q=0.5", "ar"),
                                             ("fi", "", None, "en"), ("en", "?lang=xx&utm_source=mail", None, "en")):
        page = look(ctx.peal, invite(ctx.peal, locale), query, headers={"Accept-Language": accepts} if accepts else None)
        equal((page.find("html")[0]["lang"], page.find("html")[0]["dir"]), (language, "rtl" if language == "ar" else "ltr"), (locale, query))
    page = look(ctx.peal, invite(ctx.peal, "ar"))
    assert "كيف كان؟" in page.shown and "إرسال" in page.shown and "English" in page.shown
    assert {"lang": "en", "dir": "auto"} in page.find("span"), "a text that is only there in English says so"


def test_who_is_at_the_end_is_told_before_it_is_sent(ctx):
    """A rule ends the survey: what the button of that question did not say, a page of its own does."""
    rows = [{"id": "complaint", "type": "single", "required": True, "choices": YES_NO, "text": {"en": "Any complaint?"},
             "goTo": [{"when": {"questionId": "complaint", "op": "==", "value": "No"}, "to": "end"}]},
            {"id": "what", "type": "text", "text": {"en": "What was it?"}}]
    make_survey(ctx.peal, rows, paging="one")
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    assert "Question 1 of 2" in page.shown and "Next" in page.shown and "Send" not in page.shown
    page = go_on(ctx.peal, made, page, [("a.complaint", "No")], go="next")
    equal((page.names(), responses(ctx.peal)), ([], []))
    assert "That was the last question. Please send your answers." in page.shown and "Send" in page.shown and "Question" not in page.shown
    back = go_on(ctx.peal, made, page, go="back")
    equal((set(back.names()), ("a.complaint", "No") in back.fields), ({"a.complaint"}, True))
    assert "Question 1 of 1" in back.shown, back.shown
    arabic = go_on(ctx.peal, made, page, switch="ar")
    assert "كان هذا السؤال الأخير" in arabic.shown
    other = go_on(ctx.peal, made, back, [("a.complaint", "Yes")], go="next")
    equal(set(other.names()), {"a.what"})
    assert "Question 2 of 2" in other.shown and "Send" in other.shown
    assert "Many thanks" in go_on(ctx.peal, made, arabic, go="next").shown
    like(responses(ctx.peal), [{"answers": {"complaint": "No"}}])


def test_what_asks_nothing_can_be_read_in_the_other_language(ctx):
    make_survey(ctx.peal, thanks={"en": "Many thanks", "ar": "شكرًا"})
    done, over = invite(ctx.peal), invite(ctx.peal)
    thanks = send(ctx.peal, done, [("a.rate", "1"), ("a.complaint", "No")])
    equal(thanks.find("a"), [{"href": f"../{done['publicId']}?lang=ar", "lang": "ar"}])
    assert "شكرًا" in look(ctx.peal, done, "?lang=ar").shown
    ctx.peal.post(f"/v1/deliveries/{over['deliveryId']}/cancel", expect=200)
    equal(look(ctx.peal, over, expect=410).find("a"), [{"href": f"{over['publicId']}?lang=ar", "lang": "ar"}])
    equal(look(ctx.peal, over, "?lang=ar", expect=410).find("a"), [{"href": f"{over['publicId']}?lang=en", "lang": "en"}])


def test_all_that_a_person_writes_is_text(ctx):
    """Whatever has a text of its own, on every kind of page, with what leaves a title, an attribute and a textarea."""
    nasty = {"en": HOSTILE, "ar": HOSTILE}
    choices = [{"value": HOSTILE, "text": nasty}, {"value": "b", "text": nasty}]
    rows = [{"id": "one", "type": "single", "text": nasty, "choices": choices, "required": True},
            {"id": "some", "type": "multiple", "text": nasty, "choices": choices},
            {"id": "rate", "type": "rating", "min": 1, "max": 3, "text": nasty}, {"id": "likely", "type": "nps", "text": nasty},
            {"id": "spent", "type": "number", "text": nasty}, {"id": "day", "type": "date", "text": nasty},
            {"id": "t", "type": "text", "max": 1, "text": nasty}]
    bad = [("a.one", HOSTILE), ("a.some", HOSTILE), ("a.some", HOSTILE), ("a.rate", HOSTILE), ("a.likely", HOSTILE), ("a.spent", HOSTILE),
           ("a.day", HOSTILE), ("a.t", HOSTILE), (f"a.{HOSTILE}", HOSTILE), ("at", HOSTILE), ("lang", HOSTILE)]
    make_survey(ctx.peal, rows, title=nasty, thanks=nasty)
    made, over = invite(ctx.peal), invite(ctx.peal, locale=HOSTILE[:20])
    ctx.peal.post(f"/v1/deliveries/{over['deliveryId']}/cancel", {"reason": HOSTILE}, expect=200)
    pages = [look(ctx.peal, made), send(ctx.peal, made, bad, expect=422), look(ctx.peal, over, expect=410),
             look(ctx.peal, made, "?" + urllib.parse.urlencode({"lang": HOSTILE[:30]}), headers={"Accept-Language": HOSTILE})]
    ctx.peal.patch("/v1/surveys/csi", {"paging": "one"}, headers={"Content-Type": "application/merge-patch+json"}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    each = invite(ctx.peal)
    pages += [look(ctx.peal, each), send(ctx.peal, each, [*bad[:7], ("at", "likely"), ("go", "back")]),
              send(ctx.peal, each, [*bad[:8], ("at", "t")], expect=422), send(ctx.peal, made, [("a.one", HOSTILE)]), look(ctx.peal, made)]
    for page in pages:
        assert not page.find("b") and not page.find("i") and HOSTILE in page.shown
        assert len(page.find("title")) == len(page.find("h1")) == 1
    equal({value for name, value in pages[1].fields if name in ("a.one", "a.spent", "a.day", "a.t")}, {HOSTILE})
    like(responses(ctx.peal), [{"answers": {"one": HOSTILE}}])


def plain(answer):
    """All that an answer says, but for when, and under which number."""
    body = answer.json
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "requestId"}
    return answer.status, body if isinstance(body, dict) else answer.text, {
        name: value for name, value in answer.headers.items() if name.lower() not in ("date", "x-request-id")}


def test_who_knows_no_link_learns_nothing(ctx):
    """Unknown, purged, never a survey's: one answer, to the byte, whatever is asked of it."""
    make_survey(ctx.peal)
    gone = invite(ctx.peal)
    send(ctx.peal, gone, [("a.rate", "1"), ("a.complaint", "No")])
    advance(ctx.peal, "366d")
    ctx.peal.get(f"/v1/deliveries/{gone['deliveryId']}", expect=404)
    ctx.peal.post("/v1/triggers", {"id": "plain", "eventKind": "plain", "channel": "memory:default", "awaitAnswer": True}, expect=201)
    ctx.peal.post("/v1/ingest", {"eventKind": "plain", "items": [{"payload": {}, "recipient": {"address": "x"}}]}, expect=200)
    other = next(row for row in deliveries(ctx.peal) if row["triggerId"] == "plain")
    stranger = ctx.peal.with_key(None)
    ids = ("A" * len(gone["publicId"]), "nobody", gone["publicId"], other["publicId"])
    for method, path, raw, kind in (
            ("GET", "", None, {}), ("HEAD", "", None, {}), ("GET", "/responses", None, {}), ("GET", "", None, {"Accept": "application/json"}),
            ("POST", "/responses", b"a.rate=1", FORM), ("POST", "/shown", b"a.rate=1", FORM), ("POST", "/opened", b"", {}),
            ("POST", "/responses", b'{"answers":{"rate":1}}', {"Content-Type": "application/json"})):
        told = [plain(stranger.request(method, f"/s/{id}{path}", raw=raw, headers=kind, expect=404)) for id in ids]
        for one in told[1:]:
            equal(one, told[0], (method, path))


def test_what_has_ended_and_what_never_was(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    page = look(ctx.peal, made)
    advance(ctx.peal, "90d")
    like(delivery(ctx.peal, made["deliveryId"]), {"status": "Expired"})
    assert "This survey has ended" in look(ctx.peal, made, expect=410).shown
    assert "This survey has ended" in go_on(ctx.peal, made, page, [("a.rate", "1")], expect=410).shown
    make_channel(ctx.peal, "memory:plain")
    ctx.peal.post("/v1/triggers", {"id": "plain", "eventKind": "plain", "channel": "memory:plain"}, expect=201)
    ctx.peal.post("/v1/ingest", {"eventKind": "plain", "items": [{"payload": {}, "recipient": {"address": "x"}}]}, expect=200)
    other = next(row for row in deliveries(ctx.peal) if row["triggerId"] == "plain")
    answers = [ctx.peal.with_key(None).get(f"/s/{id}", expect=404).text for id in ("nobody", "x" * 2000, "%E2%80%AE", other["publicId"])]
    equal(len(set(answers)), 1)
    send(ctx.peal, {"publicId": "nobody"}, [("a.rate", "1")], expect=404)
    assert "لا يوجد" in look(ctx.peal, {"publicId": "nobody"}, expect=404, headers={"Accept-Language": "ar"}).shown


def test_it_is_small_and_keeps_to_itself(ctx):
    make_survey(ctx.peal, QUESTIONS + OTHERS)
    made = invite(ctx.peal, "ar")
    stranger = ctx.peal.with_key(None)
    answer = stranger.get(f"/s/{made['publicId']}", expect=200)
    css, js = stranger.get("/s/page.css", expect=200), stranger.get("/s/page.js", expect=200)
    total = sum(len(one.text.encode()) for one in (answer, css, js))
    assert total < PAGE_BYTES_MAX, total
    text_of(answer)
    assert not re.search(r"(left|right)\b", css.text), "the page is laid out in the direction of its writing"


def test_the_greatest_survey_has_a_page(ctx):
    """500 questions in 20 languages, all on one page and one each; all answered."""
    languages = ["en", "ar", *(f"x{chr(97 + i)}" for i in range(18))]
    questions = [{"id": f"q{i}", "type": "single", "required": True, "text": {lang: f"{i} in {lang}" for lang in languages},
                  "choices": [{"value": "a"}, {"value": "b"}]} for i in range(500)]
    make_survey(ctx.peal, questions, languages=languages)
    made = invite(ctx.peal, "xr")
    page = look(ctx.peal, made)
    equal((len(page.names()), len(page.find("button", name="switch"))), (1000, 19))
    assert "499 in xr" in page.shown
    answers = [(f"a.q{i}", "b") for i in range(500)]
    equal(len(go_on(ctx.peal, made, page, answers[:499], expect=422).find("a")), 1)
    go_on(ctx.peal, made, page, answers)
    equal(len(responses(ctx.peal)[0]["answers"]), 500)
    ctx.peal.patch("/v1/surveys/csi", {"paging": "one"}, headers={"Content-Type": "application/merge-patch+json"}, expect=200)
    ctx.peal.post("/v1/surveys/csi/publish", expect=200)
    page = send(ctx.peal, invite(ctx.peal, "ar"), [*answers[:499], ("at", "q498"), ("go", "next")])
    equal((set(page.names()), len(page.find("input", type="hidden"))), ({"a.q499"}, 501))
    assert "السؤال 500 من 500" in page.shown


def test_forms_that_no_page_sends(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    kind = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    for body, status in ((b"", 422), (b"a.rate=%ff", 400), (b"a.rate=%0", 400), (b"a.what=%00", 400), (b"&&&=&=x&a.=", 422),
                         (b"&".join(b"a.%d=1" % i for i in range(501)), 422), (b"a.rate=1&" * 6000, 422),
                         (b"a.rate=1&a.rate=2&a.complaint=No", 422), (b"x" * (1 << 20) + b"x", 413)):
        ctx.peal.with_key(None).post(f"/s/{made['publicId']}/responses", raw=body, headers=kind, expect=status)
    equal(responses(ctx.peal), [])




def reads(answer, words, root):
    """A page that says so in Arabic, and finds its style."""
    page = Page(text_of(answer))
    equal(page.find("html"), [{"lang": "ar", "dir": "rtl"}])
    equal([one["href"] for one in page.find("link")], [root + "page.css"])
    assert words in page.shown, page.shown
    equal(page.find("script"), [])


def test_a_person_reads_what_is_wrong_and_a_program_is_told(ctx):
    make_survey(ctx.peal)
    made, stranger = invite(ctx.peal), ctx.peal.with_key(None)
    path = f"/s/{made['publicId']}/responses"
    over = invite(ctx.peal)
    ctx.peal.post(f"/v1/deliveries/{over['deliveryId']}/cancel", expect=200)
    done = invite(ctx.peal)
    send(ctx.peal, done, [("a.rate", "1"), ("a.complaint", "No")])
    for method, place, raw, status, words, root in (
            ("POST", path, b"a.rate=%ff", 400, "تعذّر فهم", "../"), ("POST", path, b"x" * (1 << 20) + b"x", 413, "أطول مما", "../"),
            ("POST", "/s/nobody/responses", b"a.rate=1", 404, "لا يوجد", "../"), ("GET", "/s/nobody", None, 404, "لا يوجد", ""),
            ("GET", "/s/", None, 404, "لا يوجد", ""), ("GET", "/s/a/b/c", None, 404, "لا يوجد", "../../"),
            ("GET", f"/s/{over['publicId']}", None, 410, "انتهى", ""), ("POST", f"/s/{over['publicId']}/responses", b"", 410, "انتهى", "../"),
            ("POST", f"/s/{done['publicId']}/responses", b"", 409, "Many thanks", "../")):
        kind = FORM if raw is not None else {}
        answer = stranger.request(method, place + "?lang=ar", raw=raw, headers={**BROWSER, **kind}, expect=status)
        reads(answer, words, root)
        answer = stranger.request(method, place, raw=raw, headers={**kind, "Accept": "application/json"}, expect=status)
        equal((answer.headers["Content-Type"], answer.json["status"]), ("application/problem+json", status))
    stranger.post(path, {"answers": {}}, headers=BROWSER, expect=422).json["errors"]
    assert "lang=en" in look(ctx.peal, made).find("form")[0]["action"]


def test_where_a_form_was_answered_a_browser_may_ask_again(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    again = Page(text_of(ctx.peal.with_key(None).get(f"/s/{made['publicId']}/responses?lang=ar", expect=200)))
    equal(again.find("form")[0]["action"], f"../{made['publicId']}/responses?lang=ar")
    equal(set(again.names()), set(look(ctx.peal, made).names()))


def test_a_person_is_told_when_nothing_works(ctx):
    make_survey(ctx.peal)
    made = invite(ctx.peal)
    ctx.peal.stop()
    ctx.sql("UPDATE survey_version SET body = 'x'")
    peal = ctx.start()
    answer = peal.with_key(None).get(f"/s/{made['publicId']}?lang=ar", headers=BROWSER, expect=500)
    reads(answer, "غير متاحة", "")
    answer = peal.with_key(None).post(f"/s/{made['publicId']}/responses?lang=ar", raw=b"", headers={**BROWSER, **FORM}, expect=500)
    reads(answer, "غير متاحة", "../")
    equal(peal.with_key(None).post(f"/s/{made['publicId']}/responses", {"answers": {}}, expect=500).json["code"], "corrupt")


@only("postgres")
def test_looks_and_answers_at_two_nodes_do_not_wait_for_each_other(ctx):
    """What one node is answered of, the other is looked at: each takes both in one transaction, in the same order."""
    nodes = [ctx.start(clock="system") for _ in range(2)]
    make_survey(nodes[0])
    made = [one["deliveries"][0]["publicId"] for one in nodes[0].post("/v1/ingest", {"eventKind": "visit", "items": [
        {"payload": {}, "recipient": {"address": f"+964 770 {i:07d}"}} for i in range(400)]}, expect=200).json["items"]]

    def come(at):
        node, id = nodes[at % 2].with_key(None), made[at // 2]
        if (at // 2 + at) % 2:
            node.post(f"/s/{id}/responses", {"answers": {"rate": 1, "complaint": "No"}}, expect=200)
        else:
            assert node.post(f"/s/{id}/opened", raw=b"").status == 204

    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(come, range(2 * len(made))))
    equal([node.stop() for node in nodes], [0, 0])
    equal(ctx.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"), [["0"]])


def test_one_address_is_not_served_without_end(ctx):
    peal = ctx.start(args=["--behind-proxy", "127.0.0.1"])
    one, other = {"X-Forwarded-For": "203.0.113.9"}, {"X-Forwarded-For": "203.0.113.10"}
    served = 0
    while (answer := peal.with_key(None).get("/s/nobody?lang=ar", headers={**BROWSER, **one})).status == 404:
        served += 1
    assert served >= 600, served
    equal(answer.status, 429)
    reads(answer, "طلبات كثيرة", "")
    equal(answer.headers["Retry-After"], "2")
    peal.with_key(None).get("/s/nobody", headers=other, expect=404)


if __name__ == "__main__":
    main()
