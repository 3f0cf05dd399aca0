#include "channels/vendor.h"

#include "base/time.h"
#include "channels/mailbox.h"
#include "channels/servicebus.h"
#include "domain/members.h"
#include "net/url.h"

// The vendors, a row each: their settings, what they are asked, what their answers mean.

enum { URL_MAX = 2000, WORD_MAX = 200, SECRET_MAX = 1000, TEXT_MAX = 500 };

static void check_place(const Members *members, void *value);
static void check_twilio(const Members *members, void *value);
static void check_sender(const Members *members, void *value);
static void check_bus(const Members *members, void *value);

#define PROVIDER_TYPE(name, shape, moved_by, max)                                                  \
    {                                                                                              \
        .type = name, .carrier = CARRIER_TRANSFER, .parcel_max = 1, .targets_max = max,            \
        .has_content = true, .config = shape, .url = moved_by, .request = vendor_request,          \
        .judge = vendor_judge                                                                      \
    }

// clang-format off
#define BASE_URL { "baseUrl", FIELD_URL, .max = URL_MAX, .help = "stands in for the vendor's address" }

// Chats: the URL is all there is, and whoever has it may post.

static const Field hook_fields[] = {
    { "url", FIELD_URL, FIELD_NEEDED | FIELD_SECRET, .max = URL_MAX, .help = "as the chat gave it out: who has it may post" },
};
static const Shape slack_shape = { "SlackConfig", SHAPE_ROWS(hook_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };
static const Shape teams_shape = { "TeamsConfig", SHAPE_ROWS(hook_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };

const Vendor vendor_slack = {
    .type = PROVIDER_TYPE("slack", &slack_shape, NULL, 0),
    .says = SAYS_TEXT, .text_max = 40000, .body = body_slack,
    .word = "ok",
};

// An old connector answers 200 and tells of the failure in the text.
static const VendorPhrase teams_phrases[] = {
    { "HTTP error 429", REASON_UNWELL },
    { "HTTP error 5", REASON_UNWELL },
    { "HTTP error 401", REASON_LOGIN_REFUSED },
    { "HTTP error 4", REASON_REFUSED },
    { "delivery failed", REASON_UNCLASSIFIED },
    { NULL },
};

const Vendor vendor_teams = {
    .type = PROVIDER_TYPE("teams", &teams_shape, NULL, 0),
    .says = SAYS_TEXT, .body_max = 28 * 1024, .body = body_teams,
    .phrases = teams_phrases,
};

// SMS.

static const Field twilio_fields[] = {
    { "accountSid", FIELD_TEXT, FIELD_NEEDED, .max = WORD_MAX },
    { "authToken", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX },
    { "from", FIELD_TEXT, .max = WORD_MAX, .help = "a number or a sender's name; this or messagingServiceSid" },
    { "messagingServiceSid", FIELD_TEXT, .max = WORD_MAX },
    BASE_URL,
};
static const Shape twilio_shape = { "TwilioConfig", SHAPE_ROWS(twilio_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_twilio };

static const VendorAnswer twilio_codes[] = {
    { 20003, 20003, REASON_LOGIN_REFUSED },
    { 20429, 20429, REASON_UNWELL },
    { 0 },
};

const Vendor vendor_twilio = {
    .type = PROVIDER_TYPE("twilio", &twilio_shape, "baseUrl", 1),
    .base = "https://api.twilio.com", .path = "/2010-04-01/Accounts/{accountSid}/Messages.json",
    .login_header = "authorization", .prefix = "Basic ", .user = "accountSid", .secret = "authToken",
    .content_type = "application/x-www-form-urlencoded",
    .recipient = RECIPIENT_PHONE, .says = SAYS_EITHER, .text_max = 1600, .body = body_twilio,
    .id_at = { "sid" }, .code_at = "code", .codes = twilio_codes,
};

static const Field msg91_fields[] = {
    { "authKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX },
    { "templateId", FIELD_TEXT, .max = WORD_MAX, .help = "the flow, unless the message names one" },
    { "senderId", FIELD_TEXT, .max = WORD_MAX, .help = "as registered with DLT" },
    BASE_URL,
};
static const Shape msg91_shape = { "Msg91Config", SHAPE_ROWS(msg91_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };

// There is no list of its errors, and they may come with 200: only success is said in one way.
static const VendorPhrase msg91_phrases[] = {
    { "authkey", REASON_LOGIN_REFUSED },
    { NULL },
};

const Vendor vendor_msg91 = {
    .type = PROVIDER_TYPE("msg91", &msg91_shape, "baseUrl", TARGETS_MAX),
    .base = "https://control.msg91.com", .path = "/api/v5/flow/",
    .login_header = "authkey", .prefix = "", .secret = "authKey",
    .recipient = RECIPIENT_PHONE, .drops_plus = true, .says = SAYS_TEMPLATE, .body = body_msg91,
    .word_at = "type", .word = "success", .id_at = { "message" }, .phrases = msg91_phrases,
};

static const Field infobip_fields[] = {
    { "apiKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX },
    { "from", FIELD_TEXT, .max = WORD_MAX, .help = "the sender" },
    BASE_URL,
};
static const Shape infobip_shape = { "InfobipConfig", SHAPE_ROWS(infobip_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };

// The status of each message, by its id; a request that is answered 200 may have been rejected.
static const VendorAnswer infobip_results[] = {
    { 2, 3, REASON_ACCEPTED }, { 5, 5, REASON_ACCEPTED }, { 7, 7, REASON_ACCEPTED }, { 26, 26, REASON_ACCEPTED },
    { 12, 12, REASON_UNWELL },  // not enough credits
    { 16, 17, REASON_UNWELL },  // not reachable; the package has expired
    { 20, 21, REASON_UNWELL },  // flooding filter; system error
    { 4, 100, REASON_REFUSED }, // the rest of those that are documented
    { 0 },
};

const Vendor vendor_infobip = {
    .type = PROVIDER_TYPE("infobip", &infobip_shape, "baseUrl", TARGETS_MAX),
    .base = "https://api.infobip.com", .path = "/sms/2/text/advanced",
    .login_header = "authorization", .prefix = "App ", .secret = "apiKey",
    .recipient = RECIPIENT_PHONE, .drops_plus = true, .says = SAYS_TEXT, .body = body_infobip,
    .results_at = "messages", .id_at = { "messageId" }, .result_code_at = "status/id", .result_codes = infobip_results,
};

// WhatsApp.

static const Field key_fields[] = {
    { "apiKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX, .help = "as the vendor shows it" },
    BASE_URL,
};
static const Shape interakt_shape = { "InteraktConfig", SHAPE_ROWS(key_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };
static const Shape dialog_shape = { "DialogConfig", SHAPE_ROWS(key_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };

// The key that Interakt shows is in base64 already: in base64 once more it is refused.
const Vendor vendor_interakt = {
    .type = PROVIDER_TYPE("interakt", &interakt_shape, "baseUrl", 1),
    .base = "https://api.interakt.ai", .path = "/v1/public/message/",
    .login_header = "authorization", .prefix = "Basic ", .secret = "apiKey",
    .recipient = RECIPIENT_PHONE, .says = SAYS_EITHER, .text_max = 4096, .body = body_interakt,
    .id_at = { "id", "data/id" },
};

static const Field whatsapp_fields[] = {
    { "phoneNumberId", FIELD_TEXT, FIELD_NEEDED, .max = WORD_MAX },
    { "token", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX },
    { "apiVersion", FIELD_TEXT, .max = WORD_MAX, .help = "v21.0 unless said" },
    BASE_URL,
};
static const Shape whatsapp_shape = { "WhatsappConfig", SHAPE_ROWS(whatsapp_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_place };

// Meta's codes decide, whatever the status beside them.
static const VendorAnswer meta_codes[] = {
    { 0, 0, REASON_LOGIN_REFUSED }, { 190, 190, REASON_LOGIN_REFUSED },
    { 1, 2, REASON_UNWELL },
    { 4, 4, REASON_UNWELL },           // too many calls
    { 80007, 80007, REASON_UNWELL },   // the account's rate
    { 130429, 130429, REASON_UNWELL }, // the number's throughput
    { 131000, 131000, REASON_UNWELL }, { 131016, 131016, REASON_UNWELL },
    { 131048, 131048, REASON_UNWELL }, // held back as spam
    { 131056, 131056, REASON_UNWELL }, // too many to this one person
    { 131057, 131057, REASON_UNWELL }, // in maintenance
    { 133004, 133004, REASON_UNWELL },
    { 3, 3, REASON_REFUSED }, { 10, 10, REASON_REFUSED }, { 200, 299, REASON_REFUSED }, // rights
    { 33, 33, REASON_REFUSED }, { 100, 100, REASON_REFUSED }, { 131008, 131009, REASON_REFUSED }, // what was asked
    { 368, 368, REASON_REFUSED }, { 131031, 131031, REASON_REFUSED }, // the account is locked
    { 130472, 130472, REASON_REFUSED }, { 131021, 131021, REASON_REFUSED }, { 131026, 131026, REASON_REFUSED }, // the person
    { 131047, 131047, REASON_REFUSED }, { 131049, 131051, REASON_REFUSED },
    { 132000, 132999, REASON_REFUSED }, // the template
    { 0, 0, REASON_NONE },
};
static const VendorAnswer meta_statuses[] = { { 400, 400, REASON_UNCLASSIFIED }, { 403, 404, REASON_UNCLASSIFIED }, { 0 } };

#define META_BODY .recipient = RECIPIENT_PHONE, .says = SAYS_EITHER, .text_max = 4096, .body = body_whatsapp
#define META_ANSWERS .results_at = "messages", .id_at = { "id" }, .code_at = "error/code", .codes = meta_codes, .statuses = meta_statuses

const Vendor vendor_whatsapp = {
    .type = PROVIDER_TYPE("whatsapp", &whatsapp_shape, "baseUrl", 1),
    .base = "https://graph.facebook.com", .path = "/{apiVersion|v21.0}/{phoneNumberId}/messages",
    .login_header = "authorization", .prefix = "Bearer ", .secret = "token",
    META_BODY, META_ANSWERS,
};

// Its own limit comes with 400 and without a code.
static const VendorPhrase dialog_phrases[] = { { "rate limit", REASON_UNWELL }, { NULL } };

const Vendor vendor_360dialog = {
    .type = PROVIDER_TYPE("360dialog", &dialog_shape, "baseUrl", 1),
    .base = "https://waba-v2.360dialog.io", .path = "/messages",
    .login_header = "d360-api-key", .prefix = "", .secret = "apiKey",
    META_BODY, META_ANSWERS, .phrases = dialog_phrases,
};

// Email.

static const Field sendgrid_fields[] = {
    { "apiKey", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX },
    { "from", FIELD_TEXT, FIELD_NEEDED, .max = TEXT_MAX, .help = "Name <somebody@example.org>" },
    BASE_URL,
};
static const Shape sendgrid_shape = { "SendgridConfig", SHAPE_ROWS(sendgrid_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_sender };

// A sender that is not verified gets 403, and so does one that is blocked for a while.
static const VendorAnswer sendgrid_statuses[] = { { 403, 403, REASON_UNCLASSIFIED }, { 0 } };

const Vendor vendor_sendgrid = {
    .type = PROVIDER_TYPE("sendgrid", &sendgrid_shape, "baseUrl", TARGETS_MAX),
    .base = "https://api.sendgrid.com", .path = "/v3/mail/send",
    .login_header = "authorization", .prefix = "Bearer ", .secret = "apiKey",
    .recipient = RECIPIENT_EMAIL, .says = SAYS_EITHER, .takes_html = true, .body = body_sendgrid,
    .has_id_header = true, .statuses = sendgrid_statuses,
};

// Queues.

static const Field bus_fields[] = {
    { "namespace", FIELD_TEXT, FIELD_NEEDED, .max = SERVICEBUS_NAMESPACE_MAX, .help = "its name, or its host where it is not of servicebus.windows.net" },
    { "queue", FIELD_TEXT, FIELD_NEEDED, .max = SERVICEBUS_QUEUE_MAX, .help = "a queue or a topic" },
    { "keyName", FIELD_TEXT, FIELD_NEEDED, .max = SERVICEBUS_KEY_NAME_MAX, .help = "the shared access policy: it needs the right to send" },
    { "key", FIELD_TEXT, FIELD_NEEDED | FIELD_SECRET, .max = SECRET_MAX, .help = "the policy's key, as Azure shows it" },
    { "ttl", FIELD_SPAN, .min = SPAN_SECOND, .max = DURATION_MAX, .help = "how long a message may wait in the queue; as the queue has it unless said" },
    BASE_URL,
};
static const Shape bus_shape = { "ServicebusConfig", SHAPE_ROWS(bus_fields), .invalid = ERR_CHANNEL_INVALID, .check = check_bus };

// A queue that is full and a message that is too large get 403 too, and say so.
static const VendorPhrase bus_phrases[] = {
    { "maximum entity size", REASON_UNWELL }, { "QuotaExceeded", REASON_UNWELL }, { "QuotaType", REASON_UNWELL },
    { "too large", REASON_REFUSED }, { "exceeds the limit", REASON_REFUSED },
    { NULL },
};
static const VendorAnswer bus_statuses[] = {
    { 403, 403, REASON_LOGIN_REFUSED },
    { 404, 404, REASON_GONE }, // there is no such queue; documented as 410
    { 0 },
};

const Vendor vendor_servicebus = {
    .type = { .type = "servicebus", .carrier = CARRIER_TRANSFER, .parcel_max = 1, .config = &bus_shape, .url = "baseUrl",
              .request = servicebus_request, .judge = vendor_judge },
    .phrases = bus_phrases, .statuses = bus_statuses,
};
// clang-format on

static void check_url(const Members *members, const char *name, bool is_base)
{
    Str url = json_str(members_get(members, name));
    if (url.len == 0 || url.len > URL_MAX || !str_is_printable(url))
        return; // its row has complained
    const char *problem = url_problem(url);
    if (!problem && is_base && (str_contains(url, S("?")) || str_contains(url, S("#"))))
        problem = "is scheme, host, port and perhaps the beginning of a path";
    if (problem)
        members_note(members, str_from(name), "bad-url", "%s", problem);
}

// check_place says of where messages go to what rows cannot.
static void check_place(const Members *members, void *value)
{
    (void) value;
    check_url(members, "url", false);
    check_url(members, "baseUrl", true);
}

static void check_twilio(const Members *members, void *value)
{
    check_place(members, value);
    bool has_from = members_get(members, "from");
    if (has_from && members_get(members, "messagingServiceSid"))
        members_note(members, S("messagingServiceSid"), "bad-value", "stands instead of \"from\"");
    if (!has_from && !members_get(members, "messagingServiceSid"))
        members_missing(members, "from");
}

static void check_sender(const Members *members, void *value)
{
    check_place(members, value);
    DEFER(arena_done) Arena arena = { 0 };
    Mailbox sender;
    Str from = json_str(members_get(members, "from"));
    if (from.len && !mailbox_parse(&arena, from, &sender))
        members_note(members, S("from"), "bad-value", "must be an address, or Name <address>");
}

static void check_name(const Members *members, const char *name, bool (*is_one)(Str),
                       const char *rule)
{
    Str text = json_str(members_get(members, name));
    if (text.len && !is_one(text))
        members_note(members, str_from(name), "bad-value", "%s", rule);
}

static void check_bus(const Members *members, void *value)
{
    check_place(members, value);
    check_name(members, "namespace", servicebus_is_namespace,
               "must be a name such as acme, or a host such as acme.servicebus.windows.net");
    check_name(members, "queue", servicebus_is_queue,
               "must be of letters, digits, and between them . - _ /");
}
