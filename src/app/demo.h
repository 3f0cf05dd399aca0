// demo.h - the small set of definitions that `peal dev` starts with.
#pragma once

#include "store/writer.h"

// demo_load makes the demo's triggers and channel where they are missing; it changes nothing else.
Err demo_load(Writer *writer, Error *error) MUST_USE;
