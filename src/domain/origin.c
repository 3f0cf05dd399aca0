#include "domain/origin.h"

#include "base/time.h"

// clang-format off
static const Field fields[] = {
    { "set",  FIELD_TEXT, FIELD_SHOWN | FIELD_NEEDED, .max = ORIGIN_SET_MAX, .help = "of files that it belongs to" },
    { "file", FIELD_TEXT, FIELD_SHOWN, .max = ORIGIN_FILE_MAX },
    { "by",   FIELD_ID,   FIELD_SHOWN | FIELD_NEEDED, .help = "the key that it was applied with" },
    { "at",   FIELD_TIME, FIELD_SHOWN | FIELD_NEEDED },
    { "version", FIELD_COUNT, FIELD_SHOWN | FIELD_NEEDED, .help = "that it had then" },
    { "drifted", FIELD_BOOL, FIELD_SHOWN | FIELD_NEEDED, .help = "it was changed otherwise since" },
};
// clang-format on
const Shape origin_shape = { "Origin", SHAPE_ROWS(fields) };

static void put_members(JsonOut *out, const DefinitionOrigin *origin)
{
    json_put_str(out, S("set"), origin->set);
    if (origin->file.at)
        json_put_str(out, S("file"), origin->file);
    json_put_id(out, S("by"), origin->by);
    json_put_time(out, S("at"), origin->at);
    json_put_i64(out, S("version"), origin->version);
}

Str origin_text(Arena *arena, const DefinitionOrigin *origin)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    put_members(&out, origin);
    json_close(&out, '}');
    return buf_str(&text);
}

bool origin_parse(Arena *arena, Str stored, DefinitionOrigin *ret)
{
    const Json *json;
    if (!stored.at || json_parse(arena, stored, &json, NULL) != ERR_OK)
        return false;
    DefinitionOrigin origin = { .set = json_str(json_get(json, S("set"))),
                                .file = json_str(json_get(json, S("file"))) };
    bool is_whole = origin.set.at && uuid_parse(json_str(json_get(json, S("by"))), &origin.by) &&
                    time_parse(json_str(json_get(json, S("at"))), &origin.at) &&
                    json_i64(json_get(json, S("version")), &origin.version);
    if (is_whole)
        *ret = origin;
    return is_whole;
}

bool origin_has_drifted(const DefinitionOrigin *origin, int64_t version)
{
    return origin->version != version;
}

void origin_put(JsonOut *out, Arena *arena, Str stored, int64_t version)
{
    DefinitionOrigin origin;
    if (!origin_parse(arena, stored, &origin))
        return;
    json_key(out, S("origin"));
    json_open(out, '{');
    put_members(out, &origin);
    json_put_bool(out, S("drifted"), origin_has_drifted(&origin, version));
    json_close(out, '}');
}
