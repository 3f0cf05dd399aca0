#include "domain/template.h"

#include "domain/dedup.h"
#include "domain/definition.h"

enum { FORMAT_TEXT, FORMAT_HTML };
enum { MISSING_EMPTY, MISSING_KEEP };

static const char *const formats[] = { "text", "html", NULL };
static const char *const missings[] = { "empty", "keep", NULL };

// Source is what a definition says.
typedef struct Source {
    Trigger trigger;
    Template template;
    Str subject, body, provider;
    Str scope_path;
    const Json *scope_value, *params;
    int format, missing;
} Source;

static const Field path = { NULL, FIELD_PATH };
static const Field placeholder = { NULL, FIELD_TEXT, .max = PHRASE_NAME_MAX };

// clang-format off
#define AT(member) .offset = offsetof(Source, member)
#define KIND FIELD_TEXT, .max = EVENT_KIND_MAX
static const Field scope_fields[] = {
    { "path",  FIELD_PATH, FIELD_NEEDED, AT(scope_path) },
    { "value", FIELD_ANY,  FIELD_NEEDED, AT(scope_value), .help = "any JSON that is a text, a number, true or false" },
};
static const Shape scope_shape = { "Scope", SHAPE_ROWS(scope_fields), .size = sizeof(Source) };

static const Field provider_fields[] = {
    { "template", FIELD_TEXT, AT(provider), .max = TEMPLATE_SUBJECT_MAX,
      .help = "the provider's own, by its name there; the channel's unless said" },
    { "params",   FIELD_ANY, AT(params), .help = "any JSON that is a list of texts, or an object of them where they have names" },
};
static const Shape provider_shape = { "Provider", SHAPE_ROWS(provider_fields), .size = sizeof(Source) };

static const Field warning_fields[] = {
    { "placeholder", FIELD_TEXT, FIELD_SHOWN | FIELD_NULLABLE | FIELD_ALWAYS },
    { "message",     FIELD_TEXT, FIELD_SHOWN | FIELD_NEEDED },
};
const Shape template_warning_shape = { "TemplateWarning", SHAPE_ROWS(warning_fields) };
static const Field warning = { NULL, FIELD_OBJECT, .inside = &template_warning_shape };

static const Field fields[] = {
    { "id",        FIELD_KEY,  FIELD_NEEDED, AT(trigger.rule.id), .max = TRIGGER_ID_MAX },
    { "name",      FIELD_KEY,  AT(template.name), .max = TEMPLATE_NAME_MAX,
      .help = "of the message: one is sent for each channel and name; the id unless said" },
    { "eventType", KIND, AT(trigger.event_kind), .flags = FIELD_NEEDED, .help = "the events that it makes messages of" },
    { "eventKind", KIND, .flags = FIELD_ALSO },
    { "kind",      KIND, .flags = FIELD_ALSO },
    { "channel",   FIELD_KEY,  FIELD_NEEDED, AT(trigger.channel), .max = CHANNEL_KEY_MAX,
      .help = "the key of the channel that it sends through" },
    { "active",    FIELD_BOOL, FIELD_ALWAYS, AT(trigger.enabled), .help = "an inactive one makes no messages" },
    { "language",  FIELD_TEXT, AT(template.language), .max = TEMPLATE_LANGUAGE_MAX,
      .help = "such as ar or ar-IQ; without one it is the default" },
    { "scope",     FIELD_OBJECT, .given = offsetof(Source, template.has_scope), .inside = &scope_shape,
      .help = "events with this value only; goes before those without a scope" },
    { "subject",   FIELD_TEXT, FIELD_EMPTY, AT(subject), .max = TEMPLATE_SUBJECT_MAX },
    { "body",      FIELD_TEXT, FIELD_EMPTY | FIELD_LINES, AT(body), .max = PHRASE_BYTES_MAX,
      .help = "text with placeholders: {{guestName}}, {{checkinDate | date:\"dd-MMM-yyyy\"}}" },
    { "format",    FIELD_WORD, AT(format), .words = formats, .noun = "a format", .help = "of the body; text unless said" },
    { "missing",   FIELD_WORD, AT(missing), .words = missings, .noun = "a way",
      .help = "what stands for a missing value: nothing (empty), or the placeholder (keep)" },
    { "provider",  FIELD_OBJECT, .inside = &provider_shape, .help = "the provider's own template and what it is filled with" },
    { "declares",  FIELD_LIST, AT(template.declared), .count = offsetof(Source, template.declared_count),
      .min = 1, .max = TEMPLATE_DECLARED_MAX, .of = &placeholder, .help = "placeholders that events of this type have" },
    { "address",   FIELD_PATH, AT(trigger.address_path), .help = "recipient.address unless said" },
    { "locale",    FIELD_PATH, AT(trigger.locale_path), .help = "recipient.locale unless said" },
    { "dedupRecipe", FIELD_LIST, AT(trigger.dedup), .count = offsetof(Source, trigger.dedup_count),
      .min = 1, .max = DEDUP_PATHS_MAX, .of = &path, .help = "paths whose values make another message of the same entity" },
    { "schedule",  FIELD_OBJECT, AT(trigger.rule.plan), .inside = &plan_shape },
    { "retry",     FIELD_OBJECT, AT(trigger.rule.retry), .given = offsetof(Source, trigger.rule.has_retry),
      .inside = &retry_shape, .help = "the channel's unless said" },
    { "cancelOn",  FIELD_OBJECT, .inside = &cancel_shape, .help = "an event that calls its messages off" },
    DEFINITION_COUNTED,
    { "warnings",  FIELD_LIST, FIELD_SHOWN, .of = &warning },
};
// clang-format on

_Static_assert(offsetof(Source, trigger) == 0, "cancel_shape reads into a Trigger");

static void check(const Members *members, void *value)
{
    const Source *source = value;
    JsonType type = json_type(source->scope_value);
    if (!members_get(members, "body") && !source->provider.len && !source->params)
        members_note(members, S("body"), "missing-member", "\"body\" or \"provider\" is needed");
    if (type == JSON_ARRAY || type == JSON_OBJECT)
        members_note(members, S("scope"), "bad-value",
                     "a scope's value is a text, a number, true or false");
}

const Shape template_shape = {
    "Template",     SHAPE_ROWS(fields), .size = sizeof(Source), .invalid = ERR_TEMPLATE_INVALID,
    .check = check,
};

// compile_scope makes the scope the filter.
static void compile_scope(Arena *arena, Source *source, Error *error)
{
    const Json *leaf;
    if (!source->scope_path.at || !source->scope_value)
        return;
    Buf text = buf_new(arena, BUF_WHOLE);
    JsonOut out = json_out(&text);
    json_open(&out, '{');
    json_put_str(&out, S("path"), source->scope_path);
    json_put_str(&out, S("op"), S("=="));
    json_put_raw(&out, S("value"), json_text(arena, source->scope_value));
    json_close(&out, '}');
    if (json_parse(arena, buf_str(&text), &leaf, error) == ERR_OK)
        (void) !filter_compile(arena, leaf, S("/scope"), &source->trigger.filter, error);
}

static const Phrase *compile_text(Arena *arena, Str text, const char *pointer, Error *error)
{
    return text.len ? phrase_compile(arena, text, str_from(pointer), error) : NULL;
}

static void compile_params(Arena *arena, Source *source, Error *error)
{
    size_t count = json_count(source->params), used = 0;
    if (!source->params)
        return;
    JsonType type = json_type(source->params);
    if ((type != JSON_ARRAY && type != JSON_OBJECT) || count > CONTENT_PARAMS_MAX) {
        error_add(error, S("/provider/params"), "bad-value",
                  "must be a list or an object of at most %d texts", CONTENT_PARAMS_MAX);
        return;
    }
    TemplateParam *params = ARENA_ARRAY(arena, TemplateParam, count + 1);
    for (JsonIter it = json_each(source->params); json_next(&it); used++) {
        Str pointer = str_format(arena, "/provider/params/%zu", it.index - 1);
        if (json_type(it.value) != JSON_STRING)
            error_add(error, pointer, "bad-type", "must be a string, not %s",
                      json_type_name(json_type(it.value)));
        else
            params[used] = (TemplateParam){ it.key, phrase_compile(arena, json_str(it.value),
                                                                   pointer, error) };
    }
    source->template.params = params;
    source->template.param_count = used;
}

Err template_compile(Arena *arena, const Json *json, Trigger *ret, Error *error)
{
    Error own = { .arena = arena };
    Error *problems = error ? error : &own;
    Source source = { .trigger = { .rule = rule_default(RULE_TEMPLATE, STR_NONE),
                                   .enabled = true,
                                   .address_path = S("recipient.address"),
                                   .locale_path = S("recipient.locale") } };
    if (fields_note(arena, json, S(""), &template_shape, &source, problems)) {
        Template *template = &source.template;
        compile_scope(arena, &source, problems);
        template->subject = compile_text(arena, source.subject, "/subject", problems);
        template->body = compile_text(arena, source.body, "/body", problems);
        template->provider = compile_text(arena, source.provider, "/provider/template", problems);
        compile_params(arena, &source, problems);
    }
    TRY(error_close(problems, ERR_TEMPLATE_INVALID));
    source.template.is_html = source.format == FORMAT_HTML;
    source.template.keeps_missing = source.missing == MISSING_KEEP;
    if (!source.template.name.at)
        source.template.name = source.trigger.rule.id;
    source.trigger.template_id = source.trigger.rule.id;
    source.trigger.template = arena_copy(arena, &source.template, sizeof source.template);
    *ret = source.trigger;
    return ERR_OK;
}

Err template_parse(Arena *arena, Str body, Trigger *ret, Error *error)
{
    const Json *json;
    TRY(json_parse(arena, body, &json, error));
    return template_compile(arena, json, ret, error);
}

static void add_names(const Phrase *phrase, Arena *arena, Str *all, size_t *count)
{
    Str *names;
    size_t found = phrase ? phrase_names(phrase, arena, &names) : 0;
    for (size_t i = 0; i < found; i++) {
        bool is_new = true;
        for (size_t n = 0; n < *count && is_new; n++)
            is_new = !str_eq_nocase(all[n], names[i]);
        if (is_new && *count < PHRASE_HOLES_MAX)
            all[(*count)++] = names[i];
    }
}

size_t template_names(const Template *template, Arena *arena, Str **ret)
{
    size_t count = 0;
    *ret = ARENA_ARRAY(arena, Str, PHRASE_HOLES_MAX);
    add_names(template->subject, arena, *ret, &count);
    add_names(template->body, arena, *ret, &count);
    add_names(template->provider, arena, *ret, &count);
    for (size_t i = 0; i < template->param_count; i++)
        add_names(template->params[i].value, arena, *ret, &count);
    return count;
}

Sha256 template_key(Arena *scratch, const Trigger *trigger, const Event *event)
{
    char id[UUID_TEXT_LEN + 1];
    Str name = trigger->template->name;
    if (trigger->request.at) {
        Str manual[] = { S("manual"), event->entity, trigger->channel, name, trigger->request };
        return dedup_parts(scratch, manual, ARRAY_LEN(manual));
    }
    Str parts[8] = { S("entity"), event->entity };
    size_t count = 2;
    if (!event->entity.len && event->identity.len) {
        parts[0] = S("identity");
        parts[1] = event->source;
        parts[count++] = event->identity;
    } else if (!event->entity.len) {
        parts[0] = S("event");
        parts[1] = uuid_text(event->id, id);
    }
    parts[count++] = event->kind;
    parts[count++] = trigger->channel;
    parts[count++] = name;
    Sha256 recipe;
    if (trigger->dedup_count > 0) {
        recipe =
            dedup_hash(scratch, trigger->dedup, trigger->dedup_count, event, trigger->template_id);
        parts[count++] = (Str){ (const char *) recipe.b, sizeof recipe.b };
    }
    return dedup_parts(scratch, parts, count);
}

Str template_key_text(Arena *arena, const Trigger *trigger, Str entity, Str event_kind)
{
    Str name = trigger->template->name;
    if (trigger->request.at)
        return str_format(arena, "manual:%.*s:%.*s:%.*s:%.*s", STR_ARG(entity),
                          STR_ARG(trigger->channel), STR_ARG(name), STR_ARG(trigger->request));
    return str_format(arena, "%.*s:%.*s:%.*s:%.*s", STR_ARG(entity), STR_ARG(event_kind),
                      STR_ARG(trigger->channel), STR_ARG(name));
}

enum { LANGUAGE_DEFAULT = 100, LANGUAGE_NONE = 101 };

// language_rank is how far a template's language is from a locale: 0 is the same, each step to a
// shorter tag one more; the default comes behind all of them.
static int language_rank(Str language, Str locale)
{
    if (!language.len)
        return LANGUAGE_DEFAULT;
    for (int rank = 0; locale.len > 0 && rank < LANGUAGE_DEFAULT; rank++) {
        if (str_eq_tag(language, locale))
            return rank;
        do
            locale.len--;
        while (locale.len > 0 && locale.at[locale.len] != '-' && locale.at[locale.len] != '_');
    }
    return LANGUAGE_NONE;
}

// Candidate is a decision that might be the one for its channel and name.
typedef struct Candidate {
    Decision *decision;
    int rank;
} Candidate;

static int by_message(const Candidate *x, const Candidate *y)
{
    int order = str_cmp(x->decision->trigger->channel, y->decision->trigger->channel);
    return order ? order
                 : str_cmp(x->decision->trigger->template->name,
                           y->decision->trigger->template->name);
}

// by_fitness puts the candidates for one message together, the best first.
static int by_fitness(const void *a, const void *b)
{
    const Candidate *x = a, *y = b;
    int order = by_message(x, y);
    if (order)
        return order;
    bool x_fits = x->rank != LANGUAGE_NONE, y_fits = y->rank != LANGUAGE_NONE;
    if (x_fits != y_fits)
        return x_fits ? -1 : 1;
    bool x_scoped = x->decision->trigger->template->has_scope;
    bool y_scoped = y->decision->trigger->template->has_scope;
    if (x_scoped != y_scoped)
        return x_scoped ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return str_cmp(x->decision->trigger->rule.id, y->decision->trigger->rule.id);
}

static void turn_away(const Candidate *candidate, const Candidate *best)
{
    bool is_scope = candidate->rank != LANGUAGE_NONE && best->rank != LANGUAGE_NONE &&
                    best->decision->trigger->template->has_scope &&
                    !candidate->decision->trigger->template->has_scope;
    candidate->decision->kind = DECISION_FILTERED;
    candidate->decision->reason =
        is_scope ? DECISION_REASON_NARROWER_SCOPE : DECISION_REASON_OTHER_LANGUAGE;
}

void template_choose(Arena *scratch, Decision *decisions, size_t count)
{
    Candidate *all = ARENA_ARRAY(scratch, Candidate, count + 1);
    for (size_t i = 0; i < count; i++)
        all[i] = (Candidate){ &decisions[i], language_rank(decisions[i].trigger->template->language,
                                                           decisions[i].locale) };
    qsort(all, count, sizeof *all, by_fitness);
    const Candidate *best = all;
    for (size_t i = 0; i < count; i++) {
        if (by_message(best, &all[i]) != 0)
            best = &all[i];
        if (&all[i] != best || best->rank == LANGUAGE_NONE)
            turn_away(&all[i], best);
    }
}

static Err say_params(const Template *template, Arena *arena, Filling *filling, Content *ret,
                      Error *error)
{
    ContentParam *params = ARENA_ARRAY(arena, ContentParam, template->param_count + 1);
    for (size_t i = 0; i < template->param_count; i++) {
        params[i].name = template->params[i].name;
        TRY(phrase_fill(template->params[i].value, arena, filling, false, &params[i].value, error));
    }
    ret->params = params;
    ret->param_count = template->param_count;
    return ERR_OK;
}

Err template_say(const Template *template, Arena *arena, Filling *filling, Content *ret,
                 Error *error)
{
    Content content = { 0 };
    filling->keeps_missing = template->keeps_missing;
    if (template->subject)
        TRY(phrase_fill(template->subject, arena, filling, false, &content.subject, error));
    if (template->body)
        TRY(phrase_fill(template->body, arena, filling, template->is_html,
                        template->is_html ? &content.html : &content.text, error));
    if (template->provider)
        TRY(phrase_fill(template->provider, arena, filling, false, &content.template, error));
    content.subject = content_line(arena, content.subject);
    content.template = content_line(arena, content.template);
    TRY(say_params(template, arena, filling, &content, error));
    *ret = content;
    return ERR_OK;
}
