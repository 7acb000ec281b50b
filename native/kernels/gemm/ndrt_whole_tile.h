/* Tiles of sums of products of uint8 and int8, in int32 and exact: 4 rows of data, with AVX-512 6,
 * by two vectors of filters.
 *
 * vpmaddubsw multiplies bytes and adds up two products in 16 bits, where sums saturate. Adding up
 * four before they become int32 takes three quarters of the multiplications of numbers that are
 * widened first. Whether 16 bits hold these sums, or only those of two products, or not even these,
 * which are then widened (vpmaddwd), follows for each chunk of rows and filters from bounds on sums
 * of squares (whole_packing.c). Data around 0 become uint8 as their distance from the least number
 * near them, which keeps these sums small; what that lacks are sums of weights.
 *
 * AVX-512 VNNI adds four products to int32 at once and has no need of all this
 * (indirect_windows_avx512.c). */
#ifndef NDRT_WHOLE_TILE_H
#define NDRT_WHOLE_TILE_H

#include <immintrin.h>

#include "ndrt_whole_layout.h"

enum {
    QUAD = NDRT_WHOLE_QUAD,
    CHUNK = NDRT_WHOLE_CHUNK,
    QUADS = CHUNK / QUAD,
    VECTORS = 2,
    CACHE_LINE = 64,
    /* bounds: of all products of a sum, of pairs */
    ALL = 0,
    PAIRS = 1
};

#ifdef __AVX512BW__
typedef __m512i vector;
enum { LANES = 16, TILE_ROWS = NDRT_WHOLE_MOST_TILE };
INLINED vector zeros(void) { return _mm512_setzero_si512(); }
INLINED vector load(const void *at) { return _mm512_loadu_si512(at); }
INLINED void store(void *at, vector x) { _mm512_storeu_si512(at, x); }
INLINED vector plus_32(vector a, vector b) { return _mm512_add_epi32(a, b); }
INLINED vector products_16(vector a, vector b) { return _mm512_madd_epi16(a, b); }
INLINED vector products_8(vector u8, vector s8) { return _mm512_maddubs_epi16(u8, s8); }
INLINED vector all_16(int16_t x) { return _mm512_set1_epi16(x); }
INLINED vector both(vector a, vector b) { return _mm512_and_si512(a, b); }
INLINED vector left_8(vector x) { return _mm512_slli_epi16(x, 8); }
INLINED vector right_8(vector x) { return _mm512_srli_epi16(x, 8); }
INLINED vector right_signed_8(vector x) { return _mm512_srai_epi16(x, 8); }
#else
typedef __m256i vector;
enum { LANES = 8, TILE_ROWS = NDRT_WHOLE_TILE };
INLINED vector zeros(void) { return _mm256_setzero_si256(); }
INLINED vector load(const void *at) { return _mm256_loadu_si256((const __m256i *)at); }
INLINED void store(void *at, vector x) { _mm256_storeu_si256((__m256i *)at, x); }
INLINED vector plus_32(vector a, vector b) { return _mm256_add_epi32(a, b); }
INLINED vector products_16(vector a, vector b) { return _mm256_madd_epi16(a, b); }
INLINED vector products_8(vector u8, vector s8) { return _mm256_maddubs_epi16(u8, s8); }
INLINED vector all_16(int16_t x) { return _mm256_set1_epi16(x); }
INLINED vector both(vector a, vector b) { return _mm256_and_si256(a, b); }
INLINED vector left_8(vector x) { return _mm256_slli_epi16(x, 8); }
INLINED vector right_8(vector x) { return _mm256_srli_epi16(x, 8); }
INLINED vector right_signed_8(vector x) { return _mm256_srai_epi16(x, 8); }
#endif

typedef struct {
    int32_t *out;                    /* (TILE_ROWS, VECTORS * LANES) */
    const uint8_t *data;             /* (chunks, rows, CHUNK) */
    const int8_t *weights, *ahead;   /* ahead: to prefetch, a line for each chunk */
    const int32_t *squares, *limits; /* NDRT_WHOLE_BOUNDS of each chunk */
    const int16_t *bases, *sums;     /* what was taken off each group, sums of its weights */
    int64_t second, second_limits;   /* how far behind these those of the second vector are */
    int64_t second_sums;
    int64_t chunks, pairs; /* pairs of groups from which something was taken off, or 0 */
} tile;

/* Four numbers in each lane. Written as an instruction, or the compiler reads those of all rows
 * before it multiplies any, and has no registers left for the sums. */
INLINED vector quad_of(const uint8_t *at) {
    vector x;
    __asm__ volatile("vpbroadcastd %1, %0" : "=x"(x) : "m"(*(const uint8_t (*)[QUAD])at));
    return x;
}

/* As instructions too, or the compiler adds up products of different numbers before it adds them to
 * the sum, which they then wait for in memory. */
INLINED vector plus_16(vector a, vector b) {
    __asm__ volatile("vpaddw %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
}
INLINED vector in_order_plus_32(vector a, vector b) {
    __asm__ volatile("vpaddd %1, %0, %0" : "+x"(a) : "x"(b));
    return a;
}

/* Here and below all but pointers and numbers of quads are constants where this is inlined. */

INLINED void put(int32_t *out, vector made[TILE_ROWS][VECTORS], const int rows, const int vectors) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(out + (r * VECTORS + v) * LANES, made[r][v]);
}
INLINED void get(vector made[TILE_ROWS][VECTORS], const int32_t *out, const int rows,
                 const int vectors) {
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = load(out + (r * VECTORS + v) * LANES);
}

/* What was taken off the data, times the weights: with that the sums of all rows begin. */
INLINED void begin(const tile *t, vector made[TILE_ROWS][VECTORS], const int rows,
                   const int vectors) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) made[0][v] = zeros();
    const int64_t second = (int)LANES < NDRT_WHOLE_BLOCK ? 2 * LANES : t->second_sums;
    for (int64_t p = 0; p < t->pairs; p++) {
        const vector x = quad_of((const uint8_t *)(t->bases + 2 * p));
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const int16_t *sums = t->sums + p * 2 * NDRT_WHOLE_BLOCK + v * second;
            made[0][v] = plus_32(made[0][v], products_16(x, load(sums)));
        }
    }
#pragma GCC unroll 6
    for (int r = 1; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = made[0][v];
}

/* Adds a chunk whose sums 16 bits hold. */
INLINED void add_narrow(vector made[TILE_ROWS][VECTORS], const uint8_t *data, const int8_t *weights,
                        int64_t second, const int rows, const int vectors) {
    const vector ones = all_16(1);
    vector w[QUADS][VECTORS];
#pragma GCC unroll 2
    for (int q = 0; q < QUADS; q++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            w[q][v] = load(weights + q * QUAD * NDRT_WHOLE_BLOCK + v * second);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
        vector p[VECTORS];
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++) {
            const vector x = quad_of(data + r * CHUNK + q * QUAD);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                const vector product = products_8(x, w[q][v]);
                p[v] = q ? plus_16(p[v], product) : product;
            }
        }
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            made[r][v] = in_order_plus_32(made[r][v], products_16(p[v], ones));
    }
}

/* Adds a chunk of which 16 bits hold the sums of two products only. */
INLINED void add_pairs(vector made[TILE_ROWS][VECTORS], const uint8_t *data, const int8_t *weights,
                       int64_t second, const int rows, const int vectors) {
    const vector ones = all_16(1);
#pragma GCC unroll 1
    for (int q = 0; q < QUADS; q++, weights += QUAD * NDRT_WHOLE_BLOCK, data += QUAD) {
        vector w[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) w[v] = load(weights + v * second);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const vector x = quad_of(data + r * CHUNK);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                made[r][v] = in_order_plus_32(made[r][v], products_16(products_8(x, w[v]), ones));
        }
    }
}

/* Adds a chunk of any numbers: 0 and 2 of a quad are multiplied and added up at once, as are 1 and
 * 3. */
static __attribute__((noinline)) void add_wide(int32_t *out, const uint8_t *data,
                                               const int8_t *weights, int64_t second, int rows,
                                               int vectors) {
    const vector low = all_16(UINT8_MAX);
    for (int v = 0; v < vectors; v++, weights += second) {
        vector even[QUADS], odd[QUADS];
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++) {
            const vector w = load(weights + q * QUAD * NDRT_WHOLE_BLOCK);
            even[q] = right_signed_8(left_8(w));
            odd[q] = right_signed_8(w);
        }
        for (int r = 0; r < rows; r++) {
            int32_t *to = out + (r * VECTORS + v) * LANES;
            vector made = load(to);
#pragma GCC unroll 2
            for (int q = 0; q < QUADS; q++) {
                const vector x = quad_of(data + r * CHUNK + q * QUAD);
                made = plus_32(made, products_16(both(x, low), even[q]));
                made = plus_32(made, products_16(right_8(x), odd[q]));
            }
            store(to, made);
        }
    }
}

/* Whether the bound `of` holds, of the filters of both vectors. */
INLINED int holds(const int32_t *squares, const int32_t *limits, int64_t second, int of) {
    return squares[of] <= limits[of] && (!second || squares[of] <= limits[second + of]);
}

INLINED void sum_bytes(const tile *t, const int rows, const int vectors) {
    const uint8_t *data = t->data;
    const int8_t *weights = t->weights, *ahead = t->ahead;
    const int32_t *squares = t->squares, *limits = t->limits;
    const int64_t second = (int)LANES < NDRT_WHOLE_BLOCK ? LANES * QUAD : t->second;
    const int64_t second_limits =
        vectors > 1 && (int)LANES == NDRT_WHOLE_BLOCK ? t->second_limits : 0;
    vector made[TILE_ROWS][VECTORS];
    begin(t, made, rows, vectors);
    for (int64_t c = 0; c < t->chunks; c++) {
        __builtin_prefetch(ahead, 0, 2);
        if (__builtin_expect(holds(squares, limits, second_limits, ALL), 1)) {
            add_narrow(made, data, weights, second, rows, vectors);
        } else if (holds(squares, limits, second_limits, PAIRS)) {
            add_pairs(made, data, weights, second, rows, vectors);
        } else {
            put(t->out, made, rows, vectors);
            add_wide(t->out, data, weights, second, rows, vectors);
            get(made, t->out, rows, vectors);
        }
        data += rows * CHUNK;
        weights += CHUNK * NDRT_WHOLE_BLOCK;
        ahead += CACHE_LINE;
        squares += NDRT_WHOLE_BOUNDS;
        limits += NDRT_WHOLE_BOUNDS;
    }
    put(t->out, made, rows, vectors);
}

INLINED void sum_tile(const tile *t, int rows, const int vectors) {
    switch (rows) {
    case 1: sum_bytes(t, 1, vectors); return;
    case 2: sum_bytes(t, 2, vectors); return;
    case 3: sum_bytes(t, 3, vectors); return;
#ifdef __AVX512BW__
    case 4: sum_bytes(t, 4, vectors); return;
    case 5: sum_bytes(t, 5, vectors); return;
#endif
    default: sum_bytes(t, TILE_ROWS, vectors);
    }
}

typedef void sum_some(const tile *t, int rows);
static void sum_1(const tile *t, int rows) { sum_tile(t, rows, 1); }
static void sum_2(const tile *t, int rows) { sum_tile(t, rows, 2); }
static sum_some *const sum[VECTORS] = {sum_1, sum_2};

#endif
