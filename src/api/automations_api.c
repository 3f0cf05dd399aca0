#include "api/handlers.h"

#include "api/noun.h"
#include "domain/automation.h"

// The schedules of an automation are part of its definition: who changes one of them makes its next
// version.

// put_schedule writes what was given for a schedule, under the name that the path has.
static void put_schedule(const Call *call, JsonOut *out)
{
    json_open(out, '{');
    json_put_str(out, S("name"), call->params[1]);
    for (JsonIter it = json_each(call->body); json_next(&it);)
        if (!str_eq(it.key, S("name")))
            json_put_raw(out, it.key, json_text(call->arena, it.value));
    json_close(out, '}');
}

// change writes the automation with one schedule put, or taken away.
static Err change(Call *call, Tx *tx, bool is_put, Error *error)
{
    Edit edit = { .call = call, .tx = tx };
    bool is_known = false;
    const Json *changes;
    TRY(edit_find(&edit, error));
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_key(&out, S("schedules"));
    json_open(&out, '[');
    for (JsonIter it = json_each(json_get(edit.old, S("schedules"))); json_next(&it);) {
        bool is_it = str_eq(json_str(json_get(it.value, S("name"))), call->params[1]);
        is_known |= is_it;
        if (!is_it)
            json_add_raw(&out, json_text(call->arena, it.value));
    }
    if (is_put)
        put_schedule(call, &out);
    else if (!is_known)
        return fail(error, ERR_NOT_FOUND, "automation %.*s has no schedule %.*s",
                    STR_ARG(call->params[0]), STR_ARG(call->params[1]));
    json_close(&out, ']');
    json_close(&out, '}');
    TRY(json_parse(call->arena, buf_str(&text), &changes, error));
    return definition_change(call, tx, changes, error);
}

static Err check_name(const Call *call, Error *error)
{
    const Json *name = json_get(call->body, S("name"));
    if (!field_is_key(call->params[1]))
        error_add(error, S("/name"), "bad-value", "may have letters, digits and . _ : - only");
    else if (name && !str_eq(json_str(name), call->params[1]))
        error_add(error, S("/name"), "bad-value", "must be as in the path");
    return error_close(error, ERR_AUTOMATION_INVALID);
}

Err automation_schedule_put(Call *call, Tx *tx, Error *error)
{
    TRY(call_body(call, error));
    TRY(automation_check_schedule(call->arena, call->body, error));
    TRY(check_name(call, error));
    return change(call, tx, true, error);
}

static Err tell_gone(Call *call, Error *error)
{
    (void) error;
    call->reply = (Reply){ .status = 204 };
    return ERR_OK;
}

Err automation_schedule_delete(Call *call, Tx *tx, Error *error)
{
    TRY(change(call, tx, false, error));
    call_later(call, tell_gone);
    return ERR_OK;
}
