// varint.h - numbers in as few bytes as they need: seven bits a byte, the lowest first, the eighth
// bit says that more follow. For what is packed into one column.
#pragma once

#include "base/str.h"

enum { VARINT_LEN_MAX = 10 };

void varint_add(Buf *buf, uint64_t n);

// varint_take reads one from the front of rest and moves it on; false where it is cut short or
// longer than any number.
bool varint_take(Str *rest, uint64_t *ret);

// Signed numbers zigzag: 0, -1, 1, -2 … become 0, 1, 2, 3 …, so that small ones stay short.
void varint_add_signed(Buf *buf, int64_t n);
bool varint_take_signed(Str *rest, int64_t *ret);

// A text has its length before it; what is taken lies in rest.
void varint_add_text(Buf *buf, Str text);
bool varint_take_text(Str *rest, Str *ret);
