/* Products of rows and a packed matrix, which native/kernels/gemm/products_avx512.c computes. */
#ifndef NDRT_PRODUCTS_H
#define NDRT_PRODUCTS_H

#include "kernels/ndrt_avx512.h"
#include "ndrt_internal.h"

typedef struct {
    const float *data, *weights, *bias, *added; /* the last two: or NULL */
    float *out;
    int64_t rows, features, columns, width; /* width: columns of a block of the weights */
    float low, high;
} ndrt_products;

/* All columns of rows `row` up to `row_end`, by this thread. */
void ndrt_product_rows(const ndrt_products *job, int64_t row, int64_t row_end);

#endif
