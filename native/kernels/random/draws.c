/* Kernels that draw random numbers: arrays of them, indices by their probabilities, rows in random
 * order. A kernel takes its words from its stream when it runs, as many as its dims imply, so that
 * a replayed plan draws the next numbers. Results do not depend on which thread draws what. */
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_draws.h"

typedef const ndrt_kernel_call kernel_call;
enum { N = NDRT_WORDS };

/* Where the draw begins. */
static ndrt_random taken(ndrt_random *stream, int64_t words) {
    ndrt_random begin;
    ndrt_random_draw(stream, words, &begin);
    return begin;
}

/* ---- arrays of numbers ------------------------------------------------------------ */

static float from_half(uint16_t bits) { return _cvtsh_ss(bits); }

static uint16_t to_half(double x) { return _cvtss_sh((float)x, _MM_FROUND_TO_NEAREST_INT); }

static double number_at(const void *array, int kind, int64_t i) {
    switch (kind) {
    case NDRT_F16: return from_half(((const uint16_t *)array)[i]);
    case NDRT_F32: return ((const float *)array)[i];
    case NDRT_F64: return ((const double *)array)[i];
    case NDRT_S32: return ((const int32_t *)array)[i];
    case NDRT_S8: return ((const int8_t *)array)[i];
    case NDRT_U8: return ((const uint8_t *)array)[i];
    default: return (double)((const int64_t *)array)[i];
    }
}

/* The parameters of elements from to from + N - 1; of those behind the last some that do no harm.
 */
static void parameters(const ndrt_draw_args *job, int which, int64_t from, int count, double *out) {
    const int64_t each = job->each;
    if (!each) {
        for (int i = 0; i < N; i++) out[i] = which ? job->b : job->a;
        return;
    }
    for (int i = 0; i < N; i++) out[i] = 1;
    const void *array = which ? job->second : job->first;
    if (!array) return;
    int64_t at = from / each, left = each - from % each;
    for (int i = 0; i < count; i++) {
        out[i] = number_at(array, job->kind, at);
        if (--left == 0) at++, left = each;
    }
}

/* The half number next to x in the direction of 0 or below. */
static uint16_t below_half(uint16_t x) {
    return (x & 0x7FFF) == 0 ? 0x8001 : (uint16_t)(x & 0x8000 ? x + 1 : x - 1);
}

static void to_floats(const double *in, int count, float *out) {
#pragma omp simd
    for (int i = 0; i < count; i++) out[i] = (float)in[i];
}

/* Numbers in the dtype of the output. Rounding may take uniform ones to the end of their interval,
 * which is not in it: those become the number below. */
static void store(const ndrt_draw_args *job, int64_t from, int count, const double *made,
                  const double *low, const double *high) {
    int bounded = job->distribution == NDRT_DRAW_UNIFORM;
    if (job->dtype == NDRT_F32) {
        float *out = (float *)job->out + from;
        to_floats(made, count, out);
        for (int i = 0; bounded && i < count; i++) {
            float end = (float)high[i];
            if (out[i] >= end && (float)low[i] < end) out[i] = nextafterf(end, -INFINITY);
        }
    } else if (job->dtype == NDRT_F64) {
        double *out = (double *)job->out + from;
        memcpy(out, made, (size_t)count * sizeof *out);
        for (int i = 0; bounded && i < count; i++)
            if (out[i] >= high[i] && low[i] < high[i]) out[i] = nextafter(high[i], -INFINITY);
    } else {
        uint16_t *out = (uint16_t *)job->out + from;
        for (int i = 0; i < count; i++) {
            out[i] = to_half(made[i]);
            if (!bounded) continue;
            uint16_t end = to_half(high[i]);
            float limit = from_half(end);
            if (from_half(out[i]) >= limit && from_half(to_half(low[i])) < limit)
                out[i] = below_half(end);
        }
    }
}

/* VALUE for parameters in arrays that say nothing of what is to be drawn. */
static ndrt_status need_meaning(kernel_call *call) {
    const ndrt_draw_args job = ndrt_read_draw(call);
    if (!job.each) return NDRT_OK;
    for (int64_t i = 0; i < job.n / job.each; i++) {
        double a = number_at(job.first, job.kind, i);
        double b = job.second ? number_at(job.second, job.kind, i) : 1;
        const ndrt_parameters *of = ndrt_parameters_of(job.distribution);
        if (of->mean_something(a, b)) continue;
        if (job.second)
            return ndrt_fail(NDRT_VALUE,
                             "parameters at place %lld are %s=%g and %s=%g, expected %s",
                             (long long)i, of->a, a, of->b, b, of->expected);
        return ndrt_fail(NDRT_VALUE, "parameter at place %lld is %s=%g, expected %s", (long long)i,
                         of->a, a, of->expected);
    }
    return NDRT_OK;
}

static void draw(kernel_call *call, int nthreads) {
    const ndrt_draw_args job = ndrt_read_draw(call);
    int64_t n = job.n, parts = (n + N - 1) / N;
    int distribution = job.distribution, wide = job.dtype == NDRT_F64;
    ndrt_random begin = taken(job.stream, n * ndrt_words_of(distribution, wide));
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < parts; part++) {
        int64_t from = part * N;
        int count = n - from < N ? (int)(n - from) : N;
        double a[N], b[N], made[N];
        parameters(&job, 0, from, count, a);
        parameters(&job, 1, from, count, b);
        ndrt_draw(distribution, wide, begin.key, begin.counter, from, count, a, b, made);
        store(&job, from, count, made, a, b);
    }
}

/* ---- whole numbers --------------------------------------------------------------------------- */

/* 64 random bits for each of 32 elements. */
enum { PAIRS = N / 2 };
__extension__ typedef unsigned __int128 product;

static void randint(kernel_call *call, int nthreads) {
    const ndrt_randint_args job = ndrt_read_randint(call);
    int64_t n = job.n, parts = (n + PAIRS - 1) / PAIRS;
    uint64_t least = (uint64_t)job.least, count = (uint64_t)job.range;
    int32_t *out = job.out;
    ndrt_random begin = taken(job.stream, 2 * n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < parts; part++) {
        uint32_t words[N];
        int64_t from = part * PAIRS, to = from + PAIRS < n ? from + PAIRS : n;
        ndrt_philox_blocks(begin.key, begin.counter + (uint64_t)from / 2, words);
        for (int64_t i = from; i < to; i++) {
            const uint32_t *w = words + 2 * (i - from);
            product scaled = (product)((uint64_t)w[0] << 32 | w[1]) * count;
            out[i] = (int32_t)(uint32_t)((uint64_t)(scaled >> 64) + least);
        }
    }
}

/* ---- places by their probabilities ----------------------------------------------------------- */

/* What probabilities add up to at most, as they are rounded; those of half precision near 0 are
 * rounded by up to that much more each. */
static const double MOST_IN_ALL = 1.01, HALF_ROUNDING = 0x1p-25;

static void put_place(void *out, int dtype, int64_t i, int64_t place) {
    switch (dtype) {
    case NDRT_U8: ((uint8_t *)out)[i] = (uint8_t)place; break;
    case NDRT_S32: ((int32_t *)out)[i] = (int32_t)place; break;
    case NDRT_F16: ((uint16_t *)out)[i] = to_half((double)place); break;
    case NDRT_F32: ((float *)out)[i] = (float)place; break;
    default: ((double *)out)[i] = (double)place; break;
    }
}

static void put_log(void *out, int dtype, int64_t i, double probability) {
    double made = probability >= DBL_MIN ? ndrt_plain_log(probability) : log(probability);
    if (dtype == NDRT_F32)
        ((float *)out)[i] = (float)made;
    else if (dtype == NDRT_F64)
        ((double *)out)[i] = made;
    else
        ((uint16_t *)out)[i] = to_half(made);
}

/* Running sums of a row, and after them the last place with a probability. 0 where a number is
 * below 0 or NaN, or where they do not add up to at most `most`. */
static int add_up(const void *data, int kind, int64_t first, int64_t width, double most,
                  double *totals) {
    double sum = 0;
    int64_t last = width - 1;
    int fits = 1;
    for (int64_t j = 0; j < width; j++) {
        double p = number_at(data, kind, first + j);
        totals[j] = sum = j ? sum + p : p;
        if (p > 0) last = j;
        fits &= p >= 0;
    }
    totals[width] = (double)last;
    return fits && sum > 0 && sum <= most;
}

/* VALUE for a row of numbers that are no probabilities. */
static ndrt_status need_probabilities(kernel_call *call, int nthreads) {
    const ndrt_multinomial_args job = ndrt_read_multinomial(call);
    int64_t rows = job.rows, width = job.width, wrong = job.rows;
    const void *data = job.data;
    double *totals = job.totals;
    int kind = job.kind;
    double most = MOST_IN_ALL + (kind == NDRT_F16 ? (double)width * HALF_ROUNDING : 0);
#pragma omp parallel for schedule(static) num_threads(nthreads) reduction(min : wrong)
    for (int64_t row = 0; row < rows; row++)
        if (!add_up(data, kind, row * width, width, most, totals + row * (width + 1)) &&
            row < wrong)
            wrong = row;
    if (wrong == rows) return NDRT_OK;
    for (int64_t j = 0; j < width; j++) {
        double p = number_at(data, kind, wrong * width + j);
        if (!(p >= 0))
            return ndrt_fail(NDRT_VALUE,
                             "row %lld of data has %g at place %lld, expected probabilities",
                             (long long)wrong, p, (long long)j);
    }
    return ndrt_fail(NDRT_VALUE, "row %lld of data adds up to %g, expected probabilities: 1",
                     (long long)wrong, totals[wrong * (width + 1) + width - 1]);
}

/* How many totals are not above u, by bisection; at most the last place with a probability. */
static int64_t place_of(const double *totals, int64_t width, double u) {
    int64_t low = 0, high = width;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (totals[middle] <= u)
            low = middle + 1;
        else
            high = middle;
    }
    return low < (int64_t)totals[width] ? low : (int64_t)totals[width];
}

static void multinomial(kernel_call *call, int nthreads) {
    const ndrt_multinomial_args job = ndrt_read_multinomial(call);
    int64_t width = job.width, draws = job.draws;
    int64_t n = job.rows * draws, parts = (n + PAIRS - 1) / PAIRS;
    int places = job.dtype, kind = job.kind;
    const void *data = job.data;
    const double *totals = job.totals;
    ndrt_random begin = taken(job.stream, 2 * n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < parts; part++) {
        uint32_t words[N];
        int64_t from = part * PAIRS, to = from + PAIRS < n ? from + PAIRS : n;
        ndrt_philox_blocks(begin.key, begin.counter + (uint64_t)from / 2, words);
        for (int64_t i = from; i < to; i++) {
            const uint32_t *w = words + 2 * (i - from);
            int64_t row = i / draws;
            int64_t place = place_of(totals + row * (width + 1), width, ndrt_unit(w[0], w[1]));
            put_place(job.places, places, i, place);
            if (job.logs) put_log(job.logs, kind, i, number_at(data, kind, row * width + place));
        }
    }
}

/* ---- rows in random order -------------------------------------------------------------------- */

/* About as many buckets as rows, a power of two. */
static int bucket_bits(int64_t rows) {
    int bits = 0;
    while (bits < 40 && (int64_t)1 << (bits + 1) <= rows) bits++;
    return bits;
}

/* The rows in the order of their keys; those with one key in their own. Keys are spread evenly, so
 * that few share a bucket. */
static void order_of(const uint64_t *keys, int64_t rows, int64_t *order, int64_t *ends) {
    int bits = bucket_bits(rows);
    int64_t buckets = (int64_t)1 << bits;
#define BUCKET(i) (bits ? (int64_t)(keys[i] >> (64 - bits)) : 0)
    memset(ends, 0, (size_t)(buckets + 1) * sizeof *ends);
    for (int64_t i = 0; i < rows; i++) ends[BUCKET(i) + 1]++;
    for (int64_t b = 0; b < buckets; b++) ends[b + 1] += ends[b];
    for (int64_t i = 0; i < rows; i++) order[ends[BUCKET(i)]++] = i;
#undef BUCKET
    for (int64_t b = 0, first = 0; b < buckets; first = ends[b++])
        for (int64_t i = first + 1; i < ends[b]; i++) {
            int64_t row = order[i], j = i;
            for (; j > first && keys[order[j - 1]] > keys[row]; j--) order[j] = order[j - 1];
            order[j] = row;
        }
}

static void shuffle(kernel_call *call, int nthreads) {
    const ndrt_shuffle_args job = ndrt_read_shuffle(call);
    int64_t rows = job.rows, parts = (rows + PAIRS - 1) / PAIRS;
    size_t width = (size_t)job.width;
    uint64_t *keys = job.scratch;
    int64_t *order = (int64_t *)keys + rows, *ends = order + rows;
    char *out = job.out;
    const char *in = job.data;
    ndrt_random begin = taken(job.stream, 2 * rows);
#pragma omp parallel num_threads(nthreads)
    {
#pragma omp for schedule(static)
        for (int64_t part = 0; part < parts; part++) {
            uint32_t words[N];
            int64_t from = part * PAIRS, to = from + PAIRS < rows ? from + PAIRS : rows;
            ndrt_philox_blocks(begin.key, begin.counter + (uint64_t)from / 2, words);
            for (int64_t i = from; i < to; i++)
                keys[i] = (uint64_t)words[2 * (i - from)] << 32 | words[2 * (i - from) + 1];
        }
#pragma omp single
        order_of(keys, rows, order, ends);
        if (width == 4) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < rows; i++)
                ((uint32_t *)(void *)out)[i] = ((const uint32_t *)(const void *)in)[order[i]];
        } else {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < rows; i++)
                memcpy(out + (size_t)i * width, in + (size_t)order[i] * width, width);
        }
    }
}

/* ---- driver ---------------------------------------------------------------------------------- */

enum { FIRST = NDRT_KERNEL_PHILOX };

static const struct {
    const char *name;
    int ndims, ndata;
    void (*run)(kernel_call *call, int nthreads);
} kernels[] = {
    [NDRT_KERNEL_PHILOX - FIRST] = {"philox", 1, 1, ndrt_philox},
    [NDRT_KERNEL_DROPOUT_MASK - FIRST] = {"dropout mask", 1, 2, ndrt_dropout_mask},
    [NDRT_KERNEL_DROPOUT - FIRST] = {"dropout", 1, 4, ndrt_dropout},
    [NDRT_KERNEL_UNIFORM - FIRST] = {"uniform", 1, 2, ndrt_random_uniform},
    [NDRT_KERNEL_NORMAL - FIRST] = {"normal", 1, 2, ndrt_random_normal},
    [NDRT_KERNEL_DRAW - FIRST] = {"draw", 1, 2, draw},
    [NDRT_KERNEL_RANDINT - FIRST] = {"randint", 1, 2, randint},
    [NDRT_KERNEL_MULTINOMIAL - FIRST] = {"multinomial", 3, 4, multinomial},
    [NDRT_KERNEL_SHUFFLE - FIRST] = {"shuffle", 2, 4, shuffle},
};

/* Elements that are written. */
static int64_t written(kernel_call *call) {
    int64_t n = call->counts[0], more = 1;
    if (call->kernel == NDRT_KERNEL_MULTINOMIAL) more = call->counts[2];
    if (call->kernel == NDRT_KERNEL_SHUFFLE) more = call->counts[1];
    return __builtin_mul_overflow(n, more, &n) ? -1 : n;
}

static int is_number(int kind) {
    return kind == NDRT_F16 || kind == NDRT_F32 || kind == NDRT_F64 || kind == NDRT_S32 ||
           kind == NDRT_S8 || kind == NDRT_U8 || kind == NDRT_INDEX_S64;
}

static int is_float(int dtype) {
    return dtype == NDRT_F16 || dtype == NDRT_F32 || dtype == NDRT_F64;
}

static ndrt_status check_draw(kernel_call *call) {
    const ndrt_draw_args job = ndrt_read_draw(call);
    if (job.distribution < 0 || job.distribution > NDRT_DRAW_GENERALIZED || job.each < 0 ||
        !is_float(job.dtype))
        return ndrt_fail(NDRT_INVALID, "draw: distribution %d, each %lld, dtype %d",
                         job.distribution, (long long)job.each, job.dtype);
    if (job.each && (!job.first || !is_number(job.kind)))
        return ndrt_fail(NDRT_INVALID, "draw: parameters of kind %d", job.kind);
    return NDRT_OK;
}

static ndrt_status check_multinomial(kernel_call *call) {
    const ndrt_multinomial_args job = ndrt_read_multinomial(call);
    if (job.width < 1 || !is_number(job.dtype) || !is_float(job.kind))
        return ndrt_fail(NDRT_INVALID,
                         "multinomial: %lld places of kind %d, probabilities of kind %d",
                         (long long)job.width, job.dtype, job.kind);
    return NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    int at = call->kernel - FIRST;
    const char *name = kernels[at].name;
    for (int i = 0; i < kernels[at].ndims; i++)
        if (call->counts[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    int64_t n = written(call);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (n == 0) return NDRT_OK;
    for (int i = 0; i < kernels[at].ndata; i++)
        if (!call->data[i]) return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    if (call->kernel == NDRT_KERNEL_DRAW) return check_draw(call);
    if (call->kernel == NDRT_KERNEL_RANDINT && !ndrt_read_randint(call).range)
        return ndrt_fail(NDRT_INVALID, "%s: no numbers to choose from", name);
    if (call->kernel == NDRT_KERNEL_MULTINOMIAL) return check_multinomial(call);
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    int64_t n = written(call);
    if (call->kernel == NDRT_KERNEL_MULTINOMIAL) n += call->counts[0] * call->counts[1];
    if (n < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    if (!written(call)) return NDRT_OK;
    /* before a number is taken from the stream or written */
    if (call->kernel == NDRT_KERNEL_DRAW) TRY(need_meaning(call));
    if (call->kernel == NDRT_KERNEL_MULTINOMIAL) TRY(need_probabilities(call, nthreads));
    kernels[call->kernel - FIRST].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_draws = {"draws", check, threads, execute};
