#include "api/served.h"

#include "test.h"

// What is decided in a transaction refers to the transaction's snapshot until the call is answered.
// A store that was away is read anew at the generation that it was at: the snapshot is another all
// the same.
static void a_call_holds_the_snapshot_that_it_is_decided_on(void)
{
    static const Route route = { .roles = ANYONE };
    Registry before = { .holders = 2, .generation = 7, .stamp = 2 };
    Registry reloaded = { .holders = 1, .generation = 7, .stamp = 3 };
    Served served = { .call = { .route = &route, .registry = &before } };
    CHECK(rights_readmit(&served, &before, 0, NULL) == ERR_OK);
    CHECK(served.call.registry == &before && before.holders == 2);
    CHECK(rights_readmit(&served, &reloaded, 0, NULL) == ERR_OK);
    CHECK(served.call.registry == &reloaded);
    CHECK(reloaded.holders == 2 && before.holders == 1);
}

static const Test tests[] = {
    TEST(a_call_holds_the_snapshot_that_it_is_decided_on),
};

TEST_MAIN(tests)
