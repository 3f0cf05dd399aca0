#include "api/handlers.h"

#include "store/preference.h"

// What recipients want, by address: an application keeps it here, a person looks at it.

static void put_row(const Call *call, JsonOut *json, const PreferenceRow *row)
{
    json_open(json, '{');
    json_put_str(json, S("address"), call_address(call, row->preference.address));
    json_put_raw(json, S("optOut"), json_text(call->arena, row->preference.opt_out));
    json_put_raw(json, S("channel"), json_text(call->arena, row->preference.channel));
    json_put_time(json, S("updatedAt"), row->updated_at);
    json_close(json, '}');
}

static Err put_page(Call *call, Db *db, Error *error)
{
    Walk walk;
    Seen seen;
    PreferenceRow *rows;
    TRY(call_walk(call, &walk, error));
    TRY(preference_page(db, call->arena, call->tenant, &walk, &rows, &seen, error));
    JsonOut *json = page_open(call);
    for (size_t i = 0; i < seen.count; i++)
        put_row(call, json, &rows[i]);
    page_close(call, &seen);
    return ERR_OK;
}

enum { PREFERENCE_ADDRESS };

// clang-format off
const Param preference_params[] = {
    [PREFERENCE_ADDRESS] = { "address", PARAM_TEXT, .max = EVENT_ADDRESS_MAX, .help = "Of this address; needed" },
    { 0 },
};
const Param preference_show_params[] = {
    [PREFERENCE_ADDRESS] = { "address", PARAM_TEXT, .max = EVENT_ADDRESS_MAX, .help = "Of this address alone" },
    { 0 },
};
// clang-format on

Err preference_show(Call *call, Db *db, Error *error)
{
    Str address;
    PreferenceRow row;
    if (!param_text(call, PREFERENCE_ADDRESS, &address))
        return put_page(call, db, error);
    TRY(preference_get(db, call->arena, call->tenant, address, &row, error));
    put_row(call, call_json(call, 200), &row);
    return ERR_OK;
}

static Err tell_kept(Call *call, Error *error)
{
    const PreferenceRow *row = call->with;
    (void) error;
    JsonOut *json = call_json(call, 200);
    json_open(json, '{');
    json_put_str(json, S("address"), row->preference.address);
    json_put_raw(json, S("optOut"),
                 row->preference.opt_out ? json_text(call->arena, row->preference.opt_out)
                                         : S("[]"));
    json_put_raw(json, S("channel"),
                 row->preference.channel ? json_text(call->arena, row->preference.channel)
                                         : S("{}"));
    json_put_time(json, S("updatedAt"), row->updated_at);
    json_close(json, '}');
    return ERR_OK;
}

Err preference_keep(Call *call, Tx *tx, Error *error)
{
    PreferenceRow *row = ARENA_NEW(call->arena, PreferenceRow);
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &preference_shape, &row->preference, error));
    TRY(preference_put(tx, call->tenant, &row->preference, error));
    row->updated_at = tx->now;
    call->with = row;
    call_later(call, tell_kept);
    return ERR_OK;
}

Err preference_drop(Call *call, Tx *tx, Error *error)
{
    Str address = STR_NONE;
    param_text(call, PREFERENCE_ADDRESS, &address);
    TRY(preference_delete(tx, call->tenant, address, error));
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}
