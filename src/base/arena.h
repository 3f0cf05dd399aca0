// arena.h - memory with the life-time of one piece of work.
//
// An Arena hands out zeroed memory and frees all of it at once. Functions that build things take
// an Arena and never free. Running out of memory stops the program: there is no failure to check.
// An arena belongs to one thread at a time. It keeps one block across arena_reset(), so that the
// next piece of work of the same size asks the system for nothing.
#pragma once

#include "base/base.h"

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    ArenaBlock *blocks; // newest first
    char *at;           // free room in the newest block
    char *end;
    size_t bytes; // held from the system in all
    size_t first; // bytes for the first block, where there are many small arenas; 0: the usual
} Arena;

// arena_alloc returns size zeroed bytes, aligned for any type.
void *arena_alloc(Arena *arena, size_t size);

// arena_copy returns a copy of size bytes.
void *arena_copy(Arena *arena, const void *from, size_t size);

// arena_grow returns at with room for size bytes: in place where it was the newest piece, otherwise
// as a copy. The bytes behind old_size are not zeroed. A NULL at makes a new piece.
void *arena_grow(Arena *arena, void *at, size_t old_size, size_t size);

// arena_reset gives everything back but one block, for reuse.
void arena_reset(Arena *arena);

// arena_done gives everything back. An Arena on the stack is declared DEFER(arena_done).
void arena_done(Arena *arena);

// arena_wipe is arena_done() for what held secrets: every byte is overwritten first.
void arena_wipe(Arena *arena);

#define ARENA_NEW(arena, Type) ((Type *) arena_alloc((arena), sizeof(Type)))
#define ARENA_ARRAY(arena, Type, count) ((Type *) arena_alloc((arena), sizeof(Type) * (count)))

// memory_new, memory_grow: zeroed or resized heap memory; stop the program when there is none.
void *memory_new(size_t size);
void *memory_grow(void *at, size_t size);
