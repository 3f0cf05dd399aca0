#include "base/arena.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
// GAP separates two pieces, so that a step over the end of one is seen.
enum { GAP = 16 };
#define FORBID(at, size) ASAN_POISON_MEMORY_REGION((at), (size))
#define PERMIT(at, size) ASAN_UNPOISON_MEMORY_REGION((at), (size))
#else
enum { GAP = 0 };
#define FORBID(at, size) ((void) (at), (void) (size))
#define PERMIT(at, size) ((void) (at), (void) (size))
#endif

struct ArenaBlock {
    ArenaBlock *next;
    size_t size; // with this header
};

enum {
    ALIGNMENT = _Alignof(max_align_t),
    BLOCK_SIZE_MIN = 4 * 1024,
    BLOCK_SIZE_MAX = 256 * 1024,
};

_Static_assert(sizeof(ArenaBlock) % ALIGNMENT == 0, "pieces start behind the header");

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "peal: out of memory (%zu bytes wanted)\n", size);
    abort();
}

void *memory_new(size_t size)
{
    void *at = calloc(1, size ? size : 1);
    if (!at)
        out_of_memory(size);
    return at;
}

void *memory_grow(void *at, size_t size)
{
    void *grown = realloc(at, size ? size : 1);
    if (!grown)
        out_of_memory(size);
    return grown;
}

// footprint is what a piece takes from its block. A piece of no bytes still gets its own address.
static size_t footprint(size_t size)
{
    if (size > PTRDIFF_MAX / 2)
        out_of_memory(size);
    size_t whole = size ? size : 1;
    return (whole + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + GAP;
}

static ArenaBlock *block_new(Arena *arena, size_t size)
{
    ArenaBlock *block = memory_grow(NULL, size);
    *block = (ArenaBlock){ .size = size };
    arena->bytes += size;
    FORBID(block + 1, size - sizeof *block);
    return block;
}

static void use_block(Arena *arena, ArenaBlock *block)
{
    arena->blocks = block;
    arena->at = (char *) (block + 1);
    arena->end = (char *) block + block->size;
}

static size_t next_size(const Arena *arena)
{
    size_t first = arena->first ? arena->first + sizeof(ArenaBlock) : BLOCK_SIZE_MIN;
    size_t size = arena->blocks ? arena->blocks->size * 2 : first;
    return size < BLOCK_SIZE_MAX ? size : BLOCK_SIZE_MAX;
}

// take_slowly finds room outside the newest block. A piece too large for the next ordinary block
// gets one of its own behind the newest, whose free room stays in use.
static void *take_slowly(Arena *arena, size_t need)
{
    size_t ordinary = next_size(arena);
    if (arena->blocks && need > ordinary - sizeof(ArenaBlock)) {
        ArenaBlock *block = block_new(arena, need + sizeof(ArenaBlock));
        block->next = arena->blocks->next;
        arena->blocks->next = block;
        return block + 1;
    }
    size_t size = need + sizeof(ArenaBlock) > ordinary ? need + sizeof(ArenaBlock) : ordinary;
    ArenaBlock *block = block_new(arena, size);
    block->next = arena->blocks;
    use_block(arena, block);
    char *at = arena->at;
    arena->at += need;
    return at;
}

static void *take(Arena *arena, size_t size)
{
    size_t need = footprint(size);
    void *at = arena->at;
    if (need <= (size_t) (arena->end - arena->at))
        arena->at += need;
    else
        at = take_slowly(arena, need);
    PERMIT(at, size);
    return at;
}

void *arena_alloc(Arena *arena, size_t size)
{
    return memset(take(arena, size), 0, size);
}

void *arena_copy(Arena *arena, const void *from, size_t size)
{
    void *at = take(arena, size);
    if (size > 0)
        memcpy(at, from, size);
    return at;
}

void *arena_grow(Arena *arena, void *at, size_t old_size, size_t size)
{
    if (!at)
        return take(arena, size);
    char *old_end = (char *) at + footprint(old_size);
    if (old_end == arena->at && footprint(size) <= (size_t) (arena->end - (char *) at)) {
        arena->at = (char *) at + footprint(size);
        PERMIT(at, size);
        return at;
    }
    if (size <= old_size)
        return at;
    void *grown = take(arena, size);
    memcpy(grown, at, old_size);
    return grown;
}

// free_blocks frees a list of blocks but keep, which may be NULL.
static void free_blocks(Arena *arena, const ArenaBlock *keep)
{
    for (ArenaBlock *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        if (block == keep)
            continue;
        arena->bytes -= block->size;
        free(block);
    }
}

void arena_reset(Arena *arena)
{
    // The largest block of ordinary size is kept; a giant would be held long after its one use.
    ArenaBlock *keep = NULL;
    for (ArenaBlock *block = arena->blocks; block; block = block->next)
        if (block->size <= BLOCK_SIZE_MAX && (!keep || block->size > keep->size))
            keep = block;
    free_blocks(arena, keep);
    if (!keep) {
        *arena = (Arena){ 0 };
        return;
    }
    keep->next = NULL;
    use_block(arena, keep);
    FORBID(arena->at, (size_t) (arena->end - arena->at));
}

void arena_wipe(Arena *arena)
{
    for (ArenaBlock *block = arena->blocks; block; block = block->next) {
        PERMIT(block + 1, block->size - sizeof *block);
        explicit_bzero(block + 1, block->size - sizeof *block);
    }
    arena_done(arena);
}

void arena_done(Arena *arena)
{
    free_blocks(arena, NULL);
    *arena = (Arena){ 0 };
}
