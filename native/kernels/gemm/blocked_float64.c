/* Products of matrices of float64. */
#include <immintrin.h>
#include <math.h>

#include "kernels/ndrt_kernel.h"

typedef double number;

#ifdef __AVX512F__
enum { LANES = 8, TILE_VECTORS = 3 };
#define TILE_ROWS 8
typedef __m512d vector;
INLINED vector zeros(void) { return _mm512_setzero_pd(); }
INLINED vector all(double x) { return _mm512_set1_pd(x); }
INLINED vector load(const double *at) { return _mm512_loadu_pd(at); }
INLINED void store(double *at, vector x) { _mm512_storeu_pd(at, x); }
INLINED __mmask8 first(int64_t count) { return (__mmask8)((1 << count) - 1); }
INLINED vector load_first(const double *at, int64_t count) {
    return _mm512_maskz_loadu_pd(first(count), at);
}
INLINED void store_first(double *at, int64_t count, vector x) {
    _mm512_mask_storeu_pd(at, first(count), x);
}
INLINED vector add(vector x, vector y) { return _mm512_add_pd(x, y); }
INLINED vector multiply_add(vector x, vector y, vector z) { return _mm512_fmadd_pd(x, y, z); }
INLINED double sum_of(vector x) { return _mm512_reduce_add_pd(x); }
#else
enum { LANES = 4, TILE_VECTORS = 3 };
#define TILE_ROWS 4
typedef __m256d vector;
INLINED vector zeros(void) { return _mm256_setzero_pd(); }
INLINED vector all(double x) { return _mm256_set1_pd(x); }
INLINED vector load(const double *at) { return _mm256_loadu_pd(at); }
INLINED void store(double *at, vector x) { _mm256_storeu_pd(at, x); }
INLINED __m256i first(int64_t count) {
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
INLINED vector load_first(const double *at, int64_t count) {
    return _mm256_maskload_pd(at, first(count));
}
INLINED void store_first(double *at, int64_t count, vector x) {
    _mm256_maskstore_pd(at, first(count), x);
}
INLINED vector add(vector x, vector y) { return _mm256_add_pd(x, y); }
INLINED vector multiply_add(vector x, vector y, vector z) { return _mm256_fmadd_pd(x, y, z); }
INLINED double sum_of(vector x) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
#endif

/* Blocks of 4 by 4, turned round in registers: whole ones of the lines that are padded with 0 as
 * well. Returns how many lines those are. */
static int64_t pack_turned(double *to, int64_t width, const double *from, int64_t count,
                           int64_t depth, int64_t across) {
    const int64_t lines = depth / 4 * 4;
    for (int64_t i = 0; i < width; i += 4) {
        const int64_t some = width - i < 4 ? width - i : 4;
        for (int64_t k = 0; k < lines; k += 4) {
            __m256d row[4];
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                row[r] = i + r < count ? _mm256_loadu_pd(from + (i + r) * across + k)
                                       : _mm256_setzero_pd();
            const __m256d even = _mm256_unpacklo_pd(row[0], row[1]);
            const __m256d odd = _mm256_unpackhi_pd(row[0], row[1]);
            const __m256d next_even = _mm256_unpacklo_pd(row[2], row[3]);
            const __m256d next_odd = _mm256_unpackhi_pd(row[2], row[3]);
            const __m256d line[4] = {_mm256_permute2f128_pd(even, next_even, 0x20),
                                     _mm256_permute2f128_pd(odd, next_odd, 0x20),
                                     _mm256_permute2f128_pd(even, next_even, 0x31),
                                     _mm256_permute2f128_pd(odd, next_odd, 0x31)};
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++) {
                double *at = to + (k + r) * width + i;
                if (some == 4)
                    _mm256_storeu_pd(at, line[r]);
                else
                    _mm256_maskstore_pd(at,
                                        _mm256_cmpgt_epi64(_mm256_set1_epi64x(some),
                                                           _mm256_setr_epi64x(0, 1, 2, 3)),
                                        line[r]);
            }
        }
    }
    return lines;
}

#include "ndrt_blocked_product.h"

void ndrt_blocked_float64(const ndrt_blocked_part *part) {
    multiply(part);
    finish(part);
}
