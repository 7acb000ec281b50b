/* What a thread of NDRT_KERNEL_BYTE_PRODUCTS keeps in scratch, in 16 bits: the columns of the right
 * matrix, and behind them a tile of rows of the left one. */
#ifndef NDRT_BYTE_PRODUCTS_H
#define NDRT_BYTE_PRODUCTS_H

#include <stdint.h>

enum {
    NDRT_BYTE_TILE_ROWS = 6,
    NDRT_BYTE_MOST_COLUMNS = 32 /* that are computed at a time, as a CPU has registers */
};

/* Numbers of a row or column: they come in pairs. */
static inline int64_t ndrt_byte_depth(int64_t depth) { return (depth + 1) / 2 * 2; }

static inline int64_t ndrt_byte_columns(int64_t columns) {
    const int64_t most = NDRT_BYTE_MOST_COLUMNS;
    return (columns + most - 1) / most * most;
}

static inline int64_t ndrt_byte_room(int64_t columns, int64_t depth) {
    return (ndrt_byte_columns(columns) + NDRT_BYTE_TILE_ROWS) * ndrt_byte_depth(depth);
}

#endif
