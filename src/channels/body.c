#include "channels/mailbox.h"
#include "channels/vendor.h"

// What each provider wants to be told, in its own words. Text that people wrote is escaped where a
// provider would take parts of it for marks of its own.

static void put_params(const Letter *letter, JsonOut *out, const char *prefix);

static const Content *content(const Letter *letter)
{
    return &letter->message->content;
}

static Str setting(const Letter *letter, const char *name)
{
    return json_str(json_get(letter->config, str_from(name)));
}

// put_given leaves out what there is none of.
static void put_given(JsonOut *out, Str key, Str value)
{
    if (value.len)
        json_put_str(out, key, value);
}

static void open_member(JsonOut *out, Str key, char bracket)
{
    json_key(out, key);
    json_open(out, bracket);
}

// language is a locale as WhatsApp writes it: en_US. A list's member may have one of his own.
static Str language(const Letter *letter)
{
    Str own = letter->count > 0 ? letter->targets[0]->locale : STR_NONE;
    Str locale = own.len ? own : letter->message->promise.locale;
    if (!locale.len)
        return S("en");
    Buf buf = buf_new(letter->arena, locale.len);
    for (size_t i = 0; i < locale.len; i++)
        buf_add_char(&buf, locale.at[i] == '-' ? '_' : locale.at[i]);
    return buf_str(&buf);
}

// Slack

// add_slack_text writes &, < and > as Slack asks: unescaped, <!channel> would call everybody.
static void add_slack_text(Buf *buf, Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (c == '&')
            buf_add(buf, S("&amp;"));
        else if (c == '<')
            buf_add(buf, S("&lt;"));
        else if (c == '>')
            buf_add(buf, S("&gt;"));
        else
            buf_add_char(buf, c);
    }
}

void body_slack(const Letter *letter, JsonOut *out)
{
    Buf text = buf_new(letter->arena, BUF_WHOLE);
    if (content(letter)->subject.len) {
        buf_add_char(&text, '*');
        add_slack_text(&text, content(letter)->subject);
        buf_add(&text, S("*\n"));
    }
    add_slack_text(&text, content(letter)->text);
    json_open(out, '{');
    json_put_str(out, S("text"), buf_str(&text));
    json_close(out, '}');
}

// Teams

// card_text is text as a card shows it literally: marks of Markdown are escaped, the end of a line
// is one only when it stands twice.
static Str card_text(Arena *arena, Str text)
{
    Buf buf = buf_new(arena, BUF_WHOLE);
    bool is_start = true; // of a line, where more characters are marks
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];
        if (strchr(is_start ? "\\*_[]`~#+->" : "\\*_[]`~", c) && c)
            buf_add_char(&buf, '\\');
        buf_add_char(&buf, c);
        if (c == '\n')
            buf_add_char(&buf, c);
        is_start = c == '\n' || (is_start && c == ' ');
    }
    return buf_str(&buf);
}

static void add_block(const Letter *letter, JsonOut *out, Str text, bool is_title)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("TextBlock"));
    json_put_str(out, S("text"), card_text(letter->arena, text));
    json_put_bool(out, S("wrap"), true);
    if (is_title) {
        json_put_str(out, S("weight"), S("Bolder"));
        json_put_str(out, S("size"), S("Large"));
    }
    json_close(out, '}');
}

static void put_card(const Letter *letter, JsonOut *out)
{
    open_member(out, S("content"), '{');
    json_put_str(out, S("$schema"), S("http://adaptivecards.io/schemas/adaptive-card.json"));
    json_put_str(out, S("type"), S("AdaptiveCard"));
    json_put_str(out, S("version"), S("1.4"));
    open_member(out, S("body"), '[');
    if (content(letter)->subject.len)
        add_block(letter, out, content(letter)->subject, true);
    add_block(letter, out, content(letter)->text, false);
    json_close(out, ']');
    json_put_raw(out, S("msteams"), S("{\"width\":\"full\"}"));
    json_close(out, '}');
}

void body_teams(const Letter *letter, JsonOut *out)
{
    json_open(out, '{');
    json_put_str(out, S("type"), S("message"));
    open_member(out, S("attachments"), '[');
    json_open(out, '{');
    json_put_str(out, S("contentType"), S("application/vnd.microsoft.card.adaptive"));
    json_put_null(out, S("contentUrl"));
    put_card(letter, out);
    json_close(out, '}');
    json_close(out, ']');
    json_close(out, '}');
}

// Twilio

static Str params_json(const Letter *letter)
{
    Buf buf = buf_new(letter->arena, BUF_WHOLE);
    JsonOut out = json_out(&buf);
    json_open(&out, '{');
    put_params(letter, &out, "");
    json_close(&out, '}');
    return buf_str(&buf);
}

void body_twilio(const Letter *letter, JsonOut *out)
{
    Buf *form = out->buf;
    Str from = setting(letter, "from");
    vendor_add_field(form, S("To"), letter->addresses[0]);
    if (from.at)
        vendor_add_field(form, S("From"), from);
    else
        vendor_add_field(form, S("MessagingServiceSid"), setting(letter, "messagingServiceSid"));
    if (content(letter)->template.len) {
        vendor_add_field(form, S("ContentSid"), content(letter)->template);
        vendor_add_field(form, S("ContentVariables"), params_json(letter));
    } else {
        vendor_add_field(form, S("Body"), content(letter)->text);
    }
}

// MSG91

// put_params writes the values of a template under their names, or under prefix and their numbers.
static void put_params(const Letter *letter, JsonOut *out, const char *prefix)
{
    const Content *said = content(letter);
    for (size_t i = 0; i < said->param_count; i++) {
        Str name = said->params[i].name;
        if (!name.at)
            name = str_format(letter->arena, "%s%zu", prefix, i + 1);
        Str value = said->params[i].value;
        json_put_str(out, name, value.at ? value : S(""));
    }
}

static void put_variables(const Letter *letter, JsonOut *out)
{
    put_params(letter, out, "VAR");
    if (content(letter)->param_count == 0)
        put_given(out, S("VAR1"), content(letter)->text);
}

void body_msg91(const Letter *letter, JsonOut *out)
{
    Str template = content(letter)->template;
    json_open(out, '{');
    json_put_str(out, S("template_id"), template.len ? template : setting(letter, "templateId"));
    put_given(out, S("sender"), setting(letter, "senderId"));
    json_put_str(out, S("short_url"), S("0"));
    open_member(out, S("recipients"), '[');
    for (size_t i = 0; i < letter->count; i++) {
        json_open(out, '{');
        json_put_str(out, S("mobiles"), letter->addresses[i]);
        put_variables(letter, out);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
}

// Infobip

void body_infobip(const Letter *letter, JsonOut *out)
{
    json_open(out, '{');
    open_member(out, S("messages"), '[');
    json_open(out, '{');
    put_given(out, S("from"), setting(letter, "from"));
    open_member(out, S("destinations"), '[');
    for (size_t i = 0; i < letter->count; i++) {
        json_open(out, '{');
        json_put_str(out, S("to"), letter->addresses[i]);
        json_close(out, '}');
    }
    json_close(out, ']');
    json_put_str(out, S("text"), content(letter)->text);
    json_put_str(out, S("callbackData"), letter->id);
    json_close(out, '}');
    json_close(out, ']');
    json_close(out, '}');
}

// WhatsApp: by Interakt, and by Meta, whose bodies 360dialog takes as they are

static void put_values(const Letter *letter, JsonOut *out, Str key)
{
    open_member(out, key, '[');
    for (size_t i = 0; i < content(letter)->param_count; i++) {
        Str value = content(letter)->params[i].value;
        json_add_str(out, value.at ? value : S(""));
    }
    json_close(out, ']');
}

void body_interakt(const Letter *letter, JsonOut *out)
{
    Str template = content(letter)->template;
    json_open(out, '{');
    json_put_str(out, S("fullPhoneNumber"), letter->addresses[0]);
    json_put_str(out, S("callbackData"), letter->id);
    json_put_str(out, S("type"), template.len ? S("Template") : S("Text"));
    open_member(out, template.len ? S("template") : S("data"), '{');
    if (template.len) {
        json_put_str(out, S("name"), template);
        json_put_str(out, S("languageCode"), language(letter));
        put_values(letter, out, S("bodyValues"));
    } else {
        json_put_str(out, S("message"), content(letter)->text);
    }
    json_close(out, '}');
    json_close(out, '}');
}

static void put_components(const Letter *letter, JsonOut *out)
{
    open_member(out, S("components"), '[');
    json_open(out, '{');
    json_put_str(out, S("type"), S("body"));
    open_member(out, S("parameters"), '[');
    for (size_t i = 0; i < content(letter)->param_count; i++) {
        Str value = content(letter)->params[i].value;
        json_open(out, '{');
        json_put_str(out, S("type"), S("text"));
        json_put_str(out, S("text"), value.at ? value : S(""));
        json_close(out, '}');
    }
    json_close(out, ']');
    json_close(out, '}');
    json_close(out, ']');
}

static void put_template(const Letter *letter, JsonOut *out)
{
    open_member(out, S("template"), '{');
    json_put_str(out, S("name"), content(letter)->template);
    open_member(out, S("language"), '{');
    json_put_str(out, S("code"), language(letter));
    json_close(out, '}');
    if (content(letter)->param_count > 0)
        put_components(letter, out);
    json_close(out, '}');
}

void body_whatsapp(const Letter *letter, JsonOut *out)
{
    bool has_template = content(letter)->template.len > 0;
    json_open(out, '{');
    json_put_str(out, S("messaging_product"), S("whatsapp"));
    json_put_str(out, S("recipient_type"), S("individual"));
    json_put_str(out, S("to"), letter->addresses[0]);
    json_put_str(out, S("biz_opaque_callback_data"), letter->id);
    json_put_str(out, S("type"), has_template ? S("template") : S("text"));
    if (has_template) {
        put_template(letter, out);
    } else {
        open_member(out, S("text"), '{');
        json_put_str(out, S("body"), content(letter)->text);
        json_close(out, '}');
    }
    json_close(out, '}');
}

// SendGrid

static void put_persons(const Letter *letter, JsonOut *out)
{
    bool has_template = content(letter)->template.len > 0;
    open_member(out, S("personalizations"), '[');
    for (size_t i = 0; i < letter->count; i++) {
        json_open(out, '{');
        open_member(out, S("to"), '[');
        json_open(out, '{');
        json_put_str(out, S("email"), letter->addresses[i]);
        json_close(out, '}');
        json_close(out, ']');
        if (has_template) {
            open_member(out, S("dynamic_template_data"), '{');
            put_params(letter, out, "VAR");
            json_close(out, '}');
        }
        json_close(out, '}');
    }
    json_close(out, ']');
}

static void put_sender(const Letter *letter, JsonOut *out)
{
    Mailbox sender = { 0 };
    bool is_sender = mailbox_parse(letter->arena, setting(letter, "from"), &sender);
    assert(is_sender); // it was checked when it was saved
    open_member(out, S("from"), '{');
    json_put_str(out, S("email"), sender.address);
    put_given(out, S("name"), sender.name);
    json_close(out, '}');
}

static void add_part(JsonOut *out, Str type, Str value)
{
    if (!value.len)
        return;
    json_open(out, '{');
    json_put_str(out, S("type"), type);
    json_put_str(out, S("value"), value);
    json_close(out, '}');
}

void body_sendgrid(const Letter *letter, JsonOut *out)
{
    const Content *said = content(letter);
    json_open(out, '{');
    put_persons(letter, out);
    put_sender(letter, out);
    // There must be one; what an event is called says more than nothing.
    json_put_str(out, S("subject"),
                 said->subject.len ? said->subject : letter->message->event_kind);
    if (said->template.len) {
        json_put_str(out, S("template_id"), said->template);
    } else {
        open_member(out, S("content"), '[');
        add_part(out, S("text/plain"), said->text); // must stand first
        add_part(out, S("text/html"), said->html);
        json_close(out, ']');
    }
    open_member(out, S("custom_args"), '{');
    json_put_str(out, S("peal_id"), letter->id);
    json_close(out, '}');
    json_close(out, '}');
}
