// settings.h - a configuration file: one mapping of option names to values, in YAML.
//
//   store: postgres://peal@db/peal
//   listen: 0.0.0.0:7325
//   allow-private: 10.0.0.0/8
//
// Names are those of the command line's options; anything else is refused, with its line. The
// command line and the environment win over the file (YAML as base/yaml.h reads it).
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum { SETTINGS_MAX = 64 };

typedef struct Setting {
    Str name, value;
    size_t line;
} Setting;

typedef struct Settings {
    Setting rows[SETTINGS_MAX];
    size_t count;
} Settings;

Err settings_read(Arena *arena, Str path, Settings *ret, Error *error) MUST_USE;
const Setting *settings_find(const Settings *settings, const char *name); // NULL: not there
