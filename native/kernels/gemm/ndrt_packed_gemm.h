/* Products of rows and a packed matrix, which native/kernels/gemm/products.c computes. */
#ifndef NDRT_PACKED_GEMM_H
#define NDRT_PACKED_GEMM_H

#include "kernels/ndrt_kernel.h"
#include "kernels/ndrt_vector.h"

/* Floats of a cache line. */
enum { NDRT_LINE = 16 };

/* Floats of a block of columns of a packed matrix: features are padded to whole vectors. */
static inline int64_t ndrt_block_of(int64_t features, int64_t width) {
    return (features + LANES - 1) / LANES * LANES * width;
}

/* A row of data holds the features of its groups one group after another, a row of the result their
 * columns. Channel c of a row shuffled from n groups is channel c % n * (size of a group) + c / n
 * of the data. */
typedef struct {
    const float *data, *weights, *bias, *added; /* the last two may be NULL */
    float *out;
    int64_t rows, features, columns; /* the last two of a group */
    int64_t width;                   /* columns of a block of the weights */
    int64_t groups, shuffled;        /* 1: no groups, not shuffled */
    float low, high;
} ndrt_packed_gemm;

/* Computes all columns of rows [row, row_end) on this thread. */
void ndrt_packed_gemm_rows(const ndrt_packed_gemm *job, int64_t row, int64_t row_end);

#endif
