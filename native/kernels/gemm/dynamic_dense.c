/* Products of rows of floats with a matrix of 8-bit numbers. Rows are rounded to 8 bits when they
 * come, each in its own range or all in one; sums are int32 and exact.
 *
 * Rows are kept in 16 bits, less their zero point, so that nothing has to be taken off the sums.
 * Two numbers of a row and two of a column are multiplied and added up at once (vpmaddwd; with
 * AVX-512 VNNI vpdpwssd), which can not saturate. With few rows, reading the weights takes all the
 * time: these are a quarter of floats. */
#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_whole_sums.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_dynamic_dense_args dense;

enum {
    BLOCK = NDRT_WHOLE_BLOCK,
    MOST_BLOCKS = 2,
    TILE_ROWS = 6,
    FEW_ROWS = 3,         /* so few leave registers for the sums of two blocks */
    PANEL_ROWS = 48,      /* they stay in cache while all columns go over them */
    MOST_FEATURES = 65536 /* sums of so many products of 255 and 128 are below 2^31 */
};

enum { VECTORS = BLOCK / LANES, MOST_VECTORS = MOST_BLOCKS * VECTORS };

/* Numbers come in pairs: behind an odd number of them is one that is 0. */
static int64_t depth_of(const dense *job) { return (job->features + 1) / 2 * 2; }

/* ---- rows ----------------------------------------------------------------------------------- */

/* What a row is multiplied by to become floats again, and what 0 became. */
typedef struct {
    float scale, zero;
} scaling;

/* From the least to the greatest number and 0; NaN where a number is not finite. */
typedef struct {
    float least, most;
} extent;

/* Of the scratch: extents of rows, and behind them their numbers. */
static extent *extents_of(const dense *job) { return (extent *)job->scratch; }
static float *scales_of(const dense *job) { return (float *)(extents_of(job) + job->rows); }
static int16_t *numbers_of(const dense *job) { return (int16_t *)(scales_of(job) + job->rows); }

static extent extent_of(const float *x, int64_t n) {
    float least = 0, most = 0, not_finite = 0;
#pragma omp simd reduction(min : least) reduction(max : most) reduction(+ : not_finite)
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        not_finite += x[i] * 0.0f;
    }
    return not_finite == 0 ? (extent){least, most} : (extent){NAN, NAN};
}

static scaling scaling_of(extent of, int is_signed) {
    const float reach = -of.least > of.most ? -of.least : of.most;
    scaling made = {.scale = is_signed ? reach / 127.0f : (of.most - of.least) / 255.0f};
    /* what is below may count as 0 or not, as the CPU is set */
    if (made.scale < FLT_MIN) made.scale = 1;
    if (is_signed) return made;
    const float zero = rintf(-of.least / made.scale);
    made.zero = zero < 255.0f ? zero : 255.0f;
    return made;
}

/* NaN becomes 0, and the scale of such a row is NaN. */
static void quantize(int16_t *out, const float *x, int64_t n, int64_t depth, scaling by,
                     int is_signed) {
    const float low = is_signed ? -127.0f : -by.zero, high = is_signed ? 127.0f : 255.0f - by.zero;
    const float scale = by.scale;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) {
        const float whole = rintf(x[i] / scale);
        const float above = whole > low ? whole : low, kept = above < high ? above : high;
        out[i] = (int16_t)(int32_t)kept;
    }
    if (n < depth) out[n] = 0;
}

static void quantize_row(const dense *job, int64_t row, extent of) {
    int16_t *out = numbers_of(job) + row * depth_of(job);
    const int is_finite = of.least == of.least;
    const scaling by = scaling_of(of, job->is_signed);
    scales_of(job)[row] = is_finite ? by.scale : NAN;
    if (is_finite)
        quantize(out, job->data + row * job->features, job->features, depth_of(job), by,
                 job->is_signed);
    else
        memset(out, 0, (size_t)depth_of(job) * sizeof *out);
}

static extent extent_of_all(const dense *job) {
    extent all = {0, 0};
    for (int64_t r = 0; r < job->rows; r++) {
        const extent of = extents_of(job)[r];
        if (of.least != of.least) return of;
        all.least = of.least < all.least ? of.least : all.least;
        all.most = of.most > all.most ? of.most : all.most;
    }
    return all;
}

/* Called by all threads of a team; each does some rows. */
static void quantize_rows(const dense *job, int64_t from, int64_t to) {
    for (int64_t r = from; r < to; r++) {
        const extent of = extent_of(job->data + r * job->features, job->features);
        if (job->per_tensor)
            extents_of(job)[r] = of;
        else
            quantize_row(job, r, of);
    }
#pragma omp barrier
    if (!job->per_tensor) return;
    const extent all = extent_of_all(job);
    for (int64_t r = from; r < to; r++) quantize_row(job, r, all);
#pragma omp barrier
}

/* ---- products ------------------------------------------------------------------------------- */

/* All but job and places are constants where this is inlined. */
INLINED void sum_tile(const dense *job, int64_t row, int64_t block, const int rows,
                      const int blocks, const int is_fused, int32_t *out) {
    const int64_t depth = depth_of(job);
    const int16_t *data = numbers_of(job) + row * depth;
    const int8_t *weights = (const int8_t *)job->weights + block * BLOCK * depth;
    sums made[TILE_ROWS][MOST_VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < blocks * VECTORS; v++) made[r][v] = no_sums();
    for (int64_t k = 0; k < depth; k += 2, weights += 2 * BLOCK) {
        sums w[MOST_VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < blocks * VECTORS; v++)
            w[v] = weights_of(weights + v / VECTORS * BLOCK * depth + v % VECTORS * 2 * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const sums x = pair_of(data + r * depth + k);
#pragma GCC unroll 4
            for (int v = 0; v < blocks * VECTORS; v++)
                made[r][v] = plus_products(made[r][v], x, w[v], is_fused);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (int v = 0; v < blocks * VECTORS; v++)
            store_sums(out + r * MOST_BLOCKS * BLOCK + v * LANES, made[r][v]);
}

typedef void sum_some(const dense *job, int64_t row, int64_t block, int32_t *out);
#define SUM(rows, blocks)                                                                          \
    static void sum_##rows##_##blocks(const dense *job, int64_t row, int64_t block,                \
                                      int32_t *out) {                                              \
        sum_tile(job, row, block, rows, blocks, 0, out);                                           \
    }                                                                                              \
    static void fused_##rows##_##blocks(const dense *job, int64_t row, int64_t block,              \
                                        int32_t *out) {                                            \
        sum_tile(job, row, block, rows, blocks, 1, out);                                           \
    }
SUM(1, 1)
SUM(2, 1)
SUM(3, 1)
SUM(4, 1)
SUM(5, 1)
SUM(6, 1)
SUM(1, 2)
SUM(2, 2)
SUM(3, 2)
SUM(4, 2)
SUM(5, 2)
SUM(6, 2)

static sum_some *const sum[2][MOST_BLOCKS][TILE_ROWS] = {
    {{sum_1_1, sum_2_1, sum_3_1, sum_4_1, sum_5_1, sum_6_1},
     {sum_1_2, sum_2_2, sum_3_2, sum_4_2, sum_5_2, sum_6_2}},
    {{fused_1_1, fused_2_1, fused_3_1, fused_4_1, fused_5_1, fused_6_1},
     {fused_1_2, fused_2_2, fused_3_2, fused_4_2, fused_5_2, fused_6_2}}};

static void write_tile(const dense *job, int64_t row, int rows, int64_t first, int count,
                       const int32_t *made) {
    const float *scales = job->scales + first, *bias = job->bias ? job->bias + first : NULL;
    for (int r = 0; r < rows; r++, made += MOST_BLOCKS * BLOCK) {
        const float scale = scales_of(job)[row + r];
        float *out = job->out + (row + r) * job->columns + first;
#pragma omp simd
        for (int c = 0; c < count; c++)
            out[c] = (float)made[c] * (scale * scales[c]) + (bias ? bias[c] : 0.0f);
    }
}

/* Blocks of columns and rows from some up to others. */
static void compute(const dense *job, int64_t block, int64_t blocks_end, int64_t from, int64_t to) {
    int32_t made[TILE_ROWS * MOST_BLOCKS * BLOCK];
    const int is_fused = LANES == 16 && ndrt_cpu_has(NDRT_HAS_AVX512_VNNI);
    for (int64_t panel = from; panel < to; panel += PANEL_ROWS) {
        const int64_t end = panel + PANEL_ROWS < to ? panel + PANEL_ROWS : to;
        const int wide = LANES == 16 || end - panel <= FEW_ROWS ? MOST_BLOCKS : 1;
        for (int64_t b = block; b < blocks_end; b += wide) {
            const int blocks = b + wide <= blocks_end ? wide : (int)(blocks_end - b);
            const int64_t first = b * BLOCK, left = job->columns - first;
            const int count = left < blocks * BLOCK ? (int)left : blocks * BLOCK;
            for (int64_t r = panel; r < end; r += TILE_ROWS) {
                const int rows = end - r < TILE_ROWS ? (int)(end - r) : TILE_ROWS;
                sum[is_fused][blocks - 1][rows - 1](job, r, b, made);
                write_tile(job, r, rows, first, count, made);
            }
        }
    }
}

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_status check(kernel_call *call) {
    const dense job = ndrt_read_dynamic_dense(call);
    if (call->nthreads < 0 || job.rows < 0 || job.features < 1 || job.features > MOST_FEATURES ||
        job.columns < 1 || ndrt_product(job.rows, job.features, sizeof(float)) < 0 ||
        ndrt_product(job.rows, job.columns, sizeof(float)) < 0 ||
        ndrt_product(job.columns + BLOCK, job.features, 1) < 0)
        return ndrt_fail(NDRT_INVALID, "dynamic dense: %lld rows of %lld, %lld columns",
                         (long long)job.rows, (long long)job.features, (long long)job.columns);
    return job.rows ? ndrt_need_arrays(call, 5) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const dense job = ndrt_read_dynamic_dense(call);
    return ndrt_team_for(call, ndrt_product_work(ndrt_product(job.rows, job.features, job.columns),
                                                 ndrt_product(job.features, job.columns, 1) / 4));
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const dense job = ndrt_read_dynamic_dense(call);
    const int64_t blocks = (job.columns + BLOCK - 1) / BLOCK;
#pragma omp parallel num_threads(nthreads)
    {
        const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        const int64_t from = job.rows * me / team, to = job.rows * (me + 1) / team;
        quantize_rows(&job, from, to);
        /* threads read weights of their own, unless there are too few */
        if (blocks >= team)
            compute(&job, blocks * me / team, blocks * (me + 1) / team, 0, job.rows);
        else
            compute(&job, 0, blocks, from, to);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_dynamic_dense = {"dynamic dense", check, threads, execute};
