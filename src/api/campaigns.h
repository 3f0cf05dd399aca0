// campaigns.h - what is shown of campaigns, and who tells it (campaigns_api.c).
#pragma once

#include "api/handlers.h"
#include "domain/field.h"

extern const Shape campaign_body_shape, campaign_begun_shape, campaign_shape, campaign_whole_shape,
    campaign_failure_shape;
extern const Param campaign_params[];

// campaign_read is called for each part of a file, campaign_write in a transaction for each;
// campaign_take_back where one is not to be written.
Err campaign_read(Call *call, Error *error);
Err campaign_write(Call *call, Tx *tx, Error *error);
Err campaign_take_back(Call *call, Tx *tx, Error *error);
Err campaign_list(Call *call, Db *db, Error *error);
Err campaign_show(Call *call, Db *db, Error *error);
Err campaign_failure_list(Call *call, Db *db, Error *error);
Err campaign_halt(Call *call, Tx *tx, Error *error);
