#include "domain/curve.h"

#include "base/varint.h"

// The first bucket is what took less than a millisecond; each doubling after it has SUB buckets.
enum { SUB = 4, SUB_BITS = 2 };

size_t curve_bucket(Span took)
{
    int64_t ms = took > 0 ? took / SPAN_MILLISECOND : 0; // a clock may have been put back
    if (ms == 0)
        return 0;
    int octave = 63 - __builtin_clzll((unsigned long long) ms);
    int64_t within = octave >= SUB_BITS ? ms >> (octave - SUB_BITS) : ms << (SUB_BITS - octave);
    size_t bucket = 1 + (size_t) octave * SUB + (size_t) (within - SUB);
    return bucket < CURVE_BUCKETS ? bucket : CURVE_BUCKETS - 1;
}

// bound is where a bucket begins, in thousandths of a millisecond.
static int64_t bound(size_t bucket)
{
    if (bucket == 0)
        return 0;
    size_t octave = (bucket - 1) / SUB;
    return (int64_t) ((bucket - 1) % SUB + SUB) * 1000 / SUB << octave;
}

int64_t curve_percentile(const CurveFigures *figures, int percent)
{
    uint64_t all = 0, before = 0;
    for (size_t i = 0; i < CURVE_BUCKETS; i++)
        all += figures->took[i];
    if (all == 0)
        return -1;
    uint64_t rank = (all * (uint64_t) percent + 99) / 100; // from 1
    for (size_t i = 0;; i++) {
        uint32_t n = figures->took[i];
        if (before + n < rank) {
            before += n;
            continue;
        }
        // Those of a bucket are taken to lie evenly in it.
        double part = (double) (rank - before) / n;
        double at = (double) bound(i) + part * (double) (bound(i + 1) - bound(i));
        return (int64_t) (at / 1000 + 0.5);
    }
}

void curve_add(CurveFigures *to, const CurveFigures *from)
{
    to->received += from->received;
    to->delivered += from->delivered;
    to->failed += from->failed;
    to->parked += from->parked;
    for (size_t i = 0; i < CURVE_BUCKETS; i++)
        to->took[i] += from->took[i];
}

void curve_pack(Buf *out, int64_t lane, const CurveFigures *figures)
{
    size_t used = 0, last = 0;
    for (size_t i = 0; i < CURVE_BUCKETS; i++)
        used += figures->took[i] > 0;
    varint_add_signed(out, lane);
    varint_add(out, (uint64_t) figures->received);
    varint_add(out, (uint64_t) figures->delivered);
    varint_add(out, (uint64_t) figures->failed);
    varint_add(out, (uint64_t) figures->parked);
    varint_add(out, used);
    for (size_t i = 0; i < CURVE_BUCKETS; i++) {
        if (figures->took[i] == 0)
            continue;
        varint_add(out, i - last);
        varint_add(out, figures->took[i]);
        last = i;
    }
}

static bool take_count(Str *rest, int64_t *ret)
{
    uint64_t n;
    if (!varint_take(rest, &n) || n > INT64_MAX / 2)
        return false;
    *ret = (int64_t) n;
    return true;
}

static bool take_buckets(Str *rest, CurveFigures *ret)
{
    uint64_t used, step, n;
    size_t bucket = 0;
    if (!varint_take(rest, &used) || used > CURVE_BUCKETS)
        return false;
    for (uint64_t i = 0; i < used; i++) {
        if (!varint_take(rest, &step) || !varint_take(rest, &n) || n > UINT32_MAX ||
            step >= CURVE_BUCKETS - bucket)
            return false;
        bucket += step;
        ret->took[bucket] = (uint32_t) n;
    }
    return true;
}

bool curve_take(Str *rest, int64_t *ret_lane, CurveFigures *ret)
{
    *ret = (CurveFigures){ 0 };
    return rest->len > 0 && varint_take_signed(rest, ret_lane) &&
           take_count(rest, &ret->received) && take_count(rest, &ret->delivered) &&
           take_count(rest, &ret->failed) && take_count(rest, &ret->parked) &&
           take_buckets(rest, ret);
}
