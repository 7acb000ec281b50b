/* Sums of products of a few rows with blocks of a packed matrix, which
 * native/kernels/gemm/few_rows_avx512.c and native/kernels/rnn/lstm_avx512.c share. */
#ifndef NDRT_FEW_ROWS_H
#define NDRT_FEW_ROWS_H

#include "kernels/ndrt_avx512.h"
#include "ndrt_internal.h"

enum {
    MOST_VECTORS = NDRT_FEW_ROWS_WIDE / LANES,
    MOST_CHAINS = 8,
    FEATURES_OF_SUM = 256 /* summed in one go: long sums of floats lose digits */
};

typedef struct {
    const float *data; /* rows of so many */
    int64_t features;
} ndrt_rows;

/* Adds features `from` up to `to` to the sums of a block of columns. The last three are constants
 * where this is inlined; independent chains of sums hide the latency of a multiply-add. */
INLINED void ndrt_add_features(const ndrt_rows *job, const float *weights, int64_t from, int64_t to,
                               __m512 totals[][MOST_VECTORS], int rows, int vectors, int chains) {
    const int width = vectors * LANES;
    __m512 sums[MOST_CHAINS][NDRT_FEW_ROWS_MOST][MOST_VECTORS];
#pragma GCC unroll 8
    for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) sums[c][r][v] = _mm512_setzero_ps();
    /* each chain has a stretch of its own: the hardware fetches several ahead at a time */
    const int64_t stretch = (to - from) / chains;
    for (int64_t i = from; i < from + stretch; i++)
#pragma GCC unroll 8
        for (int c = 0; c < chains; c++) {
            const int64_t k = i + c * stretch;
            const float *w = weights + k * width;
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++) {
                __m512 line = _mm512_loadu_ps(w + v * LANES);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    __m512 x = _mm512_set1_ps(job->data[r * job->features + k]);
                    sums[c][r][v] = _mm512_fmadd_ps(line, x, sums[c][r][v]);
                }
            }
        }
    for (int64_t k = from + chains * stretch; k < to; k++)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) {
                __m512 x = _mm512_set1_ps(job->data[r * job->features + k]);
                __m512 line = _mm512_loadu_ps(weights + k * width + v * LANES);
                sums[0][r][v] = _mm512_fmadd_ps(line, x, sums[0][r][v]);
            }
#pragma GCC unroll 8
    for (int c = 0; c < chains; c++)
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                totals[r][v] = _mm512_add_ps(totals[r][v], sums[c][r][v]);
}

/* The same for all features. */
INLINED void ndrt_add_products(const ndrt_rows *job, const float *weights,
                               __m512 totals[][MOST_VECTORS], int rows, int vectors, int chains) {
    for (int64_t from = 0; from < job->features; from += FEATURES_OF_SUM) {
        int64_t end = from + FEATURES_OF_SUM;
        ndrt_add_features(job, weights, from, end < job->features ? end : job->features, totals,
                          rows, vectors, chains);
    }
}

#endif
