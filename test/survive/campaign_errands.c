#include "errands.h"

#include "domain/campaign.h"
#include "store/campaign.h"
#include "store/tenant.h"

enum { ROWS = 5 };

#define HEAD "address,name\n"

// rows_of is a file of which the second row repeats the first, and the last has no address.
static Str rows_of(const Scenario *scenario, Arena *arena)
{
    Buf text = buf_new(arena, BUF_WHOLE);
    buf_add(&text, S(HEAD));
    for (int i = 0; i < ROWS; i++)
        buf_add_format(&text, "+%zu%d,Name\n", scenario->step, i > 1 ? i : 0);
    buf_add(&text, S(",nobody\n"));
    return buf_str(&text);
}

static Err campaign_work(Tx *tx, void *with, Error *error)
{
    Scenario *scenario = with;
    CampaignLayout layout;
    Str names[] = { S("address"), S("name") }, mapped[CAMPAIGN_ROLES] = { STR_NONE };
    scenario_reseed(scenario);
    TRY(tx_sync(tx, error));
    TRY(campaign_layout(&tx->arena, names, ARRAY_LEN(names), mapped, &layout, error));
    layout.delimiter = ',';
    Campaign campaign = { .tenant = TENANT_FIRST,
                          .id = uuid_new(tx->now, tx->random),
                          .trigger = S("row"),
                          .layout = campaign_layout_text(&tx->arena, &layout),
                          .position = sizeof HEAD - 1,
                          .line = 2,
                          .created_at = tx->now,
                          .touched_at = tx->now,
                          .finished_at = INSTANT_NONE };
    campaign_add(tx, &campaign);
    TRY(campaign_append(tx, &campaign, rows_of(scenario, &tx->arena), error));
    TRY(campaign_start(tx, &campaign, error));
    return tx_sync(tx, error);
}

Err errand_campaign(Scenario *scenario, Error *error)
{
    return writer_run(scenario->writer, campaign_work, scenario, error);
}

Err errand_rows(Scenario *scenario, Error *error)
{
    return errand_duty(scenario, campaign_run, error);
}
