/* Products of strided matrices, of which native/kernels/gemm/blocked_gemm.c gives out parts. */
#ifndef NDRT_BLOCKED_GEMM_H
#define NDRT_BLOCKED_GEMM_H

#include "kernels/ndrt_kernel.h"

enum {
    NDRT_BLOCKED_STRIP = 48,     /* columns that are computed at a time, at most */
    NDRT_BLOCKED_SMALL = 4096,   /* numbers of a right matrix that is not cut into blocks */
    NDRT_BLOCKED_THIN = 4,       /* rows that are not worth to rearrange the right matrix for */
    NDRT_BLOCKED_STRETCH = 2048, /* columns that these are computed for at a time */
    NDRT_BLOCKED_FEW = 48,       /* rows that a block of it stays in the second cache for */
    NDRT_BLOCKED_ROWS = 96,      /* of a block of the left matrix, and of the right one: */
    NDRT_BLOCKED_DEPTH = 256,
    NDRT_BLOCKED_DEPTH_OF_FEW = 64, /* where lines are contiguous: longer ones are read faster */
    NDRT_BLOCKED_COLUMNS = 768,
    NDRT_BLOCKED_NUMBERS_OF_FEW = 144 * NDRT_BLOCKED_DEPTH
};

/* A matrix of numbers, and what lies between neighbours in a column and in a row. */
typedef struct {
    const void *numbers;
    int64_t row, column;
} ndrt_strided;

/* Images (channels, height, width) seen as a matrix: a row for each channel and place of a window,
 * a column for each place of the window in the image. */
typedef struct {
    const int64_t *size, *window, *stride, *dilate, *pad;
    int64_t out_width;
} ndrt_windows_seen;

/* Part of a product, and what is done to it: alpha times it plus bias plus beta times `added`,
 * within bounds. */
typedef struct {
    ndrt_strided a, b, bias;          /* no numbers: no bias */
    const ndrt_windows_seen *windows; /* if not NULL, `b` has images */
    void *out, *scratch;
    const void *added; /* as `out`, or NULL */
    int64_t out_row;
    int64_t rows, depth, columns;             /* of the whole product */
    int64_t row, row_end, column, column_end; /* that belong to the part */
    int64_t block_columns;                    /* as ndrt_blocked_columns says */
    double alpha, beta, low, high;
} ndrt_blocked_part;

void ndrt_blocked_float64(const ndrt_blocked_part *part);
void ndrt_blocked_int32(const ndrt_blocked_part *part);

static inline int64_t ndrt_blocked_least(int64_t n, int64_t most) { return n < most ? n : most; }

/* Columns of a block whose depth is NDRT_BLOCKED_DEPTH. Scratch for all threads is kept below 1 MiB
 * where the product does not take some milliseconds: eager calls that take more are not replayed.
 */
static inline int64_t ndrt_blocked_columns(int64_t rows, int64_t depth, int64_t columns,
                                           int64_t slots) {
    const int64_t least = NDRT_BLOCKED_NUMBERS_OF_FEW / NDRT_BLOCKED_DEPTH;
    const int64_t work = ndrt_product(rows, depth, columns);
    if (rows <= NDRT_BLOCKED_FEW) return least;
    if (work < 0 || work >= (int64_t)1 << 26) return NDRT_BLOCKED_COLUMNS;
    const int64_t room = ((int64_t)1 << 17) / slots / NDRT_BLOCKED_DEPTH - NDRT_BLOCKED_ROWS;
    return room < least ? least : room / NDRT_BLOCKED_STRIP * NDRT_BLOCKED_STRIP;
}

/* Numbers of scratch for one of so many threads. */
static inline int64_t ndrt_blocked_numbers(int64_t rows, int64_t depth, int64_t columns,
                                           int64_t slots) {
    const int64_t padded = columns + NDRT_BLOCKED_STRIP;
    const int64_t block = ndrt_blocked_least(depth, NDRT_BLOCKED_DEPTH);
    const int64_t left = block * ndrt_blocked_least(rows, NDRT_BLOCKED_ROWS);
    const int64_t width = ndrt_blocked_columns(rows, depth, columns, slots);
    /* blocks of few rows may be wider, and less deep */
    const int64_t right = rows <= NDRT_BLOCKED_FEW ? NDRT_BLOCKED_NUMBERS_OF_FEW
                                                   : block * ndrt_blocked_least(padded, width);
    const int64_t strip = depth <= NDRT_BLOCKED_SMALL ? depth * NDRT_BLOCKED_STRIP : 0;
    const int64_t thin =
        rows <= NDRT_BLOCKED_THIN || columns <= NDRT_BLOCKED_THIN ? depth * NDRT_BLOCKED_THIN : 0;
    /* a stretch of the result, transposed */
    const int64_t turned = columns <= NDRT_BLOCKED_THIN ? columns * NDRT_BLOCKED_STRETCH : 0;
    int64_t most = left + right > strip ? left + right : strip;
    if (most < thin) most = thin;
    return most > turned ? most : turned;
}

#endif
