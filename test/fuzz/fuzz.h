// fuzz.h - the one function of a fuzz target.
//
// With clang -fsanitize=fuzzer it is driven by libFuzzer; in every `meson test` replay.c drives it
// over its corpus. A target parses, prints, parses again and compares; assert() reports. To add
// one: write fuzz_<x>.c, put seeds into corpus/<x>/ and add <x> to meson.build.
#pragma once

#include "base/arena.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
