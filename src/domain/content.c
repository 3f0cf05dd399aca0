#include "domain/content.h"

bool content_is_empty(const Content *content)
{
    return !content->text.len && !content->html.len && !content->template.len;
}

Str content_line(Arena *arena, Str text)
{
    if (!text.len)
        return STR_NONE;
    Buf line = buf_new(arena, text.len);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char) text.at[i];
        buf_add_char(&line, c < 0x20 || c == 0x7f ? ' ' : text.at[i]);
    }
    return buf_str(&line);
}

// text_of is a string, or a number as its text; none for anything else.
static Str text_of(const Json *value)
{
    return json_type(value) == JSON_NUMBER ? json_number_text(value) : json_str(value);
}

static void take_params(Arena *arena, const Json *given, Content *ret)
{
    ContentParam *params = ARENA_ARRAY(arena, ContentParam, CONTENT_PARAMS_MAX);
    for (JsonIter it = json_each(given); ret->param_count < CONTENT_PARAMS_MAX && json_next(&it);)
        params[ret->param_count++] = (ContentParam){ .name = it.key, .value = text_of(it.value) };
    ret->params = params;
}

Content content_of_payload(Arena *arena, const Json *payload, Str url)
{
    const Json *data = json_get(payload, S("typeData"));
    Content content = { .subject = content_line(arena, json_str(json_get(payload, S("subject")))),
                        .text = json_str(json_get(payload, S("body"))),
                        .html = json_str(json_get(data, S("html"))),
                        .template = json_str(json_get(data, S("template"))) };
    const Json *params = json_get(data, S("params"));
    if (params)
        take_params(arena, params, &content);
    if (content_is_empty(&content))
        content.text = url;
    return content;
}

static void put_params(JsonOut *out, const Content *content)
{
    bool has_names = content->param_count > 0 && content->params[0].name.at;
    json_key(out, S("params"));
    json_open(out, has_names ? '{' : '[');
    for (size_t i = 0; i < content->param_count; i++) {
        if (has_names)
            json_key(out, content->params[i].name);
        json_add_str(out, content->params[i].value);
    }
    json_close(out, has_names ? '}' : ']');
}

void content_put_provider(JsonOut *out, const Content *content)
{
    json_key(out, S("provider"));
    json_open(out, '{');
    json_put_str(out, S("template"), content->template);
    put_params(out, content);
    json_close(out, '}');
}
