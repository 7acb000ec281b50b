/* Multiply-adds in registers and nothing else: what the CPU does at best. */
#include <immintrin.h>

#include "kernels/ndrt_kernel.h"

enum { CHAINS = NDRT_CHAINS };

#ifdef __AVX512F__
float ndrt_multiply_adds(int64_t count) {
    __m512 sum[CHAINS];
    const __m512 factor = _mm512_set1_ps(0.75f), term = _mm512_set1_ps(0.5f);
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sum[c] = _mm512_set1_ps((float)c);
    while (count-- > 0) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sum[c] = _mm512_fmadd_ps(sum[c], factor, term);
    }
    __m512 all = sum[0];
#pragma GCC unroll 12
    for (int c = 1; c < CHAINS; c++) all = _mm512_add_ps(all, sum[c]);
    return _mm512_reduce_add_ps(all);
}
#else
float ndrt_multiply_adds(int64_t count) {
    __m256 sum[CHAINS];
    const __m256 factor = _mm256_set1_ps(0.75f), term = _mm256_set1_ps(0.5f);
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sum[c] = _mm256_set1_ps((float)c);
    while (count-- > 0) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sum[c] = _mm256_fmadd_ps(sum[c], factor, term);
    }
    __m256 all = sum[0];
#pragma GCC unroll 12
    for (int c = 1; c < CHAINS; c++) all = _mm256_add_ps(all, sum[c]);
    float lanes[8];
    _mm256_storeu_ps(lanes, all);
    return lanes[0] + lanes[7];
}
#endif
