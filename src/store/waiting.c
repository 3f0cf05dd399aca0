#include "store/waiting.h"

static void list_init(OpList *list)
{
    list->first = NULL;
    list->last = &list->first;
}

void waiting_init(Waiting *waiting, int pens)
{
    *waiting = (Waiting){ .slow_pen = pens > 1 ? pens - 1 : -1 };
    list_init(&waiting->urgent);
    list_init(&waiting->others);
}

static OpList *list_of(Waiting *waiting, const Op *op)
{
    return op->is_urgent ? &waiting->urgent : &waiting->others;
}

bool waiting_is_full(const Waiting *waiting)
{
    return waiting->count >= WAITING_MAX || waiting->weight >= WAITING_WEIGHT_MAX ||
           waiting->bytes >= WAITING_BYTES_MAX;
}

static void add_figures(Waiting *waiting, const Op *op)
{
    waiting->count++;
    waiting->weight += op_weight(op);
    waiting->bytes += op->bytes;
}

void waiting_add(Waiting *waiting, Op *op)
{
    OpList *list = list_of(waiting, op);
    op->next = NULL;
    *list->last = op;
    list->last = &op->next;
    add_figures(waiting, op);
}

void waiting_return(Waiting *waiting, Op **ops, size_t count)
{
    while (count-- > 0) {
        Op *op = ops[count];
        OpList *list = list_of(waiting, op);
        if (!list->first)
            list->last = &op->next;
        op->next = list->first;
        list->first = op;
        add_figures(waiting, op);
    }
}

// take_at takes out the operation that *link leads to.
static Op *take_at(Waiting *waiting, OpList *list, Op **link)
{
    Op *op = *link;
    *link = op->next;
    if (!op->next)
        list->last = link;
    assert(waiting->count > 0 && waiting->weight >= op_weight(op) && waiting->bytes >= op->bytes);
    waiting->count--;
    waiting->weight -= op_weight(op);
    waiting->bytes -= op->bytes;
    return op;
}

bool waiting_is_left_alone(const Waiting *waiting, int pen, const OpKind *kind)
{
    for (int i = 0; i < PENS_MAX; i++)
        if (i != pen && waiting->stuck[i] == kind)
            return true;
    return false;
}

bool waiting_is_for(const Waiting *waiting, int pen, const Op *op)
{
    return waiting->slow_pen < 0 || op->is_long == (pen == waiting->slow_pen);
}

typedef struct Batch {
    Op **ops;
    size_t count, weight;
} Batch;

static void take_from(Waiting *waiting, OpList *list, int pen, size_t weight_max, Batch *batch)
{
    size_t urgent = batch->count;
    bool is_alone = false;
    for (Op **link = &list->first;
         *link && batch->count < BATCH_OPS_MAX && batch->weight < weight_max && !is_alone;) {
        if (!waiting_is_for(waiting, pen, *link) ||
            waiting_is_left_alone(waiting, pen, (*link)->kind)) {
            link = &(*link)->next;
            continue;
        }
        is_alone = (*link)->is_alone;
        if (is_alone && batch->count > urgent)
            return;
        Op *op = take_at(waiting, list, link);
        batch->weight += op_weight(op);
        batch->ops[batch->count++] = op;
    }
}

size_t waiting_take(Waiting *waiting, int pen, Op *batch_ops[BATCH_OPS_MAX])
{
    Batch batch = { .ops = batch_ops };
    take_from(waiting, &waiting->urgent, pen, BATCH_WEIGHT_MAX, &batch);
    take_from(waiting, &waiting->others, pen, batch.count ? BATCH_WEIGHT_URGENT : BATCH_WEIGHT_MAX,
              &batch);
    return batch.count;
}

Op *waiting_take_impatient(Waiting *waiting, const OpKind *kind, Instant now)
{
    Op *taken = NULL, **taken_last = &taken;
    OpList *const lists[] = { &waiting->urgent, &waiting->others };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (Op **link = &lists[i]->first; *link;) {
            if ((*link)->kind != kind || (*link)->waits_until > now) {
                link = &(*link)->next;
                continue;
            }
            *taken_last = take_at(waiting, lists[i], link);
            taken_last = &(*taken_last)->next;
        }
    }
    *taken_last = NULL;
    return taken;
}
