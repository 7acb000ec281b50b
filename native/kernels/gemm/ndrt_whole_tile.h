/* Tiles of sums of products of uint8 and int8, in int32 and exact: 6 rows of data by two vectors of
 * filters.
 *
 * vpmaddubsw multiplies bytes and adds up two products in 16 bits, where sums saturate. Adding up
 * four before they become int32 takes three quarters of the multiplications of numbers that are
 * widened first. Whether 16 bits hold these sums, or only those of two products, or not even these,
 * which are then widened (vpmaddwd), follows for each chunk of rows and filters from bounds on sums
 * of squares (whole_packing.c).
 *
 * AVX-512 VNNI adds four products to int32 at once, and has no need of that. */
#ifndef NDRT_WHOLE_TILE_H
#define NDRT_WHOLE_TILE_H

#include <immintrin.h>

#include "ndrt_whole_layout.h"

enum {
    QUAD = NDRT_WHOLE_QUAD,
    CHUNK = NDRT_WHOLE_CHUNK,
    QUADS = CHUNK / QUAD,
    TILE_ROWS = NDRT_WHOLE_TILE,
    VECTORS = 2,
    CACHE_LINE = 64,
    /* bounds that hold, as bits: of all products of a sum, of pairs */
    ALL = 1,
    PAIRS = 2
};

/* What rows of data are for the sums: uint8 around 0, any numbers in 16 bits, or uint8. */
typedef enum { BYTES, WIDENED, BY_VNNI } form;

#ifdef __AVX512BW__
typedef __m512i vector;
enum { LANES = 16 };
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
INLINED vector plus_quads(vector sum, vector u8, vector s8) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u8), "v"(s8));
    return sum;
}
#else
typedef __m256i vector;
enum { LANES = 8 };
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
    int32_t *out;                  /* (TILE_ROWS, VECTORS * LANES) */
    const uint8_t *data;           /* (chunks, rows, CHUNK), bytes or what is widened */
    const int8_t *weights, *ahead; /* ahead: to prefetch, a line for each chunk */
    const float *squares, *limits; /* NDRT_WHOLE_BOUNDS of each chunk */
    int64_t second, second_limits; /* how far behind these those of the second vector are */
    int64_t chunks;
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

/* Adds a chunk whose sums 16 bits hold. */
INLINED void add_narrow(int32_t *out, const uint8_t *data, const int8_t *weights, int64_t second,
                        const int rows, const int vectors) {
    const vector ones = all_16(1);
    vector made[TILE_ROWS][VECTORS];
#pragma GCC unroll 2
    for (int q = 0; q < QUADS; q++, weights += QUAD * NDRT_WHOLE_BLOCK) {
        vector w[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) w[v] = load(weights + v * second);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const vector x = quad_of(data + r * CHUNK + q * QUAD);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                const vector p = products_8(x, w[v]);
                made[r][v] = q ? plus_16(made[r][v], p) : p;
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            int32_t *to = out + (r * VECTORS + v) * LANES;
            store(to, plus_32(load(to), products_16(made[r][v], ones)));
        }
}

/* Adds a chunk of which 16 bits hold the sums of two products only. */
INLINED void add_pairs(int32_t *out, const uint8_t *data, const int8_t *weights, int64_t second,
                       const int rows, const int vectors) {
    const vector ones = all_16(1);
    vector made[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = load(out + (r * VECTORS + v) * LANES);
#pragma GCC unroll 1
    for (int q = 0; q < QUADS; q++, weights += QUAD * NDRT_WHOLE_BLOCK, data += QUAD) {
        vector w[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) w[v] = load(weights + v * second);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const vector x = quad_of(data + r * CHUNK);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) {
                const vector p = products_8(x, w[v]);
                made[r][v] = in_order_plus_32(made[r][v], products_16(p, ones));
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(out + (r * VECTORS + v) * LANES, made[r][v]);
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

/* Bits of the bounds that hold. */
INLINED int held(const float *squares, const float *limits) {
    const __m128 found = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)squares));
    const __m128 most = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)limits));
    return _mm_movemask_ps(_mm_cmple_ps(found, most)) & (ALL | PAIRS);
}

/* The sums of rows that are bytes. */
INLINED void sum_bytes(const tile *t, const int rows, const int vectors) {
    const uint8_t *data = t->data;
    const int8_t *weights = t->weights, *ahead = t->ahead;
    const float *squares = t->squares, *limits = t->limits;
    const int64_t second = (int)LANES < NDRT_WHOLE_BLOCK ? LANES * QUAD : t->second;
    const int two_blocks = vectors > 1 && (int)LANES == NDRT_WHOLE_BLOCK;
    int32_t *out = t->out;
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(out + (r * VECTORS + v) * LANES, zeros());
    for (int64_t c = 0; c < t->chunks; c++) {
        int bounds = held(squares, limits);
        if (two_blocks) bounds &= held(squares, limits + t->second_limits);
        __builtin_prefetch(ahead, 0, 2);
        if (__builtin_expect(bounds == (ALL | PAIRS), 1))
            add_narrow(out, data, weights, second, rows, vectors);
        else if (bounds & PAIRS)
            add_pairs(out, data, weights, second, rows, vectors);
        else
            add_wide(out, data, weights, second, rows, vectors);
        data += rows * CHUNK;
        weights += CHUNK * NDRT_WHOLE_BLOCK;
        ahead += CACHE_LINE;
        squares += NDRT_WHOLE_BOUNDS;
        limits += NDRT_WHOLE_BOUNDS;
    }
}

/* The sums of rows that are widened: of each quad numbers 0 and 2, and 1 and 3. */
INLINED void sum_widened(const tile *t, const int rows, const int vectors) {
    const uint8_t *data = t->data;
    const int8_t *weights = t->weights;
    const int64_t second = (int)LANES < NDRT_WHOLE_BLOCK ? LANES * QUAD : t->second;
    vector made[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = zeros();
    for (int64_t c = 0; c < t->chunks; c++, data += rows * 2 * CHUNK) {
#pragma GCC unroll 1
        for (int q = 0; q < QUADS; q++, weights += QUAD * NDRT_WHOLE_BLOCK)
#pragma GCC unroll 2
            for (int odd = 0; odd < 2; odd++) {
                vector w[VECTORS];
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++) {
                    w[v] = load(weights + v * second);
                    w[v] = right_signed_8(odd ? w[v] : left_8(w[v]));
                }
#pragma GCC unroll 6
                for (int r = 0; r < rows; r++) {
                    const vector x = quad_of(data + r * 2 * CHUNK + (2 * q + odd) * QUAD);
#pragma GCC unroll 2
                    for (int v = 0; v < vectors; v++)
                        made[r][v] = in_order_plus_32(made[r][v], products_16(x, w[v]));
                }
            }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(t->out + (r * VECTORS + v) * LANES, made[r][v]);
}

#ifdef __AVX512BW__
/* With data that is unsigned. */
INLINED void sum_rows_by_vnni(const tile *t, const int rows, const int vectors) {
    vector made[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = zeros();
    const int8_t *weights = t->weights, *ahead = t->ahead;
    const uint8_t *data = t->data;
    for (int64_t c = 0; c < t->chunks; c++, data += rows * CHUNK, ahead += CACHE_LINE) {
        __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 2
        for (int q = 0; q < QUADS; q++, weights += QUAD * NDRT_WHOLE_BLOCK) {
            vector w[VECTORS];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) w[v] = load(weights + v * t->second);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                const vector x = quad_of(data + r * CHUNK + q * QUAD);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++) made[r][v] = plus_quads(made[r][v], x, w[v]);
            }
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(t->out + (r * VECTORS + v) * LANES, made[r][v]);
}
#endif

INLINED void sum_constant(const tile *t, const int rows, const int vectors, const form of) {
    if (of == BYTES)
        sum_bytes(t, rows, vectors);
    else if (of == WIDENED)
        sum_widened(t, rows, vectors);
#ifdef __AVX512BW__
    else
        sum_rows_by_vnni(t, rows, vectors);
#endif
}

INLINED void sum_tile(const tile *t, int rows, const int vectors, const form of) {
    switch (rows) {
    case 1: sum_constant(t, 1, vectors, of); return;
    case 2: sum_constant(t, 2, vectors, of); return;
    case 3: sum_constant(t, 3, vectors, of); return;
    case 4: sum_constant(t, 4, vectors, of); return;
    case 5: sum_constant(t, 5, vectors, of); return;
    default: sum_constant(t, TILE_ROWS, vectors, of);
    }
}

typedef void sum_some(const tile *t, int rows);
static void sum_bytes_1(const tile *t, int rows) { sum_tile(t, rows, 1, BYTES); }
static void sum_bytes_2(const tile *t, int rows) { sum_tile(t, rows, 2, BYTES); }
static void sum_widened_1(const tile *t, int rows) { sum_tile(t, rows, 1, WIDENED); }
static void sum_widened_2(const tile *t, int rows) { sum_tile(t, rows, 2, WIDENED); }
#ifdef __AVX512BW__
static void sum_by_vnni_1(const tile *t, int rows) { sum_tile(t, rows, 1, BY_VNNI); }
static void sum_by_vnni_2(const tile *t, int rows) { sum_tile(t, rows, 2, BY_VNNI); }
#endif
static sum_some *const sum[][VECTORS] = {
    [BYTES] = {sum_bytes_1, sum_bytes_2},
    [WIDENED] = {sum_widened_1, sum_widened_2},
#ifdef __AVX512BW__
    [BY_VNNI] = {sum_by_vnni_1, sum_by_vnni_2},
#endif
};

#endif
