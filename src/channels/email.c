#include "channels/channel.h"
#include "channels/mime.h"
#include "domain/members.h"
#include "net/url.h"

// One mail per attempt, to each of its targets that has it not: a list's members share one message
// and are told apart by what the server says to each (net/smtp.h). A mail whose reply was lost may
// be there or not; it is sent again under the same Message-ID, by which both ends know it.

enum {
    URL_MAX = 300,
    MAILBOX_MAX = 500,
    LOGIN_MAX = 500,
    UNSUBSCRIBE_MAX = 900,
    QUEUE_ID_MAX = 100,
};

static void check(const Members *members, void *value);
static Err request(const Parcel *parcel, Transfer *ret, Error *error);
static void judge(const Parcel *parcel, const TransferResult *result);

static const char *const tls_words[] = { "required", "optional", "none", NULL };

typedef struct EmailConfig {
    Str server, from, user, password, reply_to, unsubscribe;
    int tls; // MailTls, in the order of the words
    bool allows_plain_login;
} EmailConfig;

// clang-format off
#define AT(member) .offset = offsetof(EmailConfig, member)
static const Field fields[] = {
    { "server", FIELD_URL, FIELD_NEEDED, AT(server), .max = URL_MAX,
      .help = "smtp://host:25 or smtps://host:465; a path is the name that Peal greets with" },
    { "from", FIELD_TEXT, FIELD_NEEDED, AT(from), .max = MAILBOX_MAX, .help = "such as Peal <peal@example.org>" },
    { "startTls", FIELD_WORD, AT(tls), .words = tls_words, .noun = "a way to use STARTTLS",
      .help = "optional unless said: where the server offers it" },
    { "user", FIELD_TEXT, AT(user), .max = LOGIN_MAX },
    { "password", FIELD_TEXT, FIELD_SECRET, AT(password), .max = LOGIN_MAX },
    { "replyTo", FIELD_TEXT, AT(reply_to), .max = MAILBOX_MAX },
    { "listUnsubscribe", FIELD_TEXT, AT(unsubscribe), .max = UNSUBSCRIBE_MAX,
      .help = "where a reader opts out: a mailto or https URL, or several in angle brackets" },
    { "allowPlainAuth", FIELD_BOOL, AT(allows_plain_login),
      .help = "the login may go over a connection without TLS" },
};
// clang-format on

static const Shape config_shape = {
    "EmailConfig",  SHAPE_ROWS(fields), .size = sizeof(EmailConfig), .invalid = ERR_CHANNEL_INVALID,
    .check = check,
};

const ChannelType channel_email = {
    .type = "email",
    .carrier = CARRIER_TRANSFER,
    .parcel_max = 1,
    .targets_max = TARGETS_MAX,
    .has_content = true,
    .config = &config_shape,
    .url = "server",
    .request = request,
    .judge = judge,
};

static void check_mailbox(const Members *members, const char *name)
{
    DEFER(arena_done) Arena arena = { 0 };
    Mailbox mailbox;
    Str text = json_str(members_get(members, name));
    if (text.len == 0 || text.len > MAILBOX_MAX || !str_is_printable(text))
        return; // its row has complained
    if (!mailbox_parse(&arena, text, &mailbox))
        members_note(members, str_from(name), "bad-address",
                     "must be an address, or a name and an address in angle brackets");
}

static bool is_unsubscribe_url(Str url)
{
    bool is_known = str_starts(url, S("https://")) || str_starts(url, S("http://")) ||
                    str_starts(url, S("mailto:"));
    for (size_t i = 0; i < url.len; i++)
        if (url.at[i] <= ' ' || url.at[i] >= 0x7f || strchr("<>,", url.at[i]))
            return false;
    return is_known;
}

// unsubscribe_header is what the header says: each URL in angle brackets. None where one is none.
static Str unsubscribe_header(Arena *arena, Str text)
{
    Buf header = buf_new(arena, BUF_WHOLE);
    bool is_bracketed = str_starts(text, S("<"));
    for (Str rest = text; rest.at;) {
        Str url = str_trim(is_bracketed ? str_cut(&rest, ',') : rest);
        if (!is_bracketed)
            rest = STR_NONE;
        else if (!str_starts(url, S("<")) || !str_ends(url, S(">")))
            return STR_NONE;
        else
            url = (Str){ url.at + 1, url.len - 2 };
        if (!is_unsubscribe_url(url))
            return STR_NONE;
        buf_add_format(&header, "%s<%.*s>", header.len ? ",\r\n " : "", STR_ARG(url));
    }
    return buf_str(&header);
}

static void check_unsubscribe(const Members *members)
{
    DEFER(arena_done) Arena arena = { 0 };
    Str text = json_str(members_get(members, "listUnsubscribe"));
    if (text.len == 0 || text.len > UNSUBSCRIBE_MAX || !str_is_printable(text))
        return; // its row has complained
    if (!unsubscribe_header(&arena, text).at)
        members_note(members, S("listUnsubscribe"), "bad-url",
                     "must be a mailto or https URL, or several in angle brackets with commas");
}

static void check_server(const Members *members, Str url)
{
    if (url.len == 0 || url.len > URL_MAX || !str_is_printable(url))
        return; // its row has complained
    const char *problem = url_mail_problem(url);
    if (problem)
        members_note(members, S("server"), "bad-url", "%s", problem);
}

// requires_tls: no byte of a login can go out before TLS.
static bool requires_tls(const Members *members, Str server)
{
    return !url_is_plain(server) || str_eq(json_str(members_get(members, "startTls")),
                                           str_from(tls_words[MAIL_TLS_REQUIRED]));
}

// check_login: a password that anybody on the way can read is refused, unless that is wanted.
static void check_login(const Members *members, Str server)
{
    bool has_user = members_get(members, "user"), has_password = members_get(members, "password");
    bool may_be_plain = json_bool(members_get(members, "allowPlainAuth"));
    if (has_password && !has_user)
        members_note(members, S("user"), "missing-member", "is needed with a password");
    if (has_user && !may_be_plain && !requires_tls(members, server))
        members_note(members, S("startTls"), "plain-login",
                     "must be \"required\" where there is a user, or the server smtps://; "
                     "allowPlainAuth true sends the login without TLS");
}

// check says of the settings what their rows cannot.
static void check(const Members *members, void *value)
{
    Str server = json_str(members_get(members, "server"));
    (void) value;
    check_server(members, server);
    check_mailbox(members, "from");
    check_mailbox(members, "replyTo");
    check_unsubscribe(members);
    check_login(members, server);
}

// read_config reads what was saved, which was checked then.
static Err read_config(Arena *arena, const Json *json, EmailConfig *ret, Error *error)
{
    Error ignored = { 0 };
    EmailConfig config = { .tls = MAIL_TLS_OPTIONAL };
    fields_note(arena, json, S(""), &config_shape, &config, &ignored);
    if (!config.server.len || !config.from.len)
        return fail(error, ERR_CHANNEL_INVALID, "the channel has no server or no sender");
    *ret = config;
    return ERR_OK;
}

// judge_address refuses a target whose address is none; it returns what the wire has otherwise.
static Str judge_address(Arena *arena, Target *target)
{
    const char *problem = mailbox_address_problem(target->address);
    Str address = problem ? STR_NONE : mailbox_address(arena, target->address);
    if (!problem && !address.at)
        problem = "what stands behind the @ is no name of a host";
    if (problem)
        target->outcome = (Outcome){ .verdict = VERDICT_PERMANENT,
                                     .reason = REASON_NO_RECIPIENT,
                                     .detail = str_from(problem) };
    return address;
}

static size_t choose_recipients(const Parcel *parcel, Str *recipients)
{
    const Message *message = parcel->messages;
    size_t count = 0;
    for (size_t i = 0; i < message->target_count; i++) {
        if (target_is_judged(&message->targets[i]))
            continue;
        Str address = judge_address(parcel->arena, &message->targets[i]);
        if (address.at)
            recipients[count++] = address;
    }
    return count;
}

// address_mail says who is named in the mail: its one recipient; of a list all where it says so,
// and its name alone otherwise. Beyond ASCII an address stands only where it is the only one, since
// the others' servers need not take such headers.
static void address_mail(Arena *arena, const Message *message, const SmtpEnvelope *envelope,
                         MimeMail *mail)
{
    Mailbox *to = ARENA_ARRAY(arena, Mailbox, envelope->count);
    bool shows_all = message->shows_targets || (!message->list_name.len && envelope->count == 1);
    for (size_t i = 0; shows_all && i < envelope->count; i++)
        if (envelope->count == 1 || mailbox_is_ascii(envelope->recipients[i]))
            to[mail->to_count++].address = envelope->recipients[i];
    mail->to = to;
    if (!shows_all)
        mail->group = message->list_name;
}

// read_mailboxes fills in who the mail is from, and who is to be answered.
static Err read_mailboxes(Arena *arena, const EmailConfig *config, MimeMail *mail, Error *error)
{
    bool has_reply_to = config->reply_to.len > 0;
    if (!mailbox_parse(arena, config->from, &mail->from) ||
        (has_reply_to && !mailbox_parse(arena, config->reply_to, &mail->reply_to)))
        return fail(error, ERR_CHANNEL_INVALID, "the channel's sender is no address");
    mail->from.address = mailbox_address(arena, mail->from.address);
    if (has_reply_to)
        mail->reply_to.address = mailbox_address(arena, mail->reply_to.address);
    if (!mail->from.address.at || (has_reply_to && !mail->reply_to.address.at))
        return fail(error, ERR_CHANNEL_INVALID, "the host of the channel's sender is none");
    return ERR_OK;
}

static Str message_id(Arena *arena, const Message *message, Str sender)
{
    char id[UUID_TEXT_LEN + 1];
    return str_format(arena, "%.*s.%d@%.*s", STR_ARG(uuid_text(message->promise.id, id)),
                      message->send, STR_ARG(mailbox_host(sender)));
}

static Err request(const Parcel *parcel, Transfer *ret, Error *error)
{
    EmailConfig config = { 0 };
    Arena *arena = parcel->arena;
    const Message *message = parcel->messages;
    Mail *mail = ARENA_NEW(arena, Mail);
    Str *recipients = ARENA_ARRAY(arena, Str, message->target_count);
    size_t count = choose_recipients(parcel, recipients);
    if (count == 0)
        return ERR_OK;
    TRY(read_config(arena, parcel->config, &config, error));
    MimeMail written = { .date = parcel->now,
                         .unsubscribe = unsubscribe_header(arena, config.unsubscribe),
                         .subject = message->content.subject,
                         .text = message->content.text,
                         .html = message->content.html };
    TRY(read_mailboxes(arena, &config, &written, error));
    *mail = (Mail){ .envelope = { written.from.address, recipients, count },
                    .tls = (MailTls) config.tls,
                    .user = config.user,
                    .password = config.password };
    written.id = message_id(arena, message, written.from.address);
    address_mail(arena, message, &mail->envelope, &written);
    *ret = (Transfer){ .url = config.server, .mail = mail, .body = mime_bytes(arena, &written) };
    return ERR_OK;
}

// find_queue_id looks for the server's own id in what it said at last: "250 2.0.0 Ok: queued as
// 4CyGh", "250 OK id=1tAbCd". None where it is not to be recognised.
static Str find_queue_id(Arena *arena, Str text)
{
    static const Str marks[] = { S("queued as "), S(" id=") };
    for (size_t m = 0; m < ARRAY_LEN(marks); m++)
        for (Str rest = text; rest.len > marks[m].len; rest = str_skip(rest, 1)) {
            if (!str_eq_nocase((Str){ rest.at, marks[m].len }, marks[m]))
                continue;
            Str id = str_skip(rest, marks[m].len);
            id = str_cut(&id, ' ');
            bool is_id = id.len > 0 && id.len <= QUEUE_ID_MAX && str_is_printable(id);
            return is_id ? judge_detail(arena, id) : STR_NONE;
        }
    return STR_NONE;
}

static bool is_login_matter(int code)
{
    return code == 530 || code == 534 || code == 535;
}

static Outcome judge_reply(Arena *arena, const SmtpReply *reply)
{
    Outcome outcome = { .verdict = VERDICT_TRANSIENT,
                        .reason = REASON_UNWELL,
                        .code = reply->code,
                        .detail = judge_detail(arena, reply->text) };
    if (reply->code >= 200 && reply->code <= 299) {
        outcome.verdict = VERDICT_DELIVERED;
        outcome.reason = REASON_ACCEPTED;
        outcome.provider_id = find_queue_id(arena, reply->text);
    } else if (is_login_matter(reply->code)) {
        outcome.reason = REASON_LOGIN_REFUSED;
    } else if (reply->code >= 500) {
        outcome.verdict = VERDICT_PERMANENT;
        outcome.reason = REASON_REFUSED;
    }
    return outcome;
}

// judge reads the replies in the order of the recipients: the targets that request left untold.
static void judge(const Parcel *parcel, const TransferResult *result)
{
    const Message *message = parcel->messages;
    const SmtpReply *reply = result->replies;
    for (size_t i = 0; i < message->target_count; i++) {
        Outcome *outcome = &message->targets[i].outcome;
        if (target_is_judged(&message->targets[i]))
            continue;
        bool is_said = reply && reply->code;
        *outcome = is_said ? judge_reply(parcel->arena, reply)
                           : judge_http(parcel->arena, result, parcel->now);
        reply += reply != NULL;
    }
}
