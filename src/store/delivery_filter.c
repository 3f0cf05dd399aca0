#include "domain/cause.h"
#include "domain/channel.h"
#include "domain/members.h"
#include "domain/trigger.h"
#include "store/delivery.h"
#include "store/site.h"

// A filter of deliveries as JSON says it: what the query of their list can say, an operation's
// filter can say too, by the same names, and name the deliveries themselves.

DeliveryFilter delivery_filter_any(void)
{
    return (DeliveryFilter){ .stuck_before = INSTANT_NONE, .to = INSTANT_NONE };
}

static const char *const state_words[] = {
#define STATE_WORD(name, text, ...) (text),
    DELIVERY_STATE_TABLE(STATE_WORD)
#undef STATE_WORD
        NULL,
};

static const Field id_row = { NULL, FIELD_ID };

// clang-format off
#define AT(member) 0, offsetof(DeliveryFilter, member)
static const Field filter_rows[] = {
    { "state",   FIELD_WORD, AT(state),   .given = offsetof(DeliveryFilter, has_state), .words = state_words, .noun = "a state" },
    { "trigger", FIELD_TEXT, AT(trigger), .max = TRIGGER_ID_MAX },
    { "list",    FIELD_TEXT, AT(list),    .max = TRIGGER_ID_MAX },
    { "job",     FIELD_TEXT, AT(job),     .max = TRIGGER_ID_MAX },
    { "channel", FIELD_TEXT, AT(channel), .max = CHANNEL_KEY_MAX },
    { "event",   FIELD_ID,   AT(event),   .given = offsetof(DeliveryFilter, has_event) },
    { "entity",  FIELD_TEXT, AT(entity),  .max = EVENT_ENTITY_MAX },
    { "cause",   FIELD_TEXT, AT(cause),   .max = CAUSE_TEXT_LEN, .help = "As /v1/causes told it" },
    { "site",    FIELD_TEXT, AT(site),    .max = SITE_NAME_MAX },
    { "from",    FIELD_TIME, AT(from) },
    { "to",      FIELD_TIME, AT(to) },
    { "q",       FIELD_TEXT, AT(q),       .max = DELIVERY_QUERY_MAX },
    { "stuck",   FIELD_BOOL, AT(is_stuck) },
    { "ids",     FIELD_LIST, AT(ids),     .count = offsetof(DeliveryFilter, id_count), .min = 1, .max = DELIVERY_IDS_MAX, .of = &id_row },
};
// clang-format on
#undef AT

static void check_cause(const Members *members, void *value)
{
    const DeliveryFilter *filter = value;
    int64_t cause;
    if (filter && filter->cause.at && !cause_parse(filter->cause, &cause))
        members_note(members, S("cause"), "bad-value", "must be a cause that /v1/causes told");
}

const Shape delivery_filter_shape = {
    .name = "DeliveryFilter",
    SHAPE_ROWS(filter_rows),
    .size = sizeof(DeliveryFilter),
    .check = check_cause,
};

Err delivery_filter_read(Arena *arena, const Json *source, Str pointer, DeliveryFilter *ret,
                         Error *error)
{
    DeliveryFilter filter = delivery_filter_any();
    TRY(fields_read(arena, source, pointer, &delivery_filter_shape, &filter, error));
    *ret = filter;
    return ERR_OK;
}
