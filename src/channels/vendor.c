#include "channels/vendor.h"

#include "base/version.h"

enum { URL_BYTES_MAX = 4000, ANSWER_BYTES_MAX = 64 * 1024, HEADERS_COUNT = 3 };

static Err check_words(const Vendor *vendor, const Letter *letter, Error *error);
static void address(const Vendor *vendor, const Message *message, Letter *letter);
static Str url_of(const Vendor *vendor, const Letter *letter);
static Str login(const Vendor *vendor, const Letter *letter);
static Err write_body(const Vendor *vendor, const Letter *letter, Str *ret, Error *error);

static const Vendor *vendor_of(const Parcel *parcel)
{
    assert(parcel->count == 1); // each has a request of its own
    return (const Vendor *) parcel->type;
}

// request_id is what the far side may know a request by: its delivery and send, and where each
// target has a request of its own, which of them.
static Str request_id(const Vendor *vendor, const Message *message, Arena *arena)
{
    char text[UUID_TEXT_LEN + 1];
    Str id = uuid_text(message->promise.id, text);
    const Target *target = message->target_count == 1 ? message->targets : NULL;
    if (vendor->type.targets_max == 1 && target && target->n > 0)
        return str_format(arena, "%.*s.%d.%lld", STR_ARG(id), message->send, (long long) target->n);
    return str_format(arena, "%.*s.%d", STR_ARG(id), message->send);
}

Err vendor_request(const Parcel *parcel, Transfer *ret, Error *error)
{
    const Vendor *vendor = vendor_of(parcel);
    const Message *message = parcel->messages;
    Arena *arena = parcel->arena;
    Str body;
    Letter letter = { .message = message, .config = parcel->config, .arena = arena };
    letter.id = request_id(vendor, message, arena);
    TRY(check_words(vendor, &letter, error));
    address(vendor, message, &letter);
    if (letter.count == 0 && vendor->recipient != RECIPIENT_NONE)
        return ERR_OK; // nobody is left to send to
    TRY(write_body(vendor, &letter, &body, error));

    Header *headers = ARENA_ARRAY(arena, Header, HEADERS_COUNT);
    Str type = vendor->content_type ? str_from(vendor->content_type) : S("application/json");
    headers[0] = (Header){ S("content-type"), type };
    headers[1] = (Header){ S("user-agent"), S("Peal/" PEAL_VERSION) };
    if (vendor->login_header)
        headers[2] = (Header){ str_from(vendor->login_header), login(vendor, &letter) };
    *ret = (Transfer){
        .method = S("POST"),
        .url = url_of(vendor, &letter),
        .headers = headers,
        .header_count = vendor->login_header ? 3 : 2,
        .body = body,
        .response_max = ANSWER_BYTES_MAX,
    };
    return ERR_OK;
}

static size_t count_characters(Str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char) text.at[i] & 0xc0) != 0x80;
    return count;
}

// check_words refuses what the vendor would refuse, or cut off, by a sentence that says why.
static Err check_words(const Vendor *vendor, const Letter *letter, Error *error)
{
    const Content *content = &letter->message->content;
    const char *name = vendor->type.type;
    bool has_template = content->template.len > 0 || json_get(letter->config, S("templateId"));
    if (vendor->says == SAYS_TEMPLATE && !has_template)
        return fail(error, ERR_INVALID, "%s sends templates only, and there is none", name);
    if (vendor->says == SAYS_TEMPLATE || (vendor->says == SAYS_EITHER && has_template))
        return ERR_OK;
    if (!content->text.len && !(vendor->takes_html && content->html.len))
        return fail(error, ERR_INVALID, "the message has no plain text, which %s needs", name);
    size_t count = count_characters(content->text);
    if (vendor->text_max && count > (size_t) vendor->text_max)
        return fail(error, ERR_TOO_LARGE, "the text has %zu characters; %s takes %d", count, name,
                    vendor->text_max);
    return ERR_OK;
}

// address takes the targets that can be reached, and says of the others that they cannot.
static void address(const Vendor *vendor, const Message *message, Letter *letter)
{
    static const Outcome no_recipient = { .verdict = VERDICT_PERMANENT,
                                          .reason = REASON_NO_RECIPIENT };
    Arena *arena = letter->arena;
    Target **targets = ARENA_ARRAY(arena, Target *, message->target_count);
    Str *addresses = ARENA_ARRAY(arena, Str, message->target_count);
    letter->targets = targets;
    letter->addresses = addresses;
    for (size_t i = 0; vendor->recipient && i < message->target_count; i++) {
        Target *target = &message->targets[i];
        if (target_is_judged(target))
            continue;
        Str read = recipient_read(arena, vendor->recipient, target->address);
        if (!read.len) {
            target->outcome = no_recipient;
            target->outcome.detail =
                target->address.len ? S("the address cannot be one") : S("there is no address");
            continue;
        }
        targets[letter->count] = target;
        addresses[letter->count++] = str_skip(read, vendor->drops_plus);
    }
}

void vendor_add_field(Buf *form, Str name, Str value)
{
    if (form->len > 0)
        buf_add_char(form, '&');
    buf_add(form, name);
    buf_add_char(form, '=');
    buf_add_percent(form, value);
}

// add_path fills in {member}, and {member|default}.
static void add_path(Buf *url, Str path, const Json *config)
{
    for (buf_add(url, str_cut(&path, '{')); path.at; buf_add(url, str_cut(&path, '{'))) {
        Str fallback = str_cut(&path, '}'), member = str_cut(&fallback, '|');
        Str value = json_str(json_get(config, member));
        buf_add_percent(url, value.at ? value : fallback);
    }
}

static Str url_of(const Vendor *vendor, const Letter *letter)
{
    Str given = json_str(json_get(letter->config, S("baseUrl")));
    if (!vendor->base)
        return json_str(json_get(letter->config, S("url")));
    Str base = given.at ? given : str_from(vendor->base);
    while (str_ends(base, S("/")))
        base.len--;
    Buf url = buf_new(letter->arena, URL_BYTES_MAX);
    buf_add(&url, base);
    add_path(&url, str_from(vendor->path), letter->config);
    return buf_str(&url);
}

static Str login(const Vendor *vendor, const Letter *letter)
{
    Str secret = json_str(json_get(letter->config, str_from(vendor->secret)));
    if (vendor->user) {
        Str user = json_str(json_get(letter->config, str_from(vendor->user)));
        secret = base64_text(
            letter->arena, str_format(letter->arena, "%.*s:%.*s", STR_ARG(user), STR_ARG(secret)));
    }
    return str_format(letter->arena, "%s%.*s", vendor->prefix, STR_ARG(secret));
}

static Err write_body(const Vendor *vendor, const Letter *letter, Str *ret, Error *error)
{
    Buf body = buf_new(letter->arena, BUF_WHOLE);
    JsonOut out = json_out(&body);
    vendor->body(letter, &out);
    if (vendor->body_max && body.len > vendor->body_max)
        return fail(error, ERR_TOO_LARGE, "the message has %zu bytes; %s takes %zu", body.len,
                    vendor->type.type, vendor->body_max);
    *ret = buf_str(&body);
    return ERR_OK;
}

// Reading is an answer as its vendor's row reads it.
typedef struct Reading {
    const Vendor *vendor;
    const TransferResult *result;
    const Json *json; // NULL: it is none
    Outcome outcome;  // as HTTP has it
    Arena *arena;
    Instant now;
} Reading;

// find follows a place from member to member.
static const Json *find(const Json *from, const char *place)
{
    Str rest = str_from(place);
    while (from && rest.at)
        from = json_get(from, str_cut(&rest, '/'));
    return from;
}

static Str text_at(const Json *from, const char *place)
{
    const Json *value = place ? find(from, place) : NULL;
    return json_type(value) == JSON_NUMBER ? json_number_text(value) : json_str(value);
}

static bool is_success(const Reading *reading)
{
    return reading->result->status >= 200 && reading->result->status <= 299;
}

static DeliveryReason look_up(const VendorAnswer *rows, int64_t code)
{
    for (; rows && rows->reason != REASON_NONE; rows++)
        if (code >= rows->from && code <= rows->to)
            return rows->reason;
    return REASON_NONE;
}

static DeliveryReason look_up_at(const VendorAnswer *rows, const Json *from, const char *place)
{
    int64_t code;
    if (!str_to_i64(text_at(from, place), INT64_MIN, INT64_MAX, &code))
        return REASON_NONE;
    return look_up(rows, code);
}

static DeliveryReason look_up_phrase(const Reading *reading)
{
    const VendorPhrase *row = reading->vendor->phrases;
    for (; row && row->words; row++)
        if (str_contains(reading->result->body, str_from(row->words)))
            return row->reason;
    return REASON_NONE;
}

static Str find_id(const Reading *reading, const Json *told)
{
    const Vendor *vendor = reading->vendor;
    Str id = vendor->has_id_header ? reading->result->message_id : STR_NONE;
    for (size_t i = 0; !id.len && i < ARRAY_LEN(vendor->id_at); i++)
        id = text_at(told, vendor->id_at[i]);
    return id;
}

// says_so: the vendor has a way to say that it took a message; is_taken: it did.
static bool says_so(const Vendor *vendor)
{
    return vendor->word || vendor->id_at[0];
}

static bool is_taken(const Reading *reading, const Json *told)
{
    const Vendor *vendor = reading->vendor;
    if (!says_so(vendor) || !is_success(reading))
        return false;
    Str word =
        vendor->word_at ? text_at(reading->json, vendor->word_at) : str_trim(reading->result->body);
    if (vendor->word && !str_eq(word, str_from(vendor->word)))
        return false;
    return !vendor->id_at[0] || find_id(reading, told).len > 0;
}

// is_page: what was answered is for a person to look at. Some proxy, or a login, stands between.
static bool is_page(const Reading *reading)
{
    return str_starts(str_trim(reading->result->body), S("<"));
}

// read_reason is what an answer, or the element of it that tells of one target, means.
static DeliveryReason read_reason(const Reading *reading, const Json *told)
{
    const Vendor *vendor = reading->vendor;
    int status = reading->result->status;
    DeliveryReason reason = REASON_NONE;
    if (is_success(reading) && vendor->result_code_at)
        reason = look_up_at(vendor->result_codes, told, vendor->result_code_at);
    else if (is_taken(reading, told))
        reason = REASON_ACCEPTED;
    if (!reason)
        reason = look_up_phrase(reading);
    if (!reason)
        reason = look_up_at(vendor->codes, reading->json, vendor->code_at);
    if (!reason)
        reason = look_up(vendor->statuses, status);
    if (!reason && status == 401)
        reason = REASON_LOGIN_REFUSED;
    if (!reason && is_success(reading) && (says_so(vendor) || is_page(reading)))
        reason = REASON_UNCLASSIFIED;
    return reason ? reason : reading->outcome.reason;
}

static Verdict verdict_of(DeliveryReason reason)
{
    if (reason == REASON_ACCEPTED)
        return VERDICT_DELIVERED;
    bool may_pass =
        reason == REASON_UNWELL || reason == REASON_LOGIN_REFUSED || reason == REASON_UNCLASSIFIED;
    return may_pass ? VERDICT_TRANSIENT : VERDICT_PERMANENT;
}

static Outcome read_outcome(const Reading *reading, const Json *told)
{
    Outcome outcome = reading->outcome;
    outcome.reason = read_reason(reading, told);
    outcome.verdict = verdict_of(outcome.reason);
    outcome.retry_after = 0;
    outcome.provider_id = STR_NONE;
    if (outcome.verdict == VERDICT_TRANSIENT)
        outcome.retry_after = judge_retry_after(reading->result, reading->now);
    if (outcome.verdict == VERDICT_DELIVERED)
        outcome.provider_id = judge_id(reading->arena, find_id(reading, told));
    return outcome;
}

// judge_each gives each target what its own element of the list says; those come in the order that
// the targets were named in.
static void judge_each(const Reading *reading, const Message *message, const Json *list)
{
    size_t at = 0;
    for (size_t i = 0; i < message->target_count; i++) {
        Target *target = &message->targets[i];
        if (!target_is_judged(target))
            target->outcome = read_outcome(reading, json_at(list, at++));
    }
}

void vendor_judge(const Parcel *parcel, const TransferResult *result)
{
    Reading reading = { .vendor = vendor_of(parcel),
                        .result = result,
                        .outcome = judge_http(parcel->arena, result, parcel->now),
                        .arena = parcel->arena,
                        .now = parcel->now };
    if (result->problem != TRANSFER_ANSWERED) {
        parcel_judge(parcel, &reading.outcome);
        return;
    }
    if (json_parse(parcel->arena, result->body, &reading.json, NULL) != ERR_OK)
        reading.json = NULL;
    if (reading.vendor->results_at) {
        judge_each(&reading, parcel->messages, find(reading.json, reading.vendor->results_at));
        return;
    }
    Outcome outcome = read_outcome(&reading, reading.json);
    parcel_judge(parcel, &outcome);
}
