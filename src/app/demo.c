#include "app/demo.h"

#include "store/definition.h"
#include "store/lane.h"
#include "store/tenant.h"

typedef struct Demo {
    const char *kind, *id, *channel, *body;
} Demo;

static const Demo demos[] = {
    { "channel", "http:crm", "http:crm",
      "{\"key\":\"http:crm\",\"type\":\"http\",\"config\":{\"url\":\"https://crm.example/"
      "hooks\"}}" },
    { "trigger", "demo-welcome", "memory:default",
      "{\"id\":\"demo-welcome\",\"eventKind\":\"user.signed-up\",\"channel\":\"memory:default\","
      "\"dedupRecipe\":[\"recipient.address\"],"
      "\"schedule\":{\"initialDelay\":\"0d\",\"reminders\":[\"3d\",\"7d\"]}}" },
    { "trigger", "demo-crm", "http:crm",
      "{\"id\":\"demo-crm\",\"eventKind\":\"user.signed-up\",\"channel\":\"http:crm\","
      "\"filter\":{\"path\":\"candidate.plan\",\"op\":\"==\",\"value\":\"pro\"}}" },
};

static Err load(Tx *tx, void *with, Error *error)
{
    (void) with;
    for (size_t i = 0; i < ARRAY_LEN(demos); i++) {
        const Demo *demo = &demos[i];
        Definition definition;
        Err err = definition_create(tx, TENANT_FIRST, str_from(demo->kind), str_from(demo->id),
                                    str_from(demo->body), &definition, error);
        if (err != ERR_OK && err != ERR_EXISTS)
            return err;
        TRY(lane_ensure(tx, TENANT_FIRST, str_from(demo->channel), error));
    }
    return ERR_OK;
}

Err demo_load(Writer *writer, Error *error)
{
    return writer_run(writer, load, NULL, error);
}
