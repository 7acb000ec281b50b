/* Products of rows and a packed matrix, which native/kernels/gemm/products.c computes. */
#ifndef NDRT_PACKED_GEMM_H
#define NDRT_PACKED_GEMM_H

#include "kernels/ndrt_kernel.h"
#include "kernels/ndrt_vector.h"

/* Numbers of a line of the caches. */
enum { NDRT_LINE = 16 };

/* Numbers of a block of columns of a packed matrix: features are padded to whole vectors. */
static inline int64_t ndrt_block_of(int64_t features, int64_t width) {
    return (features + LANES - 1) / LANES * LANES * width;
}

/* Rows of data hold the features of one group behind those of another, results their columns.
 * Channel c of a row shuffled from n groups is its channel c % n * size of a group + c / n. */
typedef struct {
    const float *data, *weights, *bias, *added; /* the last two: or NULL */
    float *out;
    int64_t rows, features, columns; /* the last two of a group */
    int64_t width;                   /* columns of a block of the weights */
    int64_t groups, shuffled;        /* 1: there are none, they are in order */
    float low, high;
} ndrt_packed_gemm;

/* All columns of rows `row` up to `row_end`, by this thread. */
void ndrt_packed_gemm_rows(const ndrt_packed_gemm *job, int64_t row, int64_t row_end);

#endif
