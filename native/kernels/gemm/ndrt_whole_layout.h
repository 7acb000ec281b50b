/* How weights of 8 bits lie in memory for NDRT_KERNEL_WHOLE_WINDOWS, and what is kept of them.
 *
 * For each group and block of its filters: rows of a window, as numbers of which each 4 stand side
 * by side for all filters of the block, padded to whole chunks of 2 times 4. Where data is read as
 * it lies, row by row, each row is padded to whole 4s, too. Behind all blocks, for each of them and
 * each chunk, two bounds of data (whole_packing.c); and behind these the sums of each filter's
 * weights over groups of 2 chunks, of which two stand side by side. */
#ifndef NDRT_WHOLE_LAYOUT_H
#define NDRT_WHOLE_LAYOUT_H

#include "kernels/ndrt_kernel.h"

enum {
    NDRT_WHOLE_QUAD = 4,                     /* numbers of a row that stand side by side */
    NDRT_WHOLE_CHUNK = 2 * NDRT_WHOLE_QUAD,  /* that are added up in 16 bits */
    NDRT_WHOLE_BOUNDS = 2,                   /* of a chunk: of all products of a sum, of pairs */
    NDRT_WHOLE_GROUP = 2 * NDRT_WHOLE_CHUNK, /* from which the same may be taken off */
    NDRT_WHOLE_TILE = 4,                     /* rows that are computed at a time, at least */
    NDRT_WHOLE_MOST_TILE = 6,                /* and at most, as a CPU has registers */
    NDRT_WHOLE_ROWS = 192,                   /* that stay in the caches, at most and at least */
    NDRT_WHOLE_LEAST_ROWS = 24
};

typedef struct {
    int64_t line;    /* numbers of a row of a window, with those that pad it */
    int64_t numbers; /* of a window */
    int64_t chunks;
    int64_t pairs;  /* of groups of chunks */
    int64_t blocks; /* of filters, of all groups */
} ndrt_whole_layout;

static inline int64_t ndrt_whole_padded(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static inline int64_t ndrt_whole_pairs(int64_t numbers) {
    return ndrt_whole_padded(numbers, 2 * NDRT_WHOLE_GROUP) / (2 * NDRT_WHOLE_GROUP);
}

/* How data is read with AVX-512 VNNI (indirect_windows_avx512.c): places of a window where they
 * lie, or its rows. Short rows are copied one behind the other; of very short ones there would be
 * too many copies. */
typedef enum { NDRT_BY_PLACES, NDRT_BY_ROWS, NDRT_BY_COPIES } ndrt_reading;
enum { NDRT_VERY_SHORT_ROW = 16, NDRT_SHORT_ROW = 64 };
static inline ndrt_reading ndrt_reading_of(const int64_t window[2], int64_t channels) {
    if (channels % NDRT_WHOLE_QUAD == 0) return window[1] > 1 ? NDRT_BY_PLACES : NDRT_BY_ROWS;
    const int64_t row = window[1] * channels;
    const int is_short = row > NDRT_VERY_SHORT_ROW && row <= NDRT_SHORT_ROW;
    return window[0] > 1 && is_short ? NDRT_BY_COPIES : NDRT_BY_ROWS;
}

/* Of windows over `channels` of a group, which has `filters`. */
static inline ndrt_whole_layout ndrt_whole_layout_of(const int64_t window[2], int64_t channels,
                                                     int64_t filters, int64_t groups) {
    const int is_padded =
        ndrt_cpu_has(NDRT_HAS_AVX512_VNNI) && ndrt_reading_of(window, channels) == NDRT_BY_ROWS;
    const int64_t line = ndrt_whole_padded(window[1] * channels, is_padded ? NDRT_WHOLE_QUAD : 1);
    const int64_t numbers = window[0] * line;
    return (ndrt_whole_layout){
        .line = line,
        .numbers = numbers,
        .chunks = ndrt_whole_padded(numbers, NDRT_WHOLE_CHUNK) / NDRT_WHOLE_CHUNK,
        .pairs = ndrt_whole_pairs(numbers),
        .blocks = groups * ((filters + NDRT_WHOLE_BLOCK - 1) / NDRT_WHOLE_BLOCK),
    };
}

/* Whether that, and memory for it, can be. */
static inline int ndrt_whole_layout_fits(const int64_t window[2], int64_t channels, int64_t filters,
                                         int64_t groups) {
    const int64_t line = ndrt_product(window[1], channels, 1);
    if (line < 0 || line > INT64_MAX - NDRT_WHOLE_QUAD) return 0;
    const int64_t numbers = ndrt_product(window[0], line + NDRT_WHOLE_QUAD, 1);
    if (numbers < 0 || numbers > INT64_MAX - 4 * NDRT_WHOLE_CHUNK) return 0;
    const int64_t padded = numbers + 4 * NDRT_WHOLE_CHUNK;
    return ndrt_product(padded, filters + NDRT_WHOLE_BLOCK, 2 * groups) >= 0 &&
           ndrt_product(padded, 4 * NDRT_WHOLE_ROWS, 1) >= 0;
}

/* Where they begin, in bytes from the weights on. */
static inline int64_t ndrt_whole_limits(const ndrt_whole_layout *l) {
    return l->blocks * l->chunks * NDRT_WHOLE_CHUNK * NDRT_WHOLE_BLOCK;
}
static inline int64_t ndrt_whole_group_sums(const ndrt_whole_layout *l) {
    return ndrt_whole_limits(l) +
           l->blocks * l->chunks * NDRT_WHOLE_BOUNDS * (int64_t)sizeof(int32_t);
}
static inline int64_t ndrt_whole_bytes(const ndrt_whole_layout *l) {
    return ndrt_whole_group_sums(l) +
           l->blocks * l->pairs * 2 * NDRT_WHOLE_BLOCK * (int64_t)sizeof(int16_t);
}

/* Rows of data that are computed with a block of filters before the next one comes: as many as a
 * second cache holds beside the weights. */
static inline int64_t ndrt_whole_panel(int64_t chunks) {
    const int64_t whole = NDRT_WHOLE_TILE * NDRT_WHOLE_MOST_TILE; /* tiles of either */
    const int64_t rows = 262144 / (chunks * NDRT_WHOLE_CHUNK) / whole * whole;
    return rows > NDRT_WHOLE_ROWS         ? NDRT_WHOLE_ROWS
           : rows < NDRT_WHOLE_LEAST_ROWS ? NDRT_WHOLE_LEAST_ROWS
                                          : rows;
}

/* ---- where data is read as it lies (indirect_windows_avx512.c) ---- */

static inline int64_t ndrt_indirect_segments(const int64_t window[2], int64_t channels) {
    const ndrt_reading by = ndrt_reading_of(window, channels);
    return by == NDRT_BY_PLACES ? window[0] * window[1] : by == NDRT_BY_ROWS ? window[0] : 1;
}

enum { NDRT_INDIRECT_ROWS = 7 }; /* of a tile */

/* Rows of data as above. What one adds to the caches is about a place: windows overlap. */
static inline int64_t ndrt_indirect_panel(const int64_t window[2], const ndrt_whole_layout *l) {
    const int64_t place = (l->numbers - 1) / (window[0] * window[1]) + 1;
    const int64_t rows = 393216 / place;
    const int64_t kept = rows > NDRT_WHOLE_ROWS         ? NDRT_WHOLE_ROWS
                         : rows < NDRT_WHOLE_LEAST_ROWS ? NDRT_WHOLE_LEAST_ROWS
                                                        : rows;
    return kept / NDRT_INDIRECT_ROWS * NDRT_INDIRECT_ROWS;
}

/* Bytes that a thread needs: pointers to the segments of all rows of a panel, their numbers where
 * these may have to be gathered (copies may reach beyond), and what stands for the padding. */
static inline int64_t ndrt_indirect_scratch(const int64_t window[2], int64_t channels,
                                            const ndrt_whole_layout *l) {
    const int64_t row = l->chunks * NDRT_WHOLE_CHUNK;
    const int64_t pointers =
        ndrt_indirect_segments(window, channels) * (int64_t)sizeof(const uint8_t *);
    const int64_t gathered = ndrt_reading_of(window, channels) == NDRT_BY_PLACES ? 0 : row;
    return ndrt_indirect_panel(window, l) * (pointers + gathered) + row + NDRT_SHORT_ROW;
}

#endif
