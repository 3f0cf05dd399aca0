// audit_block.h - a block: consecutive entries of a chain, packed into one row of the store. Pure.
//
// An entry alone costs a row, an index entry and a statement; three of them for each delivery cost
// more than sending it. So entries that are sealed together lie together: the block begins with the
// number of its first entry and the link before it, and each entry says only what differs from the
// one before. What the chain covers is not these bytes but each entry's own (audit_pack), made anew
// of what was read: whatever reads as the same entry is the same.
//
// Each entry has the first bytes of its link beside it (AUDIT_CHECK_LEN), the block's row the whole
// link of its last one. The checks say which entry is the first bad one, the whole links that all
// are sound: who wanted to change an entry would have to find another with the same whole link.
//
// Addresses stand beside the bytes, in a text of lines: a line feed, then each address that the
// entries name, in the order in which they first do, with a line feed behind it. They may be erased
// one by one (the line stays, empty) or all together.
//
//     AuditBlock block = …;                      a row as it is stored
//     audit_read(&block, &read);
//     while (audit_next(&read)) … read.entry, read.link, read.address
//     if (read.problem) …                        the entry behind the last is the bad one
#pragma once

#include "domain/audit.h"

enum {
    AUDIT_BLOCK_MAX = 200, // entries
    // A block's row fits into a page of either database: nothing is put aside or compressed. One
    // entry may be longer than that, and is a block of its own.
    AUDIT_BLOCK_BYTES = 1900,
    AUDIT_CHECK_LEN = 8,
    AUDIT_ADDRESS_MAX = 500, // bytes; a longer one is left out, as is one with a line feed
};

typedef struct AuditBlock {
    int64_t tenant;
    int64_t first, last; // the numbers of its entries
    Str body;
    Sha256 link; // of its last entry
    Str targets; // the addresses, a line each; none
} AuditBlock;

// audit_block packs the first of what is told behind the head, as many as fit, and returns how many
// these are; the head moves on with them.
size_t audit_block(Arena *arena, int64_t tenant, AuditHead *head, const AuditTold *told,
                   size_t count, AuditBlock *ret);

// AuditRead goes along a block. Public: entry, link and address of where it is; problem.
typedef struct AuditRead {
    AuditEntry entry;
    Sha256 link; // as it follows from the entries
    Str address; // none where it is erased
    AuditProblem problem;
    // private
    const AuditBlock *block;
    Str rest;
    int64_t seq; // of the entry
    Str lines[AUDIT_BLOCK_MAX];
    AuditTarget targets[AUDIT_BLOCK_MAX]; // of the lines
    bool has_target[AUDIT_BLOCK_MAX];
    size_t line_count, line; // line is the entry's, from 1; 0: none
} AuditRead;

// audit_read begins before the first entry. It fills what it is given, which is large.
void audit_read(const AuditBlock *block, AuditRead *ret);

// audit_next goes on to the next entry; false at the end, or where there is a problem.
bool audit_next(AuditRead *read);

// audit_before is the link that the block says lies before it; false where it says none.
bool audit_before(const AuditBlock *block, Sha256 *ret);

// audit_follow goes from a head along a block; where there is a problem it stays at the last sound
// entry. seen is asked to look at each that is sound, and may end the walk by a problem of its own.
typedef AuditProblem AuditSeen(void *with, const AuditRead *read);
AuditProblem audit_follow(AuditHead *head, const AuditBlock *block, AuditSeen *seen, void *with);
