/* Computes mean and variance of channels again where single precision has lost them, or of all.
 *
 * oneDNN sums in float: far from 0 the mean is off by more than the data varies, and the variance
 * is taken around that mean. Here sums are doubles. A channel is summed by one thread in one order,
 * so the bits do not depend on the number of threads. */
#include <math.h>
#include <stdint.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { WIDEST = 16 }; /* contiguous channels that are summed together */

typedef ndrt_batch_stats_args stats;

/* An array (outer, blocks of channels, inner, channels of a block). */
typedef struct {
    int64_t outer, channels, inner, block, strips; /* of a block */
} layout;

static layout layout_of(const stats *k) {
    return (layout){k->outer, k->channels, k->inner, k->block, (k->block + WIDEST - 1) / WIDEST};
}

static inline int64_t blocks_of(layout at) { return (at.channels + at.block - 1) / at.block; }

/* A sum of n floats near the mean is a multiple of about n * |mean| * 2**-23. As long as that is
 * below the deviation, rounding goes up as often as down; beyond it, it may go one way always. */
static int is_lost(const stats *k, layout at, int64_t channel) {
    if (k->all) return 1;
    double mean = (double)k->mean[channel], var = (double)k->var[channel];
    double terms = (double)(at.outer * at.inner) + 64;
    return !(fabs(mean) * terms * 0x1p-22 <= sqrt(var)); /* NaN counts as lost */
}

static double run_sum(const float *x, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    return sum;
}

static double run_squares(const float *x, double mean, int64_t n) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++) sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sum;
}

static void lane_sums(const float *x, layout at, int64_t width, double *sums) {
    for (int64_t i = 0; i < at.inner; i++)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) sums[c] += (double)x[i * at.block + c];
}

static void lane_squares(const float *x, layout at, int64_t width, const double *mean,
                         double *sums) {
    for (int64_t i = 0; i < at.inner; i++)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) {
            double d = (double)x[i * at.block + c] - mean[c];
            sums[c] += d * d;
        }
}

static void straight(float *out, const float *x, layout at, float mean, float slope, float shift) {
    for (int64_t i = 0; i < at.inner; i++)
        out[i * at.block] = (x[i * at.block] - mean) * slope + shift;
}

/* Contiguous channels, from `first` on; those that are not lost stay as they are. */
static void renew(const stats *k, layout at, int64_t first, int64_t width) {
    int lost[WIDEST], any = 0;
    for (int64_t c = 0; c < width; c++) any |= lost[c] = is_lost(k, at, first + c);
    if (!any) return;
    double sums[WIDEST] = {0}, squares[WIDEST] = {0}, n = (double)(at.outer * at.inner);
    int64_t size = at.inner * at.block, step = blocks_of(at) * size;
    int64_t from = first / at.block * size + first % at.block;
    const float *x = k->data + from;
    for (int64_t o = 0; o < at.outer; o++)
        if (at.block == 1)
            sums[0] += run_sum(x + o * step, at.inner);
        else
            lane_sums(x + o * step, at, width, sums);
    for (int64_t c = 0; c < width; c++) sums[c] /= n;
    for (int64_t o = 0; o < at.outer; o++)
        if (at.block == 1)
            squares[0] += run_squares(x + o * step, sums[0], at.inner);
        else
            lane_squares(x + o * step, at, width, sums, squares);
    float mean[WIDEST], slope[WIDEST];
    for (int64_t c = 0; c < width; c++) {
        if (!lost[c]) continue;
        float var = (float)(squares[c] / n);
        mean[c] = (float)sums[c];
        slope[c] = 1 / sqrtf(var + k->epsilon);
        if (k->gamma) slope[c] *= k->gamma[first + c];
        k->mean[first + c] = mean[c];
        k->var[first + c] = var;
    }
    for (int64_t o = 0; o < at.outer; o++)
        for (int64_t c = 0; c < width; c++)
            if (lost[c])
                straight(k->out + from + o * step + c, x + o * step + c, at, mean[c], slope[c],
                         k->beta[first + c]);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const stats k = ndrt_read_batch_stats(call);
    const layout at = layout_of(&k);
    int any = 0;
    if (!at.outer || !at.inner) return NDRT_OK;
    for (int64_t c = 0; c < at.channels; c++) any |= is_lost(&k, at, c);
    if (!any) return NDRT_OK;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t b = 0; b < blocks_of(at) * at.strips; b++) {
        int64_t within = b % at.strips * WIDEST, first = b / at.strips * at.block + within;
        int64_t width = at.channels - first, rest = at.block - within;
        if (width > rest) width = rest;
        if (width > WIDEST) width = WIDEST;
        if (width > 0) renew(&k, at, first, width);
    }
    return NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    const stats k = ndrt_read_batch_stats(call);
    if (k.outer < 0 || k.channels < 0 || k.inner < 0)
        return ndrt_fail(NDRT_INVALID, "batch statistics: a count below 0");
    if (k.block < 1) /* blocks have a channel */
        return ndrt_fail(NDRT_INVALID, "batch statistics: a count below 1");
    int64_t padded = k.channels > INT64_MAX - k.block ? -1 : (k.channels + k.block - 1) / k.block;
    int64_t n = padded < 0 ? -1 : ndrt_product(k.outer, padded, k.inner);
    if (n >= 0) n = ndrt_product(n, k.block, 1);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "batch statistics: more elements than can be");
    return n ? ndrt_need_arrays(call, 5) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const stats k = ndrt_read_batch_stats(call);
    return ndrt_team_for(call, k.outer * k.channels * k.inner);
}

const ndrt_family ndrt_family_batch_stats = {"batch statistics", check, threads, execute};
