// campaign.h - what a row of a campaign's file means: which of its columns say whom it goes to, and
// what event it becomes.
//
// The first row names the columns. Three have a meaning: address, locale and customerRef, or
// whatever columns are said to stand for them; every other is a member of the payload, as text.
// Other rows must have as many columns, and an address. They are checked as what comes in at the
// other doors is, and become events for one trigger.
//
// Where that trigger has no recipe to tell what came before, the row's own content does: the same
// row for the same trigger is the same event, wherever in whatever file it comes again.
#pragma once

#include "domain/trigger.h"

typedef enum CampaignRole {
    CAMPAIGN_ADDRESS,
    CAMPAIGN_LOCALE,
    CAMPAIGN_CUSTOMER_REF,
    CAMPAIGN_ROLES,
} CampaignRole;

extern const char *const campaign_role_words[CAMPAIGN_ROLES]; // also names of columns

enum {
    CAMPAIGN_COLUMN_MAX = 200, // bytes of a column's name
    CAMPAIGN_NOBODY = -1,      // no column has the role
};

// CampaignLayout is how a file's rows are to be read.
typedef struct CampaignLayout {
    char delimiter;
    const Str *names; // of its columns
    size_t count;
    int at[CAMPAIGN_ROLES]; // which column has the role
} CampaignLayout;

// campaign_layout reads the first row. mapped has names of columns that stand for a role; none: the
// one of the role's own name does. ERR_INVALID lists every problem found.
Err campaign_layout(Arena *arena, const Str *names, size_t count, const Str mapped[CAMPAIGN_ROLES],
                    CampaignLayout *ret, Error *error) MUST_USE;

// campaign_layout_text is a layout as it is stored; campaign_layout_parse reads it.
Str campaign_layout_text(Arena *arena, const CampaignLayout *layout);
Err campaign_layout_parse(Arena *arena, Str text, CampaignLayout *ret, Error *error) MUST_USE;

// campaign_event makes the event of a row for a rule. ERR_EVENT_INVALID: the row is bad; the detail
// says all of it. error must not be NULL.
Err campaign_event(Arena *arena, const CampaignLayout *layout, const Str *fields, size_t count,
                   const Trigger *rule, Event *ret, Error *error) MUST_USE;

// CampaignCount counts rows while a file comes in, without reading them: what it says is for
// whoever looks on, and put right when all rows were read.
typedef struct CampaignCount {
    bool is_quoted, is_begun;
    int64_t rows; // that ended
} CampaignCount;

void campaign_count(CampaignCount *count, Str piece);
int64_t campaign_counted(const CampaignCount *count); // with one whose line does not end
