// log.h - one logfmt line per fact, on standard error.
//
// log_info("delivery.parked", "delivery=%s reason=%s", …) prints
//   2026-05-14T05:12:34.000Z level=info event=delivery.parked delivery=… reason=…
// Values from outside go through log_quote(). Payloads and secrets are never logged.
#pragma once

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;

void log_level(LogLevel lowest);
bool log_level_parse(Str text, LogLevel *ret);
void log_debug(const char *event, const char *format, ...) PRINTF(2, 3);
void log_info(const char *event, const char *format, ...) PRINTF(2, 3);
void log_warn(const char *event, const char *format, ...) PRINTF(2, 3);
void log_error(const char *event, const char *format, ...) PRINTF(2, 3);

// log_quote returns s in quotes with control characters escaped, cut at 200 bytes. The text lives
// in a per-thread ring of eight, so several may stand in one log call.
const char *log_quote(Str s);
