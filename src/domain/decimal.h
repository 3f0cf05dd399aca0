// decimal.h - numbers compared exactly, as the decimal texts they are.
//
// A double would make 9007199254740993 equal to 9007199254740992. A Decimal is a view of the text
// and needs no memory; only exponents beyond 10^15 are taken as equally large.
#pragma once

#include "base/str.h"

typedef struct Decimal {
    Str digits;        // from the first one that is not 0; the point may stand among them
    int64_t magnitude; // the value is 0.digits times ten to this power
    int sign;          // -1, 0 or 1
} Decimal;

// decimal_parse reads the whole of text by the grammar of JSON's numbers: "007" is no number.
bool decimal_parse(Str text, Decimal *ret);

// decimal_cmp is below, at or above 0 as a is below, equal to or above b.
int decimal_cmp(const Decimal *a, const Decimal *b);

// decimal_hash is the same for all that are equal.
uint64_t decimal_hash(const Decimal *decimal);
