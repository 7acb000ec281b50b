/* Batch normalization with given statistics: each channel is brought to mean beta and deviation
 * gamma, and what is below 0 may become 0.
 *
 * In float32, each step rounded as NumPy rounds it. */
#include <math.h>
#include <stdint.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

typedef ndrt_normalize_channels_args norm;

enum { STRIP = 256 }; /* channels side by side whose slopes are computed at once */

typedef struct {
    float mean[STRIP], slope[STRIP], beta[STRIP];
} strip;

static inline int64_t blocks_of(const norm *k) { return (k->channels + k->block - 1) / k->block; }

/* What is done to `width` channels from `first` on. Channels of padding become 0. */
static void prepare(const norm *k, int64_t first, int64_t width, strip *s) {
    int64_t real = k->channels - first;
    real = real < 0 ? 0 : real > width ? width : real;
#pragma omp simd
    for (int64_t c = 0; c < real; c++) {
        const float slope = 1 / sqrtf(k->var[first + c] + k->epsilon);
        s->mean[c] = k->mean[first + c];
        s->slope[c] = k->gamma ? slope * k->gamma[first + c] : slope;
        s->beta[c] = k->beta[first + c];
    }
    for (int64_t c = real; c < width; c++) s->mean[c] = s->slope[c] = s->beta[c] = 0;
}

/* NaN stays NaN, as in NumPy's maximum. */
static inline float finish(float y, int relu) { return relu && y < 0 ? 0 : y; }

static inline void one_channel(float *out, const float *x, int64_t n, const strip *s, int relu) {
    const float mean = s->mean[0], slope = s->slope[0], beta = s->beta[0];
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = finish((x[i] - mean) * slope + beta, relu);
}

static inline void rows_of_channels(float *out, const float *x, int64_t rows, int64_t step,
                                    int64_t width, const strip *s, int relu) {
    for (int64_t i = 0; i < rows; i++, out += step, x += step)
#pragma omp simd
        for (int64_t c = 0; c < width; c++)
            out[c] = finish((x[c] - s->mean[c]) * s->slope[c] + s->beta[c], relu);
}

/* Rows of a block of channels, `block` apart. */
static void segment(const norm *k, int64_t at, int64_t first, int64_t rows) {
    for (int64_t c = 0; c < k->block; c += STRIP) {
        const int64_t width = k->block - c < STRIP ? k->block - c : STRIP;
        float *out = k->out + at + c;
        const float *x = k->data + at + c;
        strip s;
        prepare(k, first + c, width, &s);
        if (k->block == 1)
            k->relu ? one_channel(out, x, rows, &s, 1) : one_channel(out, x, rows, &s, 0);
        else if (k->block == 8) /* oneDNN's blocks: without loops over channels */
            k->relu ? rows_of_channels(out, x, rows, 8, 8, &s, 1)
                    : rows_of_channels(out, x, rows, 8, 8, &s, 0);
        else if (k->block == 16)
            k->relu ? rows_of_channels(out, x, rows, 16, 16, &s, 1)
                    : rows_of_channels(out, x, rows, 16, 16, &s, 0);
        else
            k->relu ? rows_of_channels(out, x, rows, k->block, width, &s, 1)
                    : rows_of_channels(out, x, rows, k->block, width, &s, 0);
    }
}

static void range(const norm *k, int64_t from, int64_t to) {
    while (from < to) {
        const int64_t block = from / k->inner, end = (block + 1) * k->inner;
        const int64_t rows = (end < to ? end : to) - from;
        segment(k, from * k->block, block % blocks_of(k) * k->block, rows);
        from += rows;
    }
}

static int64_t rows_of(const norm *k) { return ndrt_product(k->outer, blocks_of(k), k->inner); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    const norm k = ndrt_read_normalize_channels(call);
    const int64_t rows = rows_of(&k);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) range(&k, rows * i / nthreads, rows * (i + 1) / nthreads);
    return NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    const norm k = ndrt_read_normalize_channels(call);
    if (call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "batch normalization: %d threads", call->nthreads);
    if (k.outer < 0 || k.channels < 0 || k.inner < 0)
        return ndrt_fail(NDRT_INVALID, "batch normalization: a count below 0");
    if (k.block < 1) /* blocks have a channel */
        return ndrt_fail(NDRT_INVALID, "batch normalization: a count below 1");
    int64_t n = k.channels > INT64_MAX - k.block ? -1 : rows_of(&k);
    if (n >= 0) n = ndrt_product(n, k.block, 1);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "batch normalization: more elements than can be");
    return n ? ndrt_need_arrays(call, 5) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const norm k = ndrt_read_normalize_channels(call);
    return ndrt_team_for(call, rows_of(&k) * k.block);
}

const ndrt_family ndrt_family_channel_norm = {"batch normalization", check, threads, execute};
