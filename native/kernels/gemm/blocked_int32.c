/* Products of matrices of int32, modulo its range. */
#include <immintrin.h>
#include <math.h>

#include "kernels/ndrt_kernel.h"

typedef uint32_t number; /* which may overflow */

#ifdef __AVX512F__
enum { LANES = 16, TILE_VECTORS = 3 };
#define TILE_ROWS 8
typedef __m512i vector;
INLINED vector zeros(void) { return _mm512_setzero_si512(); }
INLINED vector all(uint32_t x) { return _mm512_set1_epi32((int)x); }
INLINED vector load(const uint32_t *at) { return _mm512_loadu_si512(at); }
INLINED void store(uint32_t *at, vector x) { _mm512_storeu_si512(at, x); }
INLINED __mmask16 first(int64_t count) { return (__mmask16)((1 << count) - 1); }
INLINED vector load_first(const uint32_t *at, int64_t count) {
    return _mm512_maskz_loadu_epi32(first(count), at);
}
INLINED void store_first(uint32_t *at, int64_t count, vector x) {
    _mm512_mask_storeu_epi32(at, first(count), x);
}
INLINED vector add(vector x, vector y) { return _mm512_add_epi32(x, y); }
INLINED vector multiply_add(vector x, vector y, vector z) {
    return _mm512_add_epi32(_mm512_mullo_epi32(x, y), z);
}
INLINED uint32_t sum_of(vector x) { return (uint32_t)_mm512_reduce_add_epi32(x); }
#else
/* a vector of columns less than of float64: products need a register */
enum { LANES = 8, TILE_VECTORS = 2 };
#define TILE_ROWS 4
typedef __m256i vector;
INLINED vector zeros(void) { return _mm256_setzero_si256(); }
INLINED vector all(uint32_t x) { return _mm256_set1_epi32((int)x); }
INLINED vector load(const uint32_t *at) { return _mm256_loadu_si256((const __m256i *)at); }
INLINED void store(uint32_t *at, vector x) { _mm256_storeu_si256((__m256i *)at, x); }
INLINED __m256i first(int64_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
INLINED vector load_first(const uint32_t *at, int64_t count) {
    return _mm256_maskload_epi32((const int *)at, first(count));
}
INLINED void store_first(uint32_t *at, int64_t count, vector x) {
    _mm256_maskstore_epi32((int *)at, first(count), x);
}
INLINED vector add(vector x, vector y) { return _mm256_add_epi32(x, y); }
INLINED vector multiply_add(vector x, vector y, vector z) {
    return _mm256_add_epi32(_mm256_mullo_epi32(x, y), z);
}
INLINED uint32_t sum_of(vector x) {
    __m128i some = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    some = _mm_add_epi32(some, _mm_shuffle_epi32(some, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_add_epi32(some, _mm_shuffle_epi32(some, 0xb1)));
}
#endif

/* No lines: numbers are copied one by one. */
static int64_t pack_turned(uint32_t *to, int64_t width, const uint32_t *from, int64_t count,
                           int64_t depth, int64_t across) {
    (void)to, (void)width, (void)from, (void)count, (void)depth, (void)across;
    return 0;
}

#include "ndrt_blocked_product.h"

void ndrt_blocked_int32(const ndrt_blocked_part *part) {
    multiply(part);
    finish(part);
}
