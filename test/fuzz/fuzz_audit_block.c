#include "domain/audit_block.h"

#include "fuzz.h"

// The bytes are what a row of the store holds: an octet each for where it says it begins and how
// many entries it has, for how long its addresses are, the whole link, the addresses and the body.

enum { HEAD = 3 };

static AuditBlock block_of(const uint8_t *data, size_t size)
{
    static const int64_t firsts[] = { 1, 2, 40, 0, -1, INT64_MIN, INT64_MAX, INT64_MAX - 1 };
    Str rest = { (const char *) data + HEAD + SHA256_LEN, size - HEAD - SHA256_LEN };
    AuditBlock block = { .tenant = 1, .first = firsts[data[0] % ARRAY_LEN(firsts)] };
    block.last = (int64_t) ((uint64_t) block.first + data[1] - 1);
    memcpy(block.link.b, data + HEAD, SHA256_LEN);
    block.targets = (Str){ rest.at, data[2] < rest.len ? data[2] : rest.len };
    block.body = str_skip(rest, block.targets.len);
    return block;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    DEFER(arena_done) Arena arena = { 0 };
    static AuditRead read;
    Sha256 before;
    AuditTold told[AUDIT_BLOCK_MAX];
    size_t count = 0;
    if (size < HEAD + SHA256_LEN)
        return 0;
    AuditBlock block = block_of(data, size);
    if (!audit_before(&block, &before))
        return 0;
    AuditHead head = { (int64_t) ((uint64_t) block.first - 1), before }, again = head;
    audit_read(&block, &read);
    while (count < AUDIT_BLOCK_MAX && audit_next(&read))
        told[count++] = (AuditTold){ read.entry, read.address };
    AuditProblem problem = audit_follow(&head, &block, NULL, NULL);
    if (problem || count == 0 || count == AUDIT_BLOCK_MAX)
        return 0;
    // What is sound is told in the same links when it is packed anew.
    AuditBlock packed;
    for (size_t done = 0; done < count;)
        done += audit_block(&arena, block.tenant, &again, told + done, count - done, &packed);
    assert(again.seq == head.seq && memcmp(again.link.b, head.link.b, SHA256_LEN) == 0);
    return 0;
}
