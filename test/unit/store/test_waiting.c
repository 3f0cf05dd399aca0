#include "store/waiting.h"

#include "test.h"

static const OpKind plain = { .name = "plain" }, other = { .name = "other" };

static Op op_of(const OpKind *kind, size_t weight)
{
    return (Op){ .kind = kind, .weight = weight };
}

static void add_all(Waiting *waiting, Op *ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        waiting_add(waiting, &ops[i]);
}

// takes checks which operations a pen is given, in their order.
static void takes(Waiting *waiting, int pen, Op *const *wanted, size_t count)
{
    Op *batch[BATCH_OPS_MAX];
    CHECK(waiting_take(waiting, pen, batch) == count);
    for (size_t i = 0; i < count; i++)
        CHECK(batch[i] == wanted[i]);
}

static void they_go_in_the_order_in_which_they_came(void)
{
    Waiting waiting;
    Op ops[3] = { op_of(&plain, 1), op_of(&other, 1), op_of(&plain, 1) };
    waiting_init(&waiting, PENS_MAX);
    add_all(&waiting, ops, 3);
    takes(&waiting, 0, (Op *[]){ &ops[0], &ops[1], &ops[2] }, 3);
    CHECK(waiting.count == 0 && waiting.weight == 0 && waiting.bytes == 0);
    takes(&waiting, 0, NULL, 0);
}

static void urgent_ones_go_first_and_few_go_along(void)
{
    Waiting waiting;
    Op heavy = op_of(&plain, BATCH_WEIGHT_URGENT), more = op_of(&plain, 1),
       urgent = op_of(&plain, 1);
    urgent.is_urgent = true;
    waiting_init(&waiting, PENS_MAX);
    waiting_add(&waiting, &heavy);
    waiting_add(&waiting, &more);
    waiting_add(&waiting, &urgent);
    takes(&waiting, 0, (Op *[]){ &urgent, &heavy }, 2);
    takes(&waiting, 0, (Op *[]){ &more }, 1);
}

static void who_goes_alone_is_joined_by_urgent_ones_only(void)
{
    Waiting waiting;
    Op before = op_of(&plain, 1), alone = op_of(&plain, 1), after = op_of(&plain, 1),
       urgent = op_of(&plain, 1);
    alone.is_alone = true;
    urgent.is_urgent = true;
    waiting_init(&waiting, PENS_MAX);
    waiting_add(&waiting, &before);
    waiting_add(&waiting, &alone);
    waiting_add(&waiting, &after);
    takes(&waiting, 0, (Op *[]){ &before }, 1);
    waiting_add(&waiting, &urgent);
    takes(&waiting, 0, (Op *[]){ &urgent, &alone }, 2);
    takes(&waiting, 0, (Op *[]){ &after }, 1);
}

// The end of the line is found again after its last operation was taken out, wherever that lay.
static void what_comes_after_the_last_was_taken_is_not_lost(void)
{
    Waiting waiting;
    Op stays = op_of(&other, 1), last = op_of(&plain, 1), next = op_of(&plain, 1);
    waiting_init(&waiting, PENS_MAX);
    waiting.stuck[1] = &other; // the first is left to the second pen
    waiting_add(&waiting, &stays);
    waiting_add(&waiting, &last);
    takes(&waiting, 0, (Op *[]){ &last }, 1);
    waiting_add(&waiting, &next);
    CHECK(waiting.count == 2);
    takes(&waiting, 0, (Op *[]){ &next }, 1);
    takes(&waiting, 1, (Op *[]){ &stays }, 1);

    waiting_add(&waiting, &last); // and when nothing at all was left
    takes(&waiting, 0, (Op *[]){ &last }, 1);
}

static void what_is_returned_stands_at_the_head_in_its_order(void)
{
    Waiting waiting;
    Op ops[3] = { op_of(&plain, 1), op_of(&plain, 2), op_of(&plain, 3) };
    waiting_init(&waiting, PENS_MAX);
    waiting_add(&waiting, &ops[2]);
    waiting_return(&waiting, (Op *[]){ &ops[0], &ops[1] }, 2);
    CHECK(waiting.count == 3 && waiting.weight == 6);
    takes(&waiting, 0, (Op *[]){ &ops[0], &ops[1], &ops[2] }, 3);

    waiting_return(&waiting, (Op *[]){ &ops[0] }, 1); // into an empty line
    waiting_add(&waiting, &ops[1]);
    takes(&waiting, 0, (Op *[]){ &ops[0], &ops[1] }, 2);
}

static void only_the_impatient_of_the_kind_are_taken_out(void)
{
    Waiting waiting;
    Op ops[4] = { op_of(&plain, 1), op_of(&other, 1), op_of(&plain, 1), op_of(&plain, 1) };
    Instant until[4] = { 5, 5, 11, 10 };
    waiting_init(&waiting, PENS_MAX);
    for (int i = 0; i < 4; i++)
        ops[i].waits_until = until[i];
    add_all(&waiting, ops, 4);
    Op *taken = waiting_take_impatient(&waiting, &plain, 10);
    CHECK(taken == &ops[0] && taken->next == &ops[3] && !taken->next->next);
    Op late = op_of(&plain, 1);
    waiting_add(&waiting, &late); // the last was among those taken out
    takes(&waiting, 0, (Op *[]){ &ops[1], &ops[2], &late }, 3);
}

static void a_line_is_full_by_number_weight_or_bytes(void)
{
    Waiting waiting;
    Op heavy = op_of(&plain, WAITING_WEIGHT_MAX), long_one = op_of(&plain, 1);
    long_one.bytes = WAITING_BYTES_MAX;
    waiting_init(&waiting, PENS_MAX);
    CHECK(!waiting_is_full(&waiting));
    waiting_add(&waiting, &heavy);
    CHECK(waiting_is_full(&waiting));
    takes(&waiting, 0, (Op *[]){ &heavy }, 1);
    CHECK(!waiting_is_full(&waiting));
    waiting_add(&waiting, &long_one);
    CHECK(waiting_is_full(&waiting));
    takes(&waiting, 0, (Op *[]){ &long_one }, 1);
    waiting.count = WAITING_MAX;
    CHECK(waiting_is_full(&waiting));
}

static void what_takes_long_goes_to_the_pen_for_that(void)
{
    Waiting waiting;
    Op ops[4] = { op_of(&plain, 1), op_of(&plain, 1), op_of(&plain, 1), op_of(&plain, 1) };
    ops[0].is_urgent = ops[1].is_urgent = ops[2].is_urgent = ops[1].is_long = true;
    waiting_init(&waiting, 3);
    add_all(&waiting, ops, 4);
    takes(&waiting, 1, (Op *[]){ &ops[0], &ops[2], &ops[3] }, 3);
    takes(&waiting, 0, NULL, 0);
    takes(&waiting, 2, (Op *[]){ &ops[1] }, 1);
    waiting_init(&waiting, 1); // where there is one pen it is for all
    add_all(&waiting, ops, 4);
    takes(&waiting, 0, (Op *[]){ &ops[0], &ops[1], &ops[2], &ops[3] }, 4);
}

static const Test tests[] = {
    TEST(they_go_in_the_order_in_which_they_came),
    TEST(urgent_ones_go_first_and_few_go_along),
    TEST(who_goes_alone_is_joined_by_urgent_ones_only),
    TEST(what_comes_after_the_last_was_taken_is_not_lost),
    TEST(what_is_returned_stands_at_the_head_in_its_order),
    TEST(only_the_impatient_of_the_kind_are_taken_out),
    TEST(what_takes_long_goes_to_the_pen_for_that),
    TEST(a_line_is_full_by_number_weight_or_bytes),
};
TEST_MAIN(tests)
