/* Sums to numbers, all that ndrt_finish.h finishes at once. */
#ifndef NDRT_FINISH_AVX512_H
#define NDRT_FINISH_AVX512_H

#include "kernels/ndrt_finish_job.h"

/* The sum, or the end of int32 that it is beyond. */
INLINED __m512i ndrt_bounded_sum(__m512i a, __m512i b) {
    const __m512i sum = _mm512_add_epi32(a, b);
    const __m512i end = _mm512_add_epi32(_mm512_set1_epi32(INT32_MAX), _mm512_srli_epi32(a, 31));
    const __m512i over = _mm512_and_si512(_mm512_xor_si512(a, sum), _mm512_xor_si512(b, sum));
    return _mm512_mask_mov_epi32(sum, _mm512_movepi32_mask(over), end);
}

/* The second operand of both is NaN where x is. */
INLINED __m512 ndrt_bent(__m512 x, ndrt_bend b) {
    if (b.slope != 1.0f)
        x = _mm512_mask_mul_ps(x, _mm512_movepi32_mask(_mm512_castps_si512(x)), x,
                               _mm512_set1_ps(b.slope));
    return _mm512_min_ps(_mm512_set1_ps(b.high), _mm512_max_ps(_mm512_set1_ps(b.low), x));
}

/* The lowest bytes of 16 numbers. Written as an instruction, or the compiler makes one of it and
 * the store behind it, which takes several times as long as both. */
INLINED __m128i ndrt_bytes_of(__m512i whole) {
    __m128i bytes;
    __asm__("vpmovdb %1, %0" : "=v"(bytes) : "v"(whole));
    return bytes;
}

/* 16 floats to 8 bits. An operand that is NaN makes 127 of int8, and 0 of uint8. */
INLINED __m128i ndrt_narrowed(__m512 x, int is_signed) {
    if (is_signed) {
        const __m512i whole = _mm512_cvtps_epi32(_mm512_min_ps(x, _mm512_set1_ps(127.0f)));
        return ndrt_bytes_of(_mm512_max_epi32(whole, _mm512_set1_epi32(INT8_MIN)));
    }
    /* of NaN and a number the second operand is kept: NaN, which becomes the least int32, and so
     * 0 */
    const __m512i whole = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(255.0f), x));
    return ndrt_bytes_of(_mm512_max_epi32(whole, _mm512_setzero_si512()));
}

/* What all rows of NDRT_FINISHED columns are finished with. */
typedef struct {
    __m512i bias;
    __m512 shift, scale;
} ndrt_finish_of_columns;

/* Of those columns from `column` on that `some` are. */
INLINED ndrt_finish_of_columns ndrt_finish_columns(const ndrt_finish *f, int64_t column,
                                                   const __mmask16 some) {
    const __m512 none = _mm512_setzero_ps();
    return (ndrt_finish_of_columns){
        .bias = f->bias ? _mm512_maskz_loadu_epi32(some, f->bias + column) : _mm512_setzero_si512(),
        .shift = f->shift ? _mm512_maskz_loadu_ps(some, f->shift + column) : none,
        .scale = !f->scale       ? none
                 : f->scale_step ? _mm512_maskz_loadu_ps(some, f->scale + column)
                                 : _mm512_set1_ps(*f->scale),
    };
}

/* `sum`: of a row; `at`: the first output. */
INLINED void ndrt_finish_sum(const ndrt_finish *f, const ndrt_finish_of_columns *of, __m512i sum,
                             int64_t at, const __mmask16 some) {
    if (f->bias) sum = ndrt_bounded_sum(sum, of->bias);
    if (f->kind == NDRT_S32) {
        _mm512_mask_storeu_epi32((int32_t *)f->out + at, some, sum);
        return;
    }
    __m512 x = _mm512_cvtepi32_ps(sum);
    if (f->shift) x = _mm512_add_ps(x, of->shift);
    x = _mm512_mul_ps(x, of->scale);
    if (f->bends_first) x = ndrt_bent(x, f->first);
    if (f->added) {
        const __m128i few = _mm_maskz_loadu_epi8(some, (const uint8_t *)f->added + at);
        const __m512i whole =
            f->added_kind == NDRT_S8 ? _mm512_cvtepi8_epi32(few) : _mm512_cvtepu8_epi32(few);
        x = _mm512_add_ps(x,
                          _mm512_mul_ps(_mm512_cvtepi32_ps(whole), _mm512_set1_ps(f->added_scale)));
    }
    if (f->bends_last) x = ndrt_bent(x, f->last);
    if (f->kind == NDRT_F32) {
        _mm512_mask_storeu_ps((float *)f->out + at, some, x);
        return;
    }
    if (f->zero != 0.0f)
        x = _mm512_add_ps(_mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
                          _mm512_set1_ps(f->zero));
    _mm_mask_storeu_epi8((uint8_t *)f->out + at, some, ndrt_narrowed(x, f->kind == NDRT_S8));
}

/* Those of NDRT_FINISHED columns from `column` on that `some` are, of each of `rows`; a row of sums
 * has `row` numbers, and one of the output `out_row`. `at`: the first output. */
INLINED void ndrt_finish_some(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
                              int64_t at, int64_t out_row, int64_t column, const __mmask16 some) {
    const ndrt_finish_of_columns of = ndrt_finish_columns(f, column, some);
    for (int r = 0; r < rows; r++, sums += row, at += out_row)
        ndrt_finish_sum(f, &of, _mm512_loadu_si512(sums), at, some);
}

/* All of them: with the constant the compiler leaves out the mask. */
INLINED void ndrt_finish_whole(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
                               int64_t at, int64_t out_row, int64_t column) {
    ndrt_finish_some(f, sums, row, rows, at, out_row, column, 0xffff);
}

/* The first `count`. */
static __attribute__((noinline)) void ndrt_finish_few(const ndrt_finish *f, const int32_t *sums,
                                                      int64_t row, int rows, int64_t at,
                                                      int64_t out_row, int64_t column, int count) {
    ndrt_finish_some(f, sums, row, rows, at, out_row, column, (__mmask16)((1 << count) - 1));
}

#endif
