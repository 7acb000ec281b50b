/* The first k of each row in order: topk, sort and argsort, and their gradient.
 *
 * An element becomes a key, a whole number whose order is that of the elements, so that all dtypes
 * and directions are one. Keys go with their places through stable sorts only: those that tie stay
 * in the order of their places. A row is one thread's, so the bits do not depend on the number of
 * threads. */
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

typedef struct {
    uint32_t key, place;
} pair;

enum { FEW = NDRT_TOPK_FEW, DIGIT = 11, DIGITS = 1 << DIGIT, BLOCK = 16 };

/* ---- keys ------------------------------------------------------------------------------------ */

/* 0 and -0 tie, and so does all that is NaN, behind infinity. */
static inline uint32_t key_of_float(uint32_t bits) {
    uint32_t size = bits << 1;
    uint32_t key = bits ^ ((uint32_t)((int32_t)bits >> 31) | 0x80000000u);
    key = size == 0 ? 0x80000000u : key;
    return size > 0xff000000u ? 0xffffffffu : key;
}

static inline uint32_t key_of(uint32_t bits, int is_float, uint32_t flip) {
    return (is_float ? key_of_float(bits) : bits ^ 0x80000000u) ^ flip;
}

/* The first block from `from` on, a multiple of BLOCK, with a key below a bound; what follows the
 * last whole block counts as one. */
__attribute__((noinline)) static int64_t next_block(const uint32_t *row, int64_t from, int64_t n,
                                                    int is_float, uint32_t flip, uint32_t bound) {
    for (; from + BLOCK <= n; from += BLOCK) {
        const uint32_t *block = row + from;
        uint32_t found = 0;
        if (is_float)
            for (int i = 0; i < BLOCK; i++) found |= (key_of_float(block[i]) ^ flip) < bound;
        else
            for (int i = 0; i < BLOCK; i++) found |= (block[i] ^ 0x80000000u ^ flip) < bound;
        if (found) break;
    }
    return from;
}

/* ---- stable sorts of pairs by their keys ----------------------------------------------------- */

static void insert_all(pair *data, int64_t from, int64_t n) {
    for (int64_t i = from; i < n; i++) {
        pair one = data[i];
        int64_t j = i;
        for (; j > 0 && data[j - 1].key > one.key; j--) data[j] = data[j - 1];
        data[j] = one;
    }
}

/* Digit by digit from the lowest; digits that are the same everywhere are passed over. */
static void sort_by_digits(pair *data, pair *other, int64_t n) {
    pair *from = data, *to = other;
    for (int shift = 0; shift < 32; shift += DIGIT) {
        int64_t counts[DIGITS] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++) counts[from[i].key >> shift & (DIGITS - 1)]++;
        if (counts[from[0].key >> shift & (DIGITS - 1)] == n) continue;
        for (int d = 0; d < DIGITS; d++) {
            int64_t count = counts[d];
            counts[d] = at;
            at += count;
        }
        for (int64_t i = 0; i < n; i++) to[counts[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
        pair *swap = from;
        from = to;
        to = swap;
    }
    if (from != data) memcpy(data, from, (size_t)n * sizeof *data);
}

/* Sorts n pairs of which the first `done` are in order already. */
static void sort_pairs(pair *data, pair *other, int64_t done, int64_t n) {
    if (n - done <= FEW)
        insert_all(data, done > 1 ? done : 1, n);
    else
        sort_by_digits(data, other, n);
}

/* ---- one row --------------------------------------------------------------------------------- */

static void insert(pair *kept, int64_t last, pair one) {
    for (; last > 0 && kept[last - 1].key > one.key; last--) kept[last] = kept[last - 1];
    kept[last] = one;
}

/* The first k pairs of a row, in order, where k is small: each candidate goes to its place. */
static void first_few(const uint32_t *row, int64_t n, int64_t k, int is_float, uint32_t flip,
                      pair *kept) {
    for (int64_t i = 0; i < k; i++)
        insert(kept, i, (pair){key_of(row[i], is_float, flip), (uint32_t)i});
    /* later places lose a tie with the worst that is kept */
    for (int64_t start = k / BLOCK * BLOCK; start < n; start += BLOCK) {
        start = next_block(row, start, n, is_float, flip, kept[k - 1].key);
        int64_t end = start + BLOCK < n ? start + BLOCK : n;
        for (int64_t i = start > k ? start : k; i < end; i++) {
            uint32_t key = key_of(row[i], is_float, flip);
            if (key < kept[k - 1].key) insert(kept, k - 1, (pair){key, (uint32_t)i});
        }
    }
}

/* The first k pairs of a row, in order, at the beginning of `kept`: of more candidates than that
 * the best are chosen from time to time. */
static void first_of_row(const uint32_t *row, int64_t n, int64_t k, int is_float, uint32_t flip,
                         pair *kept) {
    int64_t cap = ndrt_topk_candidates(n, k), count = 0, done = 0;
    pair *other = kept + cap;
    for (int64_t i = 0; i < cap; i++)
        kept[count++] = (pair){key_of(row[i], is_float, flip), (uint32_t)i};
    for (int64_t start = cap / BLOCK * BLOCK; cap < n && start < n; start += BLOCK) {
        if (count == cap) {
            sort_pairs(kept, other, done, count);
            count = done = k;
        }
        uint32_t bound = kept[k - 1].key;
        start = next_block(row, start, n, is_float, flip, bound);
        int64_t end = start + BLOCK < n ? start + BLOCK : n;
        for (int64_t i = start > cap ? start : cap; i < end; i++) {
            uint32_t key = key_of(row[i], is_float, flip);
            if (key >= bound) continue;
            if (count == cap) {
                sort_pairs(kept, other, done, count);
                count = done = k;
                bound = kept[k - 1].key;
                if (key >= bound) continue;
            }
            kept[count++] = (pair){key, (uint32_t)i};
        }
    }
    sort_pairs(kept, other, done, count);
}

static void topk_row(kernel_call *call, int64_t r, pair *scratch) {
    const ndrt_topk_args job = ndrt_read_topk(call);
    int64_t n = job.n, k = job.k;
    int what = job.what;
    const uint32_t *row = (const uint32_t *)job.data + r * n;
    int is_float = job.dtype == NDRT_F32;
    uint32_t flip = job.descending ? 0xffffffffu : 0;
    if (k <= FEW && k < n / 2)
        first_few(row, n, k, is_float, flip, scratch);
    else
        first_of_row(row, n, k, is_float, flip, scratch);
    if (what & 1) {
        uint32_t *values = (uint32_t *)job.values + r * k;
        for (int64_t i = 0; i < k; i++) values[i] = row[scratch[i].place];
    }
    if (!(what & 2)) return;
    if (job.places_dtype == NDRT_F32) {
        float *places = (float *)job.places + r * k;
        for (int64_t i = 0; i < k; i++) places[i] = (float)scratch[i].place;
    } else {
        int32_t *places = (int32_t *)job.places + r * k;
        for (int64_t i = 0; i < k; i++) places[i] = (int32_t)scratch[i].place;
    }
}

static void topk(kernel_call *call, int nthreads) {
    const ndrt_topk_args job = ndrt_read_topk(call);
    int64_t rows = job.rows, pairs = ndrt_topk_pairs(job.n, job.k);
    int64_t parts = job.slots < nthreads ? job.slots : nthreads;
#pragma omp parallel for schedule(static) num_threads((int)parts)
    for (int64_t part = 0; part < parts; part++)
        for (int64_t r = rows * part / parts; r < rows * (part + 1) / parts; r++)
            topk_row(call, r, (pair *)job.scratch + part * pairs);
}

static void topk_grad(kernel_call *call, int nthreads) {
    const ndrt_topk_grad_args job = ndrt_read_topk_grad(call);
    int64_t n = job.n, k = job.k;
    int whole = job.places_dtype == NDRT_S32;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t r = 0; r < job.rows; r++) {
        float *grad = job.dx + r * n;
        const float *in = job.dy + r * k;
        memset(grad, 0, (size_t)n * sizeof *grad);
        for (int64_t i = 0; i < k; i++) {
            int64_t at = whole ? ((const int32_t *)job.places)[r * k + i]
                               : (int64_t)((const float *)job.places)[r * k + i];
            if (at >= 0 && at < n) grad[at] = in[i];
        }
    }
}

/* ---- driver ---------------------------------------------------------------------------------- */

static int is_kind(int kind) { return kind == NDRT_F32 || kind == NDRT_S32; }

static ndrt_status check(const ndrt_kernel_call *call) {
    int is_topk = call->kernel == NDRT_KERNEL_TOPK;
    const char *name = is_topk ? "topk" : "topk gradient";
    const int64_t *d = call->counts;
    if (d[0] < 0 || d[1] < 0 || d[2] < 0 || d[2] > d[1] || d[1] > INT32_MAX)
        return ndrt_fail(NDRT_INVALID, "%s: %lld of %lld", name, (long long)d[2], (long long)d[1]);
    int64_t total = ndrt_product(d[0], d[1], 1);
    if (total < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (is_topk) {
        const ndrt_topk_args job = ndrt_read_topk(call);
        if (!is_kind(job.dtype) || !is_kind(job.places_dtype))
            return ndrt_fail(NDRT_INVALID, "%s: elements of kind %d, places of kind %d", name,
                             job.dtype, job.places_dtype);
        if (job.slots < 1 || job.what < 1 || job.what > 3)
            return ndrt_fail(NDRT_INVALID, "%s: %lld slots, %d is wanted", name,
                             (long long)job.slots, job.what);
    } else if (!is_kind(ndrt_read_topk_grad(call).places_dtype)) {
        return ndrt_fail(NDRT_INVALID, "%s: places of kind %d", name,
                         ndrt_read_topk_grad(call).places_dtype);
    }
    return total && d[2] ? ndrt_need_arrays(call, is_topk ? 4 : 3) : NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    return ndrt_team_for(call, call->counts[0] * call->counts[1]);
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    if (!call->counts[0] || !call->counts[1]) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_TOPK_GRAD)
        topk_grad(call, nthreads);
    else if (call->counts[2])
        topk(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_ordering = {"ordering", check, threads, execute};
