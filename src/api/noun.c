#include "api/noun.h"

#include "api/handlers.h"
#include "api/surveys.h"
#include "api/trigger_events.h"
#include "channels/channel.h"
#include "channels/exec.h"
#include "domain/job.h"
#include "domain/source.h"
#include "net/url.h"
#include "providers/provider.h"
#include "store/definition.h"
#include "store/handler.h"
#include "store/handover.h"
#include "store/health.h"
#include "store/integration.h"
#include "store/lane.h"
#include "store/list.h"
#include "store/poll_group.h"
#include "store/schedule.h"
#include "store/survey.h"
#include "store/tenant.h"

void edit_warn(Edit *edit, Str placeholder, Str message)
{
    Arena *arena = edit->call->arena;
    size_t count = edit->warning_count, size = sizeof(EditWarning);
    EditWarning *warnings = ARENA_ARRAY(arena, EditWarning, count + 1);
    if (count > 0)
        memcpy(warnings, edit->warnings, count * size);
    warnings[count] = (EditWarning){ placeholder, message };
    edit->warnings = warnings;
    edit->warning_count = count + 1;
}

Err edit_warn_of_missing(Edit *edit, const DefinitionKind *kind, Str id, Error *error)
{
    Definition found;
    Error missing = { 0 };
    Err err = definition_get(edit->tx->db, &edit->tx->arena, edit->call->tenant,
                             str_from(kind->kind), id, &found, &missing);
    if (err == ERR_NOT_FOUND)
        edit_warn(
            edit, STR_NONE,
            str_format(edit->call->arena, "%s %.*s does not exist yet", kind->kind, STR_ARG(id)));
    else if (err != ERR_OK)
        return fail(error, err, "%s", missing.detail);
    return ERR_OK;
}

// touch_polls tells of a trigger that polls, as it was or as it is; NULL: there is none.
static void touch_polls(Tx *tx, int64_t tenant, const Trigger *trigger)
{
    if (trigger && trigger_polls(trigger))
        poll_groups_touch(tx, tenant, trigger->feed.type->provider, trigger->feed.integration);
}

// last_of is a trigger as it stood before this transaction; NULL: there was none.
static const Trigger *last_of(Tx *tx, int64_t tenant, Str id)
{
    const RegistryTrigger *last = registry_rule(tx->registry, tenant, RULE_TRIGGER, id);
    return last ? registry_compiled(last, &tx->arena) : NULL;
}

static Err refuse_owned(Str survey, Error *error)
{
    return fail(error, ERR_CONFLICT,
                "the trigger belongs to survey %.*s: edit that, and publish it", STR_ARG(survey));
}

// refuse_surveys refuses to change a trigger that stands there and is a survey's.
static Err refuse_surveys(Tx *tx, int64_t tenant, Str id, Error *error)
{
    Str survey;
    TRY(survey_owner(tx, tenant, id, &survey, error));
    return survey.at ? refuse_owned(survey, error) : ERR_OK;
}

// may_save_trigger refuses to poll whom nobody can ask, and what is a survey's.
static Err may_save_trigger(const Edit *edit, Error *error)
{
    ProviderName name;
    Str given = survey_owns(edit->body);
    if (given.at)
        return refuse_owned(given, error);
    Str owner = survey_owns(edit->old);
    if (owner.at)
        return refuse_owned(owner, error);
    if (!edit->is_known)
        TRY(refuse_surveys(edit->tx, edit->call->tenant, json_str(json_get(edit->body, S("id"))),
                           error));
    Str provider = json_str(json_get(edit->body, S("provider")));
    if (!str_eq(json_str(json_get(edit->body, S("way"))), S("polling")) ||
        !provider_name_parse(provider, &name))
        return ERR_OK;
    const Provider *of = provider_of(name);
    if (of && of->ways & PROVIDER_POLLING)
        return ERR_OK;
    error_add(error, S("/way"), "bad-value", "%.*s is not polled", STR_ARG(provider));
    return error_close(error, ERR_TRIGGER_INVALID);
}

static Err may_delete_trigger(const Call *call, Tx *tx, Str id, Error *error)
{
    return refuse_surveys(tx, call->tenant, id, error);
}

static Err hide_trigger(Tx *tx, int64_t tenant, Str id, Error *error)
{
    (void) error;
    touch_polls(tx, tenant, last_of(tx, tenant, id));
    return ERR_OK;
}

// warn_of_feed warns of a source or an integration whose events a trigger waits for in vain.
static Err warn_of_feed(Edit *edit, Error *error)
{
    Str source = json_str(json_get(edit->body, S("source")));
    Str integration = json_str(json_get(edit->body, S("integration")));
    if (source.at && !str_eq(source, S("poll"))) // which is nobody's: what was polled has it
        TRY(edit_warn_of_missing(edit, &definition_source, source, error));
    if (integration.at)
        TRY(edit_warn_of_missing(edit, &definition_integration, integration, error));
    return ERR_OK;
}

static Err touch_trigger(Edit *edit, Error *error)
{
    Trigger trigger;
    Str id = json_str(json_get(edit->body, S("id")));
    TRY(warn_of_feed(edit, error));
    TRY(trigger_compile(&edit->tx->arena, edit->body, &trigger, error));
    touch_polls(edit->tx, edit->call->tenant, last_of(edit->tx, edit->call->tenant, id));
    touch_polls(edit->tx, edit->call->tenant, &trigger);
    Str channel = json_str(json_get(edit->body, S("channel")));
    Str automation = json_str(json_get(edit->body, S("automation")));
    if (automation.at) {
        TRY(handover_trigger(edit->tx, edit->call->tenant, id, automation, error));
        return edit_warn_of_missing(edit, &definition_automation, automation, error);
    }
    TRY(lane_ensure(edit->tx, edit->call->tenant, channel, error));
    return edit_warn_of_missing(edit, &definition_channel, channel, error);
}

// may_save_job refuses a payload that no event may have.
static Err may_save_job(const Edit *edit, Error *error)
{
    const Json *payload = json_get(edit->body, S("payload"));
    size_t max = edit->call->api->payload_max;
    if (!payload || json_text(edit->call->arena, payload).len <= max)
        return ERR_OK;
    error_add(error, S("/payload"), "too-large", "may have %zu bytes", max);
    return error_close(error, edit->kind->shape->invalid);
}

// warn_of_schedules tells what an expression may not have been meant to say.
static void warn_of_schedules(Edit *edit, const Job *job)
{
    for (size_t i = 0; i < job->schedule_count; i++) {
        const JobSchedule *schedule = &job->schedules[i];
        const char *warning = cron_warning(&schedule->cron);
        if (warning)
            edit_warn(edit, STR_NONE, str_from(warning));
        if (cron_next(&schedule->cron, schedule->zone, edit->tx->now, false) == INSTANT_NONE)
            edit_warn(edit, STR_NONE, S("the cron expression is never due"));
    }
}

// touch_run has the schedules of a job or automation follow, once its handler has a lane.
static Err touch_run(Edit *edit, RuleKind kind, Error *error)
{
    Trigger rule;
    Arena *arena = edit->call->arena;
    TRY(rule_parse(kind, arena, json_text(arena, edit->body), &rule, error));
    TRY(lane_ensure(edit->tx, edit->call->tenant, rule.channel, error));
    TRY(schedule_follow(edit->tx, edit->call->tenant, &rule, error));
    TRY(handover_all(edit->tx, edit->call->tenant, &rule, error));
    if (!edit->old)
        TRY(handler_is_there(edit->tx, edit->call->tenant, LANE_NOWHERE, rule.rule.id, error));
    warn_of_schedules(edit, rule.job);
    return edit_warn_of_missing(edit, &definition_channel, rule.channel, error);
}

static Err touch_job(Edit *edit, Error *error)
{
    return touch_run(edit, RULE_JOB, error);
}

static Err touch_automation(Edit *edit, Error *error)
{
    return touch_run(edit, RULE_AUTOMATION, error);
}

static Err hide_automation(Tx *tx, int64_t tenant, Str id, Error *error)
{
    return schedule_retire(tx, tenant, RULE_AUTOMATION, id, error);
}

static Err hide_job(Tx *tx, int64_t tenant, Str id, Error *error)
{
    return schedule_retire(tx, tenant, RULE_JOB, id, error);
}

static Err touch_list(Edit *edit, Error *error)
{
    const Json *channels = json_get(edit->body, S("channels"));
    for (JsonIter it = json_each(channels); json_next(&it);) {
        TRY(lane_ensure(edit->tx, edit->call->tenant, json_str(it.value), error));
        TRY(edit_warn_of_missing(edit, &definition_channel, json_str(it.value), error));
    }
    return list_save(edit, error);
}

static Err touch_channel(Edit *edit, Error *error)
{
    Str key = json_str(json_get(edit->body, S("key")));
    // It is tried at once, whatever the far side asked of the one before; nodes hear of it by its
    // version.
    if (edit->is_changed)
        health_lift(edit->tx, edit->call->tenant, key);
    if (!edit->old)
        TRY(handler_is_there(edit->tx, edit->call->tenant, key, STR_NONE, error));
    return lane_ensure(edit->tx, edit->call->tenant, key, error);
}

static const ChannelType *type_of(const Json *body)
{
    return channel_type_find(json_str(json_get(body, S("type"))));
}

static Err find_config(Arena *arena, const Json *body, const Shape **ret, Error *error)
{
    const ChannelType *type = type_of(body);
    if (type && type->carrier == CARRIER_PULLED && json_bool(json_get(body, S("ordered")))) {
        error_add(error, S("/ordered"), "bad-value",
                  "workers take several at once: who pulls sees to their order");
        return error_close(error, ERR_CHANNEL_INVALID);
    }
    if (type) {
        *ret = type->config;
        return ERR_OK;
    }
    Buf known = buf_new(arena, 300);
    for (size_t i = 0; channel_type_at(i); i++)
        buf_add_format(&known, "%s%s", i ? ", " : "", channel_type_at(i)->type);
    error_add(error, S("/type"), "unknown-type",
              "\"%.*s\" is not a type of channel; use one of %.*s",
              STR_ARG(json_str(json_get(body, S("type")))), STR_ARG(buf_str(&known)));
    return error_close(error, ERR_CHANNEL_INVALID);
}

// has_channel_moved: to another type, scheme, host or port.
static bool has_channel_moved(const Json *body, const Json *old)
{
    const ChannelType *type = type_of(body);
    if (type != type_of(old))
        return true;
    Str url = str_from(type->url), config = S("config");
    Str to = json_str(json_get(json_get(body, config), url));
    Str from = json_str(json_get(json_get(old, config), url));
    // Where neither says, both go to the provider itself.
    return url.at && (to.at || from.at) && !url_same_origin(to, from);
}

// is_switched_off: one that stands already is no longer to be used, whatever has become of it.
static bool is_switched_off(const Edit *edit)
{
    const Json *enabled = json_get(edit->body, S("enabled"));
    return edit->old && json_type(enabled) == JSON_BOOL && !json_bool(enabled);
}

// may_save_channel refuses to let others than the operator choose what runs on this machine, and a
// command that is not there.
static Err may_save_channel(const Edit *edit, Error *error)
{
    const Call *call = edit->call;
    Error missing = { 0 };
    Str path;
    if (type_of(edit->body) != &channel_exec)
        return ERR_OK;
    if (!call->key->is_system)
        return fail(error, ERR_FORBIDDEN, "an exec channel is made with the system right");
    if (is_switched_off(edit) || call->api->is_private)
        return ERR_OK;
    const Json *command = json_get(json_get(edit->body, S("config")), S("command"));
    Str name = json_str(json_type(command) == JSON_ARRAY ? json_at(command, 0) : command);
    if (exec_find(call->arena, call->api->exec_folder, name, &path, &missing) == ERR_OK)
        return ERR_OK;
    error_add(error, call->api->exec_folder.at ? S("/config/command") : S("/type"), "bad-command",
              "%s", missing.detail);
    return error_close(error, ERR_CHANNEL_INVALID);
}

static Str warn_of_wait(Call *call, Str key)
{
    const RegistryChannel *channel = registry_channel(call->registry, call->tenant, key);
    return channel && channel->is_sealed ? registry_wait(call->arena, channel) : STR_NONE;
}

static Err may_delete_channel(const Call *call, Tx *tx, Str key, Error *error)
{
    (void) call;
    (void) tx;
    if (str_eq(key, CHANNEL_ALWAYS))
        return fail(error, ERR_CONFLICT, "memory:default always exists");
    return ERR_OK;
}

static const NounUsual job_usual[] = {
    { "cron", "null" },
    { "zone", "\"UTC\"" },
    { "payload", "{}" },
    { "maxRetries", "3" },
    { "missed", "\"once\"" },
    { "overlap", "\"skip\"" },
    { 0 },
};
_Static_assert(JOB_RETRIES == 3, "job_usual tells it");

static const Noun nouns[] = {
    {
        .kind = &definition_list,
        .touch = touch_list,
        .hide = list_retire,
        .look_at = list_look,
        .put = list_put_targets,
    },
    {
        .kind = &definition_source,
        .secrets = "config",
        .find_shape = find_source_config,
        .has_moved = has_source_moved,
        .secret = &source_secret_shape,
        .complete = complete_source,
        .may_save = may_save_source,
        .touch = touch_source,
        .show = show_source,
        .may_delete = may_delete_source,
        .hide = hide_source,
    },
    {
        .kind = &definition_integration,
        .secrets = "token",
        .find_shape = integration_find_shape,
        .has_moved = has_integration_moved,
        .may_save = may_save_integration,
        .touch = touch_integration,
        .hide = integration_remove,
        .told = integration_told,
        .look = integration_look,
        .tell = integration_tell,
        .warn = integration_warn,
        .look_at = integration_look_at,
        .put = integration_put,
    },
    {
        .kind = &definition_trigger,
        .may_save = may_save_trigger,
        .touch = touch_trigger,
        .may_delete = may_delete_trigger,
        .hide = hide_trigger,
        .look = trigger_look,
        .tell = trigger_tell,
        .look_at = trigger_look_at,
        .put = trigger_put,
    },
    {
        .kind = &definition_survey,
        .touch = survey_touch,
        .hide = survey_retire,
        .look = survey_look,
        .tell = survey_tell,
    },
    {
        .kind = &definition_automation,
        .may_save = may_save_job,
        .touch = touch_automation,
        .hide = hide_automation,
        .look = job_look,
        .tell = job_tell,
        .look_at = automation_look_at,
        .put = automation_put,
    },
    {
        .kind = &definition_job,
        .usual = job_usual,
        .off_reason = "reason",
        .may_save = may_save_job,
        .touch = touch_job,
        .hide = hide_job,
        .look = job_look,
        .tell = job_tell,
    },
    {
        .kind = &definition_template,
        .touch = touch_template,
        .has_placeholders = true,
        .fits = template_fits,
    },
    {
        .kind = &definition_channel,
        .secrets = "config",
        .find_shape = find_config,
        .has_moved = has_channel_moved,
        .may_save = may_save_channel,
        .touch = touch_channel,
        .warn = warn_of_wait,
        .look = channel_look,
        .tell = channel_tell,
        .may_delete = may_delete_channel,
    },
};

const Noun *noun_of(const DefinitionKind *kind)
{
    size_t i = 0;
    while (nouns[i].kind != kind) {
        i++;
        assert(i < ARRAY_LEN(nouns)); // every kind has its row
    }
    return &nouns[i];
}
