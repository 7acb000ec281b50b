/* Products of a few rows with blocks of a packed matrix, for native/kernels/gemm/skinny_gemm.c and
 * native/kernels/rnn/lstm.c. */
#ifndef NDRT_SKINNY_GEMM_H
#define NDRT_SKINNY_GEMM_H

#include "kernels/ndrt_kernel.h"
#include "kernels/ndrt_vector.h"

enum {
    WIDE = LANES == 16 ? NDRT_SKINNY_GEMM_WIDE : NDRT_SKINNY_GEMM_WIDE_AVX2,
    MOST_VECTORS = 4,
    MOST_CHAINS = 8,
    MOST_SUMS = LANES == 16 ? 16 : 12, /* that fit into registers, beside what is added to them */
    FEATURES_OF_SUM = 256,             /* of a partial sum: long sums of floats lose digits */
    FEATURES_AHEAD = 64 /* prefetched where too few streams are read for the hardware to do it */
};

typedef struct {
    const float *data; /* rows of so many */
    int64_t features;
} ndrt_rows;

/* Adds features `from` up to `to` to the sums of a block of columns. The last three are constants
 * where this is inlined; independent chains of sums hide the latency of a multiply-add. */
INLINED void ndrt_add_features(const ndrt_rows *job, const float *weights, int64_t from, int64_t to,
                               ndrt_vector totals[][MOST_VECTORS], int rows, int vectors,
                               int chains) {
    const int width = vectors * LANES;
    ndrt_vector sums[MOST_CHAINS][NDRT_SKINNY_GEMM_MOST][MOST_VECTORS];
#pragma GCC unroll 8
    for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[c][r][v] = ndrt_zeros();
    /* each chain reads a stream of its own: the hardware prefetches several at a time */
    const int64_t stretch = (to - from) / chains;
    for (int64_t i = from; i < from + stretch; i++)
#pragma GCC unroll 8
        for (int c = 0; c < chains; c++) {
            const int64_t k = i + c * stretch;
            const float *w = weights + k * width;
            if (LANES == 8 && chains < 4) __builtin_prefetch(w + FEATURES_AHEAD * width);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                ndrt_vector line = ndrt_load(w + v * LANES);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    ndrt_vector x = ndrt_all(job->data[r * job->features + k]);
                    sums[c][r][v] = ndrt_multiply_add(line, x, sums[c][r][v]);
                }
            }
        }
    for (int64_t k = from + chains * stretch; k < to; k++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                ndrt_vector x = ndrt_all(job->data[r * job->features + k]);
                ndrt_vector line = ndrt_load(weights + k * width + v * LANES);
                sums[0][r][v] = ndrt_multiply_add(line, x, sums[0][r][v]);
            }
#pragma GCC unroll 8
    for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) totals[r][v] = ndrt_add(totals[r][v], sums[c][r][v]);
}

/* The same for all features. If the sums of all rows do not fit into registers, one half of the
 * rows after the other goes over the features of a partial sum. */
INLINED void ndrt_add_products(const ndrt_rows *job, const float *weights,
                               ndrt_vector totals[][MOST_VECTORS], int rows, int vectors,
                               int chains) {
    const int at_once = rows * vectors * chains > MOST_SUMS ? rows / 2 : rows;
    for (int64_t from = 0; from < job->features; from += FEATURES_OF_SUM) {
        int64_t end = from + FEATURES_OF_SUM;
        if (end > job->features) end = job->features;
#pragma GCC unroll 2
        for (int r = 0; r < rows; r += at_once) {
            const ndrt_rows some = {job->data + r * job->features, job->features};
            ndrt_add_features(&some, weights, from, end, totals + r, at_once, vectors, chains);
        }
    }
}

#endif
