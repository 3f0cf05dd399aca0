#include "domain/inbox.h"

static const char *const kind_texts[] = {
#define KIND_TEXT(name, text, meaning) text,
    INBOX_KIND_TABLE(KIND_TEXT)
#undef KIND_TEXT
};
const char *const inbox_status_words[] = {
#define STATUS_TEXT(name, text) text,
    INBOX_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
        NULL,
};
static const char *const reason_codes[] = {
#define REASON_CODE(name, code, meaning) code,
    INBOX_REASON_TABLE(REASON_CODE)
#undef REASON_CODE
};

const char *const inbox_shown_words[] = {
#define SHOWN_TEXT(name, text) text,
    INBOX_SHOWN_TABLE(SHOWN_TEXT)
#undef SHOWN_TEXT
        NULL,
};

const char *inbox_kind_text(InboxKind kind)
{
    return kind < ARRAY_LEN(kind_texts) ? kind_texts[kind] : NULL;
}

const char *inbox_status_text(InboxStatus status)
{
    return inbox_status_words[status < ARRAY_LEN(inbox_status_words) - 1 ? status : INBOX_FAILED];
}

const char *inbox_reason_code(InboxReason reason)
{
    return reason_codes[reason < ARRAY_LEN(reason_codes) ? reason : INBOX_REASON_UNUSABLE];
}

InboxShown inbox_shown(InboxStatus status, int attempts)
{
    switch (status) {
    case INBOX_PENDING:
        return attempts > 0 ? INBOX_SHOWN_PROCESSING : INBOX_SHOWN_PENDING;
    case INBOX_PUBLISHED:
        return INBOX_SHOWN_COMPLETED;
    case INBOX_FAILED:
        break;
    }
    return INBOX_SHOWN_FAILED;
}
