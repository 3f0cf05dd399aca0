#include "api/handlers.h"

#include "base/time.h"
#include "base/zone.h"
#include "domain/channel.h"
#include "domain/cron.h"
#include "store/outlook.h"

// The calendar of promises. A day has 24 hours, which are those that clocks show: the one that is
// shown twice when they are set back counts for both, the one that is skipped has nothing.

enum { PLAN_FROM, PLAN_TO, PLAN_ZONE, PLAN_CHANNEL, PLAN_TRIGGER, PLAN_ENTITY };
enum { HOURS = 24, PLAN_DAYS = 14, PLAN_DAYS_MAX = 62, PLAN_CHANNELS_MAX = 50 };
enum { PEAK_SAMPLED_MIN = 12 }; // fewer would be chance

// clang-format off
const Param plan_params[] = {
    [PLAN_FROM]    = { "from",    PARAM_TIME, .help = "Due at this time or later; else from now on" },
    [PLAN_TO]      = { "to",      PARAM_TIME, .help = "Due before this time; else 14 days later. At most 62 days" },
    [PLAN_ZONE]    = { "zone",    PARAM_TEXT, .max = ZONE_NAME_MAX, .help = "Whose days and hours these are, such as Europe/Berlin; else UTC" },
    [PLAN_CHANNEL] = { "channel", PARAM_TEXT, .max = CHANNEL_KEY_MAX, .help = "Sent on this channel" },
    [PLAN_TRIGGER] = { "trigger", PARAM_TEXT, .max = TRIGGER_ID_MAX, .help = "Made by this trigger" },
    [PLAN_ENTITY]  = { "entity",  PARAM_TEXT, .max = EVENT_ENTITY_MAX, .help = "About this entity" },
    { 0 },
};
// clang-format on

typedef struct DayLane {
    int64_t lane; // 0: all others
    int64_t count, peak;
    Instant peak_at;
} DayLane;

typedef struct Day {
    int64_t day;      // since 1970
    bool is_estimate; // from some moment of it on
    int64_t count;
    int64_t hours[HOURS];
    DayLane *lanes;
    size_t lane_count, room;
} Day;

static Err read_asked(const Call *call, OutlookAsked *ret, const Zone **ret_zone, Error *error)
{
    Str zone = STR_NONE;
    *ret = (OutlookAsked){ .tenant = call->tenant, .from = clock_now(call->api->clock) };
    *ret_zone = zone_utc;
    param_time(call, PLAN_FROM, &ret->from);
    ret->to = ret->from + PLAN_DAYS * SPAN_DAY;
    param_time(call, PLAN_TO, &ret->to);
    param_text(call, PLAN_CHANNEL, &ret->channel);
    param_text(call, PLAN_TRIGGER, &ret->trigger);
    param_text(call, PLAN_ENTITY, &ret->entity);
    if (param_text(call, PLAN_ZONE, &zone))
        TRY(cron_note_zone(zone, S("/zone"), ret_zone, error));
    if (ret->from >= ret->to)
        error_add(error, S("/from"), "bad-value", "must be before to");
    else if (ret->to - ret->from > PLAN_DAYS_MAX * SPAN_DAY)
        error_add(error, S("/to"), "bad-value", "must be at most 62 days after from");
    return error_close(error, ERR_INVALID);
}

static Instant wall_of(const Zone *zone, Instant at)
{
    return at + zone_period(zone, at).offset;
}

static int64_t day_of(const Zone *zone, Instant at)
{
    Instant wall = wall_of(zone, at);
    return wall >= 0 ? wall / SPAN_DAY : (wall - SPAN_DAY + 1) / SPAN_DAY;
}

// lane_of_day: slots come lane by lane, so a lane is the last of its day or a new one.
static DayLane *lane_of_day(Arena *arena, Day *day, int64_t lane)
{
    if (day->lane_count > 0 && day->lanes[day->lane_count - 1].lane == lane)
        return &day->lanes[day->lane_count - 1];
    if (day->lane_count == day->room) {
        size_t room = day->room ? day->room * 2 : 4;
        DayLane *lanes = ARENA_ARRAY(arena, DayLane, room);
        if (day->lane_count)
            memcpy(lanes, day->lanes, day->lane_count * sizeof *lanes);
        day->lanes = lanes;
        day->room = room;
    }
    day->lanes[day->lane_count] = (DayLane){ .lane = lane };
    return &day->lanes[day->lane_count++];
}

static void add_slot(Arena *arena, const Zone *zone, Day *days, const OutlookSlot *slot,
                     Instant from)
{
    Instant at = later(slot->minute, from); // the first minute may have begun before
    Day *day = &days[day_of(zone, at) - days[0].day];
    DayLane *lane = lane_of_day(arena, day, slot->lane);
    Instant wall = wall_of(zone, at);
    day->count += slot->n;
    day->hours[(wall - day->day * SPAN_DAY) / SPAN_HOUR] += slot->n;
    lane->count += slot->n;
    bool is_sure = slot->sampled == 0 || slot->sampled >= PEAK_SAMPLED_MIN;
    if (is_sure && slot->n > lane->peak) {
        lane->peak = slot->n;
        lane->peak_at = slot->minute;
    }
}

static int by_count(const void *a, const void *b)
{
    const DayLane *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

// rank puts the channels with the most first, and all beyond the limit into one.
static void rank(Day *day)
{
    if (day->lane_count > 0)
        qsort(day->lanes, day->lane_count, sizeof *day->lanes, by_count);
    if (day->lane_count <= PLAN_CHANNELS_MAX)
        return;
    DayLane rest = { 0 };
    for (size_t i = PLAN_CHANNELS_MAX; i < day->lane_count; i++)
        rest.count += day->lanes[i].count;
    day->lanes[PLAN_CHANNELS_MAX] = rest;
    day->lane_count = PLAN_CHANNELS_MAX + 1;
}

// put_peak tells of the minute with the most, and how long that takes at the channel's rate.
static void put_peak(Call *call, JsonOut *json, const DayLane *lane,
                     const ChannelDefinition *channel)
{
    json_key(json, S("peak"));
    if (lane->peak == 0) {
        json_add_null(json);
        return;
    }
    Str lasts = STR_NONE;
    if (channel && channel->rate_max > 0) {
        Span span = lane->peak * channel->rate_per / channel->rate_max;
        span += (SPAN_SECOND - span % SPAN_SECOND) % SPAN_SECOND;
        lasts = duration_text(call->arena, span);
    }
    json_open(json, '{');
    json_put_time(json, S("at"), lane->peak_at);
    json_put_i64(json, S("count"), lane->peak);
    json_put_str(json, S("lasts"), lasts);
    json_close(json, '}');
}

static void put_limit(JsonOut *json, const ChannelDefinition *channel)
{
    char text[32];
    json_key(json, S("limitPerSecond"));
    if (!channel || channel->rate_max == 0) {
        json_add_null(json);
        return;
    }
    double per_second = (double) channel->rate_max * SPAN_SECOND / (double) channel->rate_per;
    snprintf(text, sizeof text, "%.6g", per_second);
    json_add_raw(json, str_from(text));
}

static void put_lane(Call *call, JsonOut *json, const DayLane *lane)
{
    const RegistryLane *way = registry_lane(call->registry, lane->lane);
    const ChannelDefinition *channel = way && way->channel ? &way->channel->definition : NULL;
    json_open(json, '{');
    json_put_str(json, S("channel"), way && way->channel_key.len ? way->channel_key : S("other"));
    json_put_i64(json, S("count"), lane->count);
    put_limit(json, channel);
    put_peak(call, json, lane, channel);
    json_close(json, '}');
}

static void put_day(Call *call, JsonOut *json, Day *day)
{
    Date date = time_date(day->day);
    rank(day);
    json_open(json, '{');
    json_put_str(json, S("day"),
                 str_format(call->arena, "%04d-%02d-%02d", date.year, date.month, date.day));
    json_put_i64(json, S("count"), day->count);
    json_put_bool(json, S("isEstimate"), day->is_estimate);
    json_key(json, S("hours"));
    json_open(json, '[');
    for (size_t i = 0; i < HOURS; i++)
        json_add_i64(json, day->hours[i]);
    json_close(json, ']');
    json_key(json, S("channels"));
    json_open(json, '[');
    for (size_t i = 0; i < day->lane_count; i++)
        put_lane(call, json, &day->lanes[i]);
    json_close(json, ']');
    json_close(json, '}');
}

Err plan_get(Call *call, Db *db, Error *error)
{
    OutlookAsked asked;
    const Zone *zone;
    Outlook outlook;
    TRY(read_asked(call, &asked, &zone, error));
    TRY(outlook_read(db, call->arena, &asked, &outlook, error));
    int64_t first = day_of(zone, asked.from);
    size_t count = (size_t) (day_of(zone, asked.to - 1) - first + 1);
    Day *days = ARENA_ARRAY(call->arena, Day, count);
    for (size_t i = 0; i < count; i++)
        days[i] = (Day){ .day = first + (int64_t) i,
                         .is_estimate = outlook.is_estimate &&
                                        first + (int64_t) i >= day_of(zone, outlook.until) };
    for (size_t i = 0; i < outlook.count; i++)
        add_slot(call->arena, zone, days, &outlook.slots[i], asked.from);
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("zone"), zone_name(zone));
    json_put_time(json, S("from"), asked.from);
    json_put_time(json, S("to"), asked.to);
    json_key(json, S("days"));
    json_open(json, '[');
    for (size_t i = 0; i < count; i++)
        put_day(call, json, &days[i]);
    json_close(json, ']');
    json_put_bool(json, S("isPartial"), outlook.is_partial);
    json_put_time(json, S("countedUntil"), outlook.until);
    json_close(json, '}');
    return ERR_OK;
}
