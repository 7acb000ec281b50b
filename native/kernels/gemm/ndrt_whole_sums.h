/* Vectors of int32 sums of products of 8-bit numbers that were widened to 16 bits, which can not
 * saturate: two numbers of a row and two of a column are multiplied and added up at once. */
#ifndef NDRT_WHOLE_SUMS_H
#define NDRT_WHOLE_SUMS_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ndrt_kernel.h"

/* weights_of: numbers of 8 bits, widened; loaded: of 16 bits; pair_of: two of these, the same
 * in all lanes. */
#ifdef __AVX512BW__
typedef __m512i sums;
enum { LANES = 16 };
INLINED sums no_sums(void) { return _mm512_setzero_si512(); }
INLINED sums weights_of(const int8_t *w) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w));
}
INLINED sums loaded(const int16_t *x) { return _mm512_loadu_si512(x); }
INLINED sums pair_of(const int16_t *x) {
    int32_t pair;
    memcpy(&pair, x, sizeof pair);
    return _mm512_set1_epi32(pair);
}
/* Where it is fused, in one instruction, of AVX-512 VNNI. */
INLINED sums plus_products(sums s, sums x, sums w, const int is_fused) {
    if (!is_fused) return _mm512_add_epi32(s, _mm512_madd_epi16(x, w));
    __asm__("vpdpwssd %2, %1, %0" : "+v"(s) : "v"(x), "v"(w));
    return s;
}
INLINED void store_sums(int32_t *out, sums s) { _mm512_storeu_si512(out, s); }
#else
typedef __m256i sums;
enum { LANES = 8 };
INLINED sums no_sums(void) { return _mm256_setzero_si256(); }
INLINED sums weights_of(const int8_t *w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
}
INLINED sums loaded(const int16_t *x) { return _mm256_loadu_si256((const __m256i *)x); }
INLINED sums pair_of(const int16_t *x) {
    int32_t pair;
    memcpy(&pair, x, sizeof pair);
    return _mm256_set1_epi32(pair);
}
INLINED sums plus_products(sums s, sums x, sums w, const int is_fused) {
    (void)is_fused;
    return _mm256_add_epi32(s, _mm256_madd_epi16(x, w));
}
INLINED void store_sums(int32_t *out, sums s) { _mm256_storeu_si256((__m256i *)out, s); }
#endif

#endif
