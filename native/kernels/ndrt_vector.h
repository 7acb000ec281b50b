/* Vectors of floats as wide as the registers of the CPU level that the file is compiled for. */
#ifndef NDRT_VECTOR_H
#define NDRT_VECTOR_H

#include <immintrin.h>
#include <stdint.h>

#include "kernels/ndrt_kernel.h"

#ifdef __AVX512F__

enum { LANES = 16 };
typedef __m512 ndrt_vector;
typedef __m256 ndrt_half;
typedef __mmask16 ndrt_lanes; /* a mask of the first lanes */

/* The first `count` lanes: none if it is below 0, all if it is more than there are. */
INLINED ndrt_lanes ndrt_first_lanes(int64_t count) {
    return (ndrt_lanes)(count >= LANES ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
}

INLINED ndrt_vector ndrt_zeros(void) { return _mm512_setzero_ps(); }
INLINED ndrt_vector ndrt_all(float x) { return _mm512_set1_ps(x); }
INLINED ndrt_vector ndrt_load(const float *p) { return _mm512_loadu_ps(p); }
INLINED void ndrt_store(float *p, ndrt_vector x) { _mm512_storeu_ps(p, x); }

/* 0 in other lanes, whose memory is not touched. */
INLINED ndrt_vector ndrt_load_lanes(ndrt_lanes lanes, const float *p) {
    return _mm512_maskz_loadu_ps(lanes, p);
}

INLINED void ndrt_store_lanes(float *p, ndrt_lanes lanes, ndrt_vector x) {
    _mm512_mask_storeu_ps(p, lanes, x);
}

INLINED ndrt_vector ndrt_add(ndrt_vector x, ndrt_vector y) { return _mm512_add_ps(x, y); }

/* x y + z, rounded once. */
INLINED ndrt_vector ndrt_multiply_add(ndrt_vector x, ndrt_vector y, ndrt_vector z) {
    return _mm512_fmadd_ps(x, y, z);
}

/* Within bounds. NaN is the second operand of both, and stays. */
INLINED ndrt_vector ndrt_bounded(ndrt_vector x, ndrt_vector low, ndrt_vector high) {
    return _mm512_min_ps(high, _mm512_max_ps(low, x));
}

INLINED ndrt_half ndrt_half_zeros(void) { return _mm256_setzero_ps(); }
INLINED ndrt_half ndrt_half_load(const float *p) { return _mm256_loadu_ps(p); }
INLINED ndrt_half ndrt_half_of(ndrt_vector x) { return _mm512_castps512_ps256(x); }
INLINED ndrt_half ndrt_half_add(ndrt_half x, ndrt_half y) { return _mm256_add_ps(x, y); }
INLINED ndrt_half ndrt_half_multiply_add(ndrt_half x, ndrt_half y, ndrt_half z) {
    return _mm256_fmadd_ps(x, y, z);
}
/* The upper half is undefined. */
INLINED ndrt_vector ndrt_whole_of(ndrt_half x) { return _mm512_castps256_ps512(x); }

#else

enum { LANES = 8 };
typedef __m256 ndrt_vector;
typedef __m128 ndrt_half;
typedef int64_t ndrt_lanes; /* how many of the first lanes */

INLINED ndrt_lanes ndrt_first_lanes(int64_t count) {
    return count >= LANES ? LANES : count <= 0 ? 0 : count;
}

INLINED __m256i ndrt_mask_of(ndrt_lanes lanes) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)lanes),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINED ndrt_vector ndrt_zeros(void) { return _mm256_setzero_ps(); }
INLINED ndrt_vector ndrt_all(float x) { return _mm256_set1_ps(x); }
INLINED ndrt_vector ndrt_load(const float *p) { return _mm256_loadu_ps(p); }
INLINED void ndrt_store(float *p, ndrt_vector x) { _mm256_storeu_ps(p, x); }

INLINED ndrt_vector ndrt_load_lanes(ndrt_lanes lanes, const float *p) {
    return lanes == LANES ? ndrt_load(p) : _mm256_maskload_ps(p, ndrt_mask_of(lanes));
}

/* Masked stores take tens of cycles on some CPUs, so all lanes are stored without a mask. */
INLINED void ndrt_store_lanes(float *p, ndrt_lanes lanes, ndrt_vector x) {
    if (lanes == LANES)
        ndrt_store(p, x);
    else
        _mm256_maskstore_ps(p, ndrt_mask_of(lanes), x);
}

INLINED ndrt_vector ndrt_add(ndrt_vector x, ndrt_vector y) { return _mm256_add_ps(x, y); }

INLINED ndrt_vector ndrt_multiply_add(ndrt_vector x, ndrt_vector y, ndrt_vector z) {
    return _mm256_fmadd_ps(x, y, z);
}

INLINED ndrt_vector ndrt_bounded(ndrt_vector x, ndrt_vector low, ndrt_vector high) {
    return _mm256_min_ps(high, _mm256_max_ps(low, x));
}

INLINED ndrt_half ndrt_half_zeros(void) { return _mm_setzero_ps(); }
INLINED ndrt_half ndrt_half_load(const float *p) { return _mm_loadu_ps(p); }
INLINED ndrt_half ndrt_half_of(ndrt_vector x) { return _mm256_castps256_ps128(x); }
INLINED ndrt_half ndrt_half_add(ndrt_half x, ndrt_half y) { return _mm_add_ps(x, y); }
INLINED ndrt_half ndrt_half_multiply_add(ndrt_half x, ndrt_half y, ndrt_half z) {
    return _mm_fmadd_ps(x, y, z);
}
INLINED ndrt_vector ndrt_whole_of(ndrt_half x) { return _mm256_castps128_ps256(x); }

#endif

/* X(1) X(2) ..., for tables of functions by the number of rows of a tile. */
#define NDRT_1_TO_6(X) X(1) X(2) X(3) X(4) X(5) X(6)
#define NDRT_1_TO_12(X) NDRT_1_TO_6(X) X(7) X(8) X(9) X(10) X(11) X(12)
#define NDRT_1_TO_14(X) NDRT_1_TO_12(X) X(13) X(14)

#endif
