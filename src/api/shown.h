// shown.h - what answers about deliveries, messages, notifications and the audit have in common.
#pragma once

#include "api/api.h"
#include "domain/phrase.h"
#include "store/audit.h"
#include "store/target.h"

// put_target writes a target and what became of it; put_targets writes several, as a member.
void put_target(const Call *call, JsonOut *json, const TargetRow *row);
void put_targets(const Call *call, JsonOut *json, Str name, const TargetRow *targets, size_t count);

// first_targets reads the first TARGETS_MAX targets of a delivery; there may be more.
Err first_targets(const Call *call, Db *db, Uuid id, TargetRow **ret, size_t *ret_count,
                  Error *error) MUST_USE;

// put_verdict writes the members of what was found along an audit chain.
void put_verdict(const Call *call, JsonOut *json, const AuditVerdict *verdict);

// put_missing writes, as warnings, which placeholders of a template had no value.
void put_missing(JsonOut *json, const Filling *filling);
