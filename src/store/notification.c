#include "store/notification.h"

#include "domain/dedup.h"
#include "store/delivery.h"
#include "store/lane.h"
#include "store/rule.h"

static const Statement holder = {
    .name = "notification_holder",
    .scope = STATEMENT_TENANT,
    .params = "iu",
    .sql = "SELECT holder FROM dedup WHERE tenant = $1 AND key = $2",
};
// Kind 5 is RULE_NOTIFY (store/rule.h).
#define ASKED                                                                                      \
    " JOIN rule r ON r.tenant = d.tenant AND r.rule = d.rule AND r.kind = 5"                       \
    " JOIN event e ON e.tenant = d.tenant AND e.id = d.event"
static const Statement asked_for = {
    .name = "notification_asked",
    .scope = STATEMENT_TENANT,
    .params = "iui",
    .many = true,
    .sql = "SELECT $3, d.lane, r.id, e.payload FROM delivery d" ASKED
           " WHERE d.tenant = $1 AND d.id = $2",
    .postgres = "SELECT s.i, d.lane, r.id, e.payload FROM unnest($1, $2, $3) AS s (tenant, id, i)"
                " JOIN delivery d ON d.tenant = s.tenant AND d.id = s.id" ASKED,
};
static const Statement rename_one = {
    .name = "notification_rename",
    .scope = STATEMENT_TENANT,
    .params = "iuii",
    .sql = "UPDATE delivery SET version = $3, lane = $4 WHERE tenant = $1 AND id = $2",
};

const Statement *const notification_statements[] = { &holder, &asked_for, &rename_one, NULL };

// channel_for is the key of the list's channel of a type, its first where none is said; none where
// it has no such.
static Str channel_for(const Registry *registry, int64_t tenant, const TriggerList *list, Str type)
{
    for (size_t i = 0; i < list->channel_count; i++) {
        const RegistryChannel *channel = registry_channel(registry, tenant, list->channels[i]);
        if (!type.len || (channel && str_eq(channel->definition.type, type)))
            return list->channels[i];
    }
    return STR_NONE;
}

// rule_for is the list that a notification is for, and the lane it goes by. Number and lane are 0
// where they are not known.
static Trigger rule_for(const Registry *registry, Arena *arena, int64_t tenant,
                        const Notification *of)
{
    const RegistryTrigger *known = registry_rule(registry, tenant, RULE_NOTIFY, of->list);
    Trigger rule = { .rule = rule_default(RULE_NOTIFY, of->list) };
    if (known) {
        rule = *registry_compiled(known, arena);
        rule.rule.number = known->rule;
        rule.rule.version = known->version;
    }
    Str channel = channel_for(registry, tenant, &rule.list, of->type);
    rule.enabled = true;
    rule.rule.tenant = tenant;
    rule.channel = channel.at ? channel : LANE_NOWHERE;
    rule.rule.lane = registry_lane_of(registry, tenant, rule.channel);
    return rule;
}

// is_notification: one that is for another rule already (a site hands it on) is left alone.
static bool is_notification(const AcceptItem *item)
{
    if (item->named_count > 0 && item->named[0]->rule.kind != RULE_NOTIFY)
        return false;
    return item->err == ERR_OK && str_eq(item->event.kind, NOTIFICATION_KIND) &&
           str_eq(item->event.source, NOTIFICATION_KIND);
}

// name names the list of one. Neighbours are mostly for the same one, and share it.
static Trigger *name(Accept *accept, AcceptItem *item, const Registry *registry, Trigger *last,
                     Str *last_type)
{
    Notification of = { 0 };
    notification_of(item->event.payload_json, &of);
    Trigger *rule = last;
    if (!last || !str_eq(last->rule.id, of.list) || !str_eq(*last_type, of.type)) {
        rule = ARENA_NEW(accept->arena, Trigger);
        *rule = rule_for(registry, accept->arena, accept->tenant, &of);
    }
    const Trigger **named = ARENA_ARRAY(accept->arena, const Trigger *, 1);
    named[0] = rule;
    item->named = named;
    item->named_count = 1;
    *last_type = of.type;
    return rule;
}

bool notifications_name(Accept *accept, const Registry *registry)
{
    bool is_known = true;
    Trigger *last = NULL;
    Str last_type = STR_NONE;
    for (size_t i = 0; i < accept->count; i++) {
        if (!is_notification(&accept->items[i]))
            continue;
        last = name(accept, &accept->items[i], registry, last, &last_type);
        is_known = is_known && last->rule.number && last->rule.lane;
    }
    return is_known;
}

Err notifications_name_now(Tx *tx, Accept *accept, Error *error)
{
    if (accept->decided == registry_moved(tx->registry, accept->tenant))
        return ERR_OK;
    if (notifications_name(accept, tx->registry))
        return ERR_OK;
    for (size_t i = 0; i < accept->count; i++) {
        const AcceptItem *item = &accept->items[i];
        if (!is_notification(item))
            continue;
        Trigger *rule = (Trigger *) (uintptr_t) item->named[0]; // name() made it
        if (!rule->rule.number || !rule->rule.lane)
            TRY(rule_place(tx, &rule->rule, rule->channel, error));
    }
    return ERR_OK;
}

// rename_delivery names the list of one anew and lets it go by the lane that follows.
static Err rename_delivery(Tx *tx, int64_t tenant, const Value *row, Settle *settle, Error *error)
{
    const Json *payload;
    Notification of = { .list = value_to_str(&row[2]) };
    Error ignored = { 0 };
    if (json_parse(&tx->arena, value_to_str(&row[3]), &payload, &ignored) != ERR_OK)
        return ERR_OK; // it parks again, as unreadable
    of.type = json_str(json_get(payload, S("type")));
    Trigger rule = rule_for(tx->registry, &tx->arena, tenant, &of);
    rule.rule.number = settle->rule;
    if (!rule.rule.lane)
        TRY(rule_place(tx, &rule.rule, rule.channel, error));
    Value args[] = { value_i64(tenant), value_uuid(&settle->id), value_i64(rule.rule.version),
                     value_i64(rule.rule.lane) };
    if (rule.rule.lane != settle->lane) {
        settle->from_lane = settle->lane;
        settle->lane = rule.rule.lane;
    }
    db_send(tx->db, &tx->arena, &rename_one, args, NULL);
    return tx_sync(tx, error);
}

Err notifications_rename(Tx *tx, int64_t tenant, SettleBatch *batch, Error *error)
{
    Rows rows;
    Value *values = ARENA_ARRAY(&tx->arena, Value, batch->count * 3 + 1);
    for (size_t i = 0; i < batch->count; i++) {
        values[i * 3] = value_i64(tenant);
        values[i * 3 + 1] = value_uuid(&batch->rows[i].id);
        values[i * 3 + 2] = value_i64((int64_t) i);
    }
    db_send_many(tx->db, &tx->arena, &asked_for, values, batch->count, &rows);
    TRY(tx_sync(tx, error));
    for (size_t i = 0; i < rows.count; i++) {
        const Value *row = rows_at(&rows, i);
        TRY(rename_delivery(tx, tenant, row, &batch->rows[value_to_i64(&row[0])], error));
    }
    return ERR_OK;
}

Err notification_find(Db *db, Arena *arena, int64_t tenant, Uuid id, Uuid *ret, Error *error)
{
    Rows rows;
    char text[UUID_TEXT_LEN + 1];
    Str identity = uuid_text(id, text);
    Uuid key = dedup_identity(arena, NOTIFICATION_KIND, identity);
    Value args[] = { value_i64(tenant), value_uuid(&key) };
    TRY(db_query(db, arena, &holder, args, &rows, error));
    if (rows.count == 0)
        return fail(error, ERR_NOT_FOUND, "there is no notification %.*s", STR_ARG(identity));
    *ret = delivery_id_of(value_to_uuid(rows.values), 1);
    return ERR_OK;
}
