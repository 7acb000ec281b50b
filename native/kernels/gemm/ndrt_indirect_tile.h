/* Tiles of sums of products of uint8 or int8 and int8 by AVX-512 VNNI, exactly: up to 7 rows of
 * data by two vectors of filters. Sides of images are often multiples of 7. */
#ifndef NDRT_INDIRECT_TILE_H
#define NDRT_INDIRECT_TILE_H

#include <immintrin.h>

#include "kernels/ndrt_finish.h"
#include "kernels/ndrt_vnni.h"
#include "ndrt_whole_layout.h"

enum {
    BLOCK = NDRT_WHOLE_BLOCK,
    QUAD = NDRT_WHOLE_QUAD,
    ROWS = NDRT_INDIRECT_ROWS,
    VECTORS = 2,
    COLUMNS = VECTORS * BLOCK
};

typedef struct {
    int32_t *out;                   /* (ROWS, COLUMNS) */
    const uint8_t *const *segments; /* (segments, rows) */
    const int8_t *weights;
    const int32_t *start;             /* what sums begin with, of COLUMNS */
    int64_t second, nsegments, quads; /* second: how far behind these the second block's are */
    const ndrt_finish *finish;
    int64_t at, out_row, column; /* of the first output and filter */
} tile;

/* What is done with sums: they stay in memory, or are finished in registers. */
typedef enum { STORED, AS_U8, AS_U8_ADDED, AS_S8, AS_S8_ADDED, AS_F32, ENDS } ending;

static ending ending_of(const ndrt_finish *f) {
    const int kind = ndrt_usual_kind(f), has_added = f->added != NULL;
    if (kind == NDRT_U8) return has_added ? AS_U8_ADDED : AS_U8;
    if (kind == NDRT_S8) return has_added ? AS_S8_ADDED : AS_S8;
    if (ndrt_is_scaled(f)) return AS_F32;
    return STORED;
}

/* Four numbers in each lane. Written as an instruction, or the compiler reads those of all rows
 * before it multiplies any, and has no registers left for the sums. */
INLINED __m512i quad_of(const uint8_t *at) {
    __m512i x;
    __asm__ volatile("vpbroadcastd %1, %0" : "=v"(x) : "m"(*(const uint8_t (*)[QUAD])at));
    return x;
}

INLINED void finish_tile(const tile *t, __m512i made[ROWS][VECTORS], const int rows,
                         const int vectors, const ending as) {
    const int kind = as == AS_U8 || as == AS_U8_ADDED ? NDRT_U8 : NDRT_S8;
    const ndrt_finish f = as == AS_F32
                              ? ndrt_scaled(t->finish)
                              : ndrt_usual(t->finish, kind, as == AS_U8_ADDED || as == AS_S8_ADDED);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const ndrt_finish_of_columns of = ndrt_finish_columns(&f, t->column + v * BLOCK, 0xffff);
#pragma GCC unroll 7
        for (int r = 0; r < rows; r++)
            ndrt_finish_sum(&f, &of, made[r][v], t->at + r * t->out_row + v * BLOCK, 0xffff);
    }
}

/* All but pointers and the tile's numbers are constants where this is inlined. `turned`: int8,
 * which turning its highest bit makes uint8. */
INLINED void sum_constant(const tile *t, const int rows, const int vectors, const int turned,
                          const ending as) {
    const __m512i turn = _mm512_set1_epi8(INT8_MIN);
    const int8_t *weights = t->weights;
    const uint8_t *const *segments = t->segments;
    __m512i made[ROWS][VECTORS];
#pragma GCC unroll 7
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = _mm512_loadu_si512(t->start + v * BLOCK);
    for (int64_t s = 0; s < t->nsegments; s++, segments += rows) {
        const uint8_t *data[ROWS];
#pragma GCC unroll 7
        for (int r = 0; r < rows; r++) data[r] = segments[r];
        for (int64_t q = 0; q < t->quads; q++, weights += QUAD * BLOCK) {
            __m512i w[VECTORS];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) w[v] = _mm512_loadu_si512(weights + v * t->second);
#pragma GCC unroll 7
            for (int r = 0; r < rows; r++) {
                __m512i x = quad_of(data[r] + q * QUAD);
                if (turned) x = _mm512_xor_si512(x, turn);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++) made[r][v] = ndrt_plus_quads(made[r][v], x, w[v]);
            }
        }
    }
    if (as != STORED) {
        finish_tile(t, made, rows, vectors, as);
        return;
    }
#pragma GCC unroll 7
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm512_storeu_si512(t->out + r * COLUMNS + v * BLOCK, made[r][v]);
}

typedef void sum_tile(const tile *t);
#define SUM(rows, as)                                                                              \
    static void sum_##rows##_1_##as(const tile *t) { sum_constant(t, rows, 1, 0, as); }            \
    static void sum_##rows##_2_##as(const tile *t) { sum_constant(t, rows, 2, 0, as); }            \
    static void turned_##rows##_1_##as(const tile *t) { sum_constant(t, rows, 1, 1, as); }         \
    static void turned_##rows##_2_##as(const tile *t) { sum_constant(t, rows, 2, 1, as); }
#define SUMS(rows, as)                                                                             \
    {                                                                                              \
        {sum_##rows##_1_##as, sum_##rows##_2_##as}, {                                              \
            turned_##rows##_1_##as, turned_##rows##_2_##as                                         \
        }                                                                                          \
    }
SUM(1, STORED)
SUM(2, STORED)
SUM(3, STORED)
SUM(4, STORED)
SUM(5, STORED)
SUM(6, STORED)
SUM(7, STORED)
SUM(7, AS_U8)
SUM(7, AS_U8_ADDED)
SUM(7, AS_S8)
SUM(7, AS_S8_ADDED)
SUM(7, AS_F32)
static sum_tile *const stored[ROWS][2][VECTORS] = {
    SUMS(1, STORED), SUMS(2, STORED), SUMS(3, STORED), SUMS(4, STORED),
    SUMS(5, STORED), SUMS(6, STORED), SUMS(7, STORED)};
/* of ROWS, by their ends */
static sum_tile *const finished[ENDS][2][VECTORS] = {
    [STORED] = SUMS(7, STORED),           [AS_U8] = SUMS(7, AS_U8),
    [AS_U8_ADDED] = SUMS(7, AS_U8_ADDED), [AS_S8] = SUMS(7, AS_S8),
    [AS_S8_ADDED] = SUMS(7, AS_S8_ADDED), [AS_F32] = SUMS(7, AS_F32)};

#endif
