#include "domain/trigger_event.h"

#include "base/base.h"

const char *const trigger_status_words[] = {
#define TRIGGER_STATUS_WORD(name, text) text,
    TRIGGER_STATUS_TABLE(TRIGGER_STATUS_WORD)
#undef TRIGGER_STATUS_WORD
        NULL
};

const char *const trigger_skip_words[] = {
#define TRIGGER_SKIP_WORD(name, text) text,
    TRIGGER_SKIP_TABLE(TRIGGER_SKIP_WORD)
#undef TRIGGER_SKIP_WORD
        NULL
};

const char *trigger_skip_text(TriggerSkip skip)
{
    return skip == TRIGGER_SKIP_NONE ? NULL : trigger_skip_words[skip - 1];
}

TriggerStatus trigger_status_of(DeliveryState state)
{
    static const TriggerStatus statuses[] = {
        [DELIVERY_PENDING] = TRIGGER_QUEUED,      [DELIVERY_SENDING] = TRIGGER_PROCESSING,
        [DELIVERY_RETRYING] = TRIGGER_QUEUED,     [DELIVERY_WAITING] = TRIGGER_PROCESSING,
        [DELIVERY_PARKED] = TRIGGER_FAILED,       [DELIVERY_DELIVERED] = TRIGGER_COMPLETED,
        [DELIVERY_COMPLETED] = TRIGGER_COMPLETED, [DELIVERY_EXPIRED] = TRIGGER_FAILED,
        [DELIVERY_CANCELLED] = TRIGGER_SKIPPED,   [DELIVERY_DISCARDED] = TRIGGER_FAILED,
    };
    assert(state < ARRAY_LEN(statuses));
    return statuses[state];
}

TriggerSkip trigger_skip_of(DecisionKind kind)
{
    switch (kind) {
    case DECISION_FILTERED:
        return TRIGGER_SKIP_FILTER_MISMATCH;
    case DECISION_DISABLED:
        return TRIGGER_SKIP_AUTOMATION_DISABLED;
    case DECISION_FAILED:
        return TRIGGER_SKIP_RUN_CREATE_FAILED;
    case DECISION_CREATED:
    case DECISION_DUPLICATE:
        return TRIGGER_SKIP_NONE;
    }
    return TRIGGER_SKIP_NONE;
}
