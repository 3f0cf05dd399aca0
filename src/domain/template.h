// template.h - a rule that says something: event type, channel, language, scope, and the phrases
// that a message is made of.
//
// An active template is a trigger that nobody had to write: whoever gets an event of its type gets
// one message for each channel and name. Templates of one channel and name are the same message in
// other words; template_choose() takes the one with the narrowest scope, then the one whose
// language is nearest (ar-IQ, then ar, then the default); a wider scope serves only where the
// narrower has none of these. The message's key is of entity, event type, channel and name: it is
// sent once, however often the event comes, and whatever its locale is by then.
//
// What is made of an event is rendered when it is sent, by the version that the delivery was made
// under. Compiled, a template is a Trigger (trigger.h) whose filter is the scope.
#pragma once

#include "domain/content.h"
#include "domain/phrase.h"
#include "domain/trigger.h"

enum {
    TEMPLATE_NAME_MAX = 100,
    TEMPLATE_SUBJECT_MAX = 1000,
    TEMPLATE_LANGUAGE_MAX = 35,  // bytes of a tag: RFC 5646 asks for as many
    TEMPLATE_DECLARED_MAX = 200, // placeholders that one may declare
};

typedef struct TemplateParam {
    Str name; // none where they are a list
    const Phrase *value;
} TemplateParam;

struct Template {
    Str name;
    Str language; // none: the default
    bool has_scope;
    bool is_html;
    bool keeps_missing;
    const Phrase *subject, *body; // NULL: none
    const Phrase *provider;       // the name of the provider's own template; NULL: the channel's
    const TemplateParam *params;
    size_t param_count;
    const Str *declared; // placeholders that events of its type have
    size_t declared_count;
};

extern const Shape template_shape, template_warning_shape;

// template_compile and template_parse are as for triggers; ERR_TEMPLATE_INVALID lists every
// problem.
Err template_compile(Arena *arena, const Json *json, Trigger *ret, Error *error) MUST_USE;
Err template_parse(Arena *arena, Str body, Trigger *ret, Error *error) MUST_USE;

// template_names lists the placeholders of all its phrases, each once.
size_t template_names(const Template *template, Arena *arena, Str **ret);

// template_key is of the message that a template makes of an event: one without an entity counts by
// its identity, else by itself. A request to send it again has a key of its own.
Sha256 template_key(Arena *scratch, const Trigger *trigger, const Event *event);

// template_key_text is how a message's key is shown: entity:type:channel:name. The hash is not of
// this text, in which two keys may look the same.
Str template_key_text(Arena *arena, const Trigger *trigger, Str entity, Str event_kind);

// template_choose turns away those of an event's decisions that another template serves better, or
// whose language is not the recipient's. All are of templates that would make a message.
void template_choose(Arena *scratch, Decision *decisions, size_t count);

// template_say renders a message; the filling says from what, and notes what was missing. The
// sentence of a failure names the placeholder and why.
Err template_say(const Template *template, Arena *arena, Filling *filling, Content *ret,
                 Error *error) MUST_USE;
