#include "store/notice.h"

#include "base/json.h"
#include "store/ring.h"

void notices_add(Notices *notices, Str tenant, int64_t number)
{
    size_t i = 0;
    if (!tenant.at || tenant.len > NOTICE_ID_MAX) {
        notices->has_others = true;
        return;
    }
    while (i < notices->count && !str_eq(str_from(notices->items[i].tenant), tenant))
        i++;
    if (i == NOTICE_TENANTS_MAX) {
        notices->has_others = true;
        return;
    }
    Notice *notice = &notices->items[i];
    if (i == notices->count) {
        *notice = (Notice){ 0 };
        memcpy(notice->tenant, tenant.at, tenant.len);
        notices->count++;
    }
    if (number > notice->number)
        notice->number = number;
}

Instant notices_due(const Notices *notices)
{
    return notices->count > 0 || notices->has_others ? notices->next_at : INSTANT_NONE;
}

static void put(JsonOut *out, const Notice *notice)
{
    json_open(out, '{');
    json_put_str(out, S("tenant"), notice ? str_from(notice->tenant) : STR_NONE);
    if (notice)
        json_put_i64(out, S("number"), notice->number);
    else
        json_put_null(out, S("number"));
    json_close(out, '}');
}

Str notices_take(Notices *notices, Arena *arena, Instant monotonic)
{
    Buf text = buf_new(arena, NOTICE_TEXT_MAX);
    JsonOut out = json_out(&text);
    json_open(&out, '[');
    for (size_t i = 0; i < notices->count; i++)
        put(&out, &notices->items[i]);
    if (notices->has_others)
        put(&out, NULL);
    json_close(&out, ']');
    *notices = (Notices){ .next_at = monotonic + SPAN_SECOND / RINGS_A_SECOND };
    return buf_str(&text);
}

bool notice_is(Str text)
{
    return str_starts(text, S("{"));
}
