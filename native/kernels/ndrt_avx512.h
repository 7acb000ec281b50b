/* What kernels written for AVX-512 share. */
#ifndef NDRT_AVX512_H
#define NDRT_AVX512_H

#include <immintrin.h>

enum { LANES = 16 };

#define INLINED static inline __attribute__((always_inline))

/* Within bounds. NaN is the second operand of both, and stays. */
INLINED __m512 ndrt_bounded(__m512 x, __m512 low, __m512 high) {
    return _mm512_min_ps(high, _mm512_max_ps(low, x));
}

#endif
