// browser.h - opens a page in the browser of whoever started Peal.
#pragma once

#include "base/arena.h"
#include "base/str.h"

// browser_open asks the desktop to show url, and returns at once. Where there is no desktop nothing
// happens: nothing depends on it.
void browser_open(Arena *arena, Str url);
