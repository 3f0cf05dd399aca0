#include "api/handlers.h"

#include "api/noun.h"
#include "api/shapes.h"
#include "base/crypto.h"

// A secret gets another value. It is a patch of one member, but that the last value of a signing
// secret stays good for a while: whoever verifies may change over in peace.

enum { MADE_BYTES = 32 };
#define OVERLAP_USUAL SPAN_DAY

static Err check_secret(const Edit *edit, RotateBody *body, Error *error);
static Str make_value(Call *call, Tx *tx);
static Err changes_of(const Call *call, const RotateBody *body, const Json **ret, Error *error);
static void tell_of_value(const Call *call, Str secret, Error *error);
static Err answer(Call *call, const Definition *row, const RotateBody *body, bool is_made,
                  Error *error);

Err channel_rotate(Call *call, Tx *tx, Error *error)
{
    Edit edit = edit_of(call, tx);
    RotateBody body = { .overlap = OVERLAP_USUAL };
    const Json *changes, *given;
    Definition row;
    TRY(call_body(call, error));
    TRY(fields_read(call->arena, call->body, S(""), &rotate_body_shape, &body, error));
    TRY(edit_find(&edit, error));
    TRY(check_secret(&edit, &body, error));
    bool is_made = !body.value.at;
    if (is_made)
        body.value = make_value(call, tx);
    edit.overlap = body.overlap;
    TRY(changes_of(call, &body, &changes, error));
    TRY(edit_patch(&edit, changes, &given, error));
    Err err = edit_save(&edit, given, false, true, &row, error);
    if (err != ERR_OK)
        tell_of_value(call, body.secret, error);
    TRY(err);
    return answer(call, &row, &body, is_made, error);
}

// check_secret: what is rotated must be a secret, and only what is verified by others overlaps.
// What a provider gave out, Peal cannot make up.
static Err check_secret(const Edit *edit, RotateBody *body, Error *error)
{
    const Call *call = edit->call;
    const Shape *shape;
    TRY(noun_of(call->route->definition)->find_shape(call->arena, edit->old, &shape, error));
    const Field *field = fields_find(shape, body->secret);
    Members members = members_open(call->body, S(""), error);
    if (!field || !(field->flags & FIELD_SECRET) || field->kind == FIELD_MAP)
        members_note(&members, S("secret"), "bad-value", "is no secret of this channel's type");
    else if (field->flags & FIELD_OVERLAPS)
        return ERR_OK;
    else if (!body->value.at)
        members_missing(&members, "value");
    if (field && body->has_overlap)
        members_note(&members, S("overlap"), "bad-value",
                     "is for signing secrets: of this one, only one value can be sent");
    body->overlap = 0;
    return members_close(&members, ERR_CHANNEL_INVALID);
}

static Str make_value(Call *call, Tx *tx)
{
    char bytes[MADE_BYTES];
    random_fill(tx->random, bytes, sizeof bytes);
    Str text = base64_text(call->arena, (Str){ bytes, sizeof bytes });
    crypto_wipe(bytes, sizeof bytes);
    return str_format(call->arena, "whsec_%.*s", STR_ARG(text));
}

static Err changes_of(const Call *call, const RotateBody *body, const Json **ret, Error *error)
{
    Buf text = buf_new(call->arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_key(&out, S("config"));
    json_open(&out, '{');
    json_put_str(&out, body->secret, body->value);
    json_close(&out, '}');
    json_close(&out, '}');
    return json_parse(call->arena, buf_str(&text), ret, error);
}

// tell_of_value: what is wrong with the secret is wrong with the value that was given for it.
static void tell_of_value(const Call *call, Str secret, Error *error)
{
    Str place = str_format(call->arena, "/config/%.*s", STR_ARG(secret));
    for (size_t i = 0; i < error->count && i < ERROR_PROBLEMS_MAX; i++) {
        Str rest = error->problems[i].path;
        if (str_starts(rest, place))
            error->problems[i].path =
                str_format(call->arena, "/value%.*s", STR_ARG(str_skip(rest, place.len)));
    }
}

// Rotated is what there is to tell.
typedef struct Rotated {
    Str key, secret, value; // value: none where the caller gave it
    int64_t version;
    const Json *stored;
} Rotated;

static Err tell(Call *call, Error *error)
{
    const Rotated *rotated = call->with;
    JsonOut *out = call_json(call, 200);
    (void) error;
    if (rotated->value.at)
        call_secret(call);
    json_open(out, '{');
    json_put_str(out, S("key"), rotated->key);
    json_put_str(out, S("secret"), rotated->secret);
    if (rotated->value.at)
        json_put_str(out, S("value"), rotated->value);
    json_put_i64(out, S("version"), rotated->version);
    json_put_str(out, S("rotatedAt"), json_str(json_get(rotated->stored, S("rotatedAt"))));
    json_put_str(out, S("previousUntil"),
                 json_str(json_get(json_get(rotated->stored, S("previous")), S("until"))));
    json_close(out, '}');
    return ERR_OK;
}

static Err answer(Call *call, const Definition *row, const RotateBody *body, bool is_made,
                  Error *error)
{
    Rotated *rotated = ARENA_NEW(call->arena, Rotated);
    const Json *stored;
    TRY(json_parse(call->arena, row->body, &stored, error));
    *rotated = (Rotated){ .key = str_dup(call->arena, row->id),
                          .secret = body->secret,
                          .value = is_made ? body->value : STR_NONE,
                          .version = row->version,
                          .stored = json_get(json_get(stored, S("config")), body->secret) };
    call->with = rotated;
    call_later(call, tell);
    return ERR_OK;
}
