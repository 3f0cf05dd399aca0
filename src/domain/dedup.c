#include "domain/dedup.h"

enum { SEPARATOR = 0x1F };

static void add_value(Buf *text, const Found *found)
{
    switch (found->type) {
    case JSON_ABSENT:
    case JSON_NULL:
        return;
    case JSON_STRING:
        buf_add(text, found_str(found));
        return;
    case JSON_NUMBER:
        buf_add(text, json_number_text(found->json));
        return;
    case JSON_BOOL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        json_write(text, found->json, true);
        return;
    }
}

Sha256 dedup_hash(Arena *scratch, const Str *paths, size_t count, const Event *event,
                  Str template_id)
{
    assert(count >= 1 && count <= DEDUP_PATHS_MAX);
    // A cut text would make two different events equal.
    Buf text = buf_new(scratch, BUF_WHOLE);
    for (size_t i = 0; i < count; i++) {
        Found found = event_find(event, template_id, paths[i]);
        if (i > 0)
            buf_add_char(&text, SEPARATOR);
        buf_add(&text, paths[i]);
        buf_add_char(&text, '=');
        add_value(&text, &found);
    }
    return sha256(buf_str(&text));
}

Sha256 dedup_parts(Arena *scratch, const Str *parts, size_t count)
{
    Buf text = buf_new(scratch, BUF_WHOLE);
    for (size_t i = 0; i < count; i++) {
        buf_add_i64(&text, (int64_t) parts[i].len);
        buf_add_char(&text, ':');
        buf_add(&text, parts[i]);
    }
    return sha256(buf_str(&text));
}

Uuid dedup_key(int64_t scope, const Sha256 *hash)
{
    uint8_t text[sizeof(uint64_t) + sizeof hash->b];
    Uuid key;
    for (size_t i = 0; i < sizeof(uint64_t); i++)
        text[i] = (uint8_t) ((uint64_t) scope >> (56 - 8 * i));
    memcpy(text + sizeof(uint64_t), hash->b, sizeof hash->b);
    Sha256 whole = sha256((Str){ (const char *) text, sizeof text });
    memcpy(key.b, whole.b, sizeof key.b);
    return key;
}

Uuid dedup_identity(Arena *scratch, Str source, Str identity)
{
    Buf text = buf_new(scratch, EVENT_SOURCE_MAX + EVENT_IDENTITY_MAX + 1);
    buf_add(&text, source);
    buf_add_char(&text, 0x1f);
    buf_add(&text, identity);
    Sha256 hash = sha256(buf_str(&text));
    return dedup_key(DEDUP_SCOPE_EVENT, &hash);
}
