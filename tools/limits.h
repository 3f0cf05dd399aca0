// limits.h - the figures of docs/limits.md, taken from the constants that hold them.
//
// A row is what is limited and a sentence with a %s for each figure: no figure is typed. To add one
// put its constant into the header of its noun, and a row into the table that it belongs to.
#pragma once

void limits_print(void);
