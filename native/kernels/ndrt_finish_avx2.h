/* Sums to numbers, 8 at a time: a half of what ndrt_finish.h finishes at once. */
#ifndef NDRT_FINISH_AVX2_H
#define NDRT_FINISH_AVX2_H

#include "kernels/ndrt_finish_job.h"

/* The sum, or the end of int32 that it is beyond. */
INLINED __m256i ndrt_bounded_sum(__m256i a, __m256i b) {
    const __m256i sum = _mm256_add_epi32(a, b);
    const __m256i end = _mm256_add_epi32(_mm256_set1_epi32(INT32_MAX), _mm256_srli_epi32(a, 31));
    const __m256i over = _mm256_and_si256(_mm256_xor_si256(a, sum), _mm256_xor_si256(b, sum));
    return _mm256_castps_si256(_mm256_blendv_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(end),
                                                _mm256_castsi256_ps(over)));
}

/* The second operand of both is NaN where x is. */
INLINED __m256 ndrt_bent(__m256 x, ndrt_bend b) {
    if (b.slope != 1.0f) x = _mm256_blendv_ps(x, _mm256_mul_ps(x, _mm256_set1_ps(b.slope)), x);
    return _mm256_min_ps(_mm256_set1_ps(b.high), _mm256_max_ps(_mm256_set1_ps(b.low), x));
}

/* Halves of 8 numbers of what is added. */
INLINED __m256 ndrt_added_half(const uint8_t *added, int is_signed, float scale) {
    const __m128i few = _mm_loadl_epi64((const __m128i *)added);
    const __m256i whole = is_signed ? _mm256_cvtepi8_epi32(few) : _mm256_cvtepu8_epi32(few);
    return _mm256_mul_ps(_mm256_cvtepi32_ps(whole), _mm256_set1_ps(scale));
}

/* 16 floats to 8 bits. An operand that is NaN makes 127 of int8, and 0 of uint8. */
INLINED __m128i ndrt_narrowed(__m256 a, __m256 b, int is_signed) {
    if (is_signed) {
        a = _mm256_min_ps(a, _mm256_set1_ps(127.0f));
        b = _mm256_min_ps(b, _mm256_set1_ps(127.0f));
    } else {
        /* of NaN and a number the second operand is kept: NaN, which below becomes the least int32,
         * and so 0 */
        a = _mm256_min_ps(_mm256_set1_ps(255.0f), a);
        b = _mm256_min_ps(_mm256_set1_ps(255.0f), b);
    }
    /* what is beyond int32 becomes its least number */
    const __m256i words = _mm256_permute4x64_epi64(
        _mm256_packs_epi32(_mm256_cvtps_epi32(a), _mm256_cvtps_epi32(b)), 0xd8);
    const __m128i low = _mm256_castsi256_si128(words), high = _mm256_extracti128_si256(words, 1);
    return is_signed ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
}

/* From 1 to 15 bytes, as few overlapping words: a call for so few takes longer. */
INLINED void ndrt_put_bytes(uint8_t *out, const uint8_t *bytes, int count) {
    const int half = count & 8 ? count - 8 : 0, quarter = count & 4 ? count - 4 : 0;
    if (count >= 8) {
        memcpy(out, bytes, 8);
        memcpy(out + half, bytes + half, 8);
    } else if (count >= 4) {
        memcpy(out, bytes, 4);
        memcpy(out + quarter, bytes + quarter, 4);
    } else {
        for (int i = 0; i < count; i++) out[i] = bytes[i];
    }
}

/* 16 sums, of which `count` are columns from `column` on; the first is output `at`. The others are
 * whatever. Arrays of the job hold 16 numbers from each column on where `count` is 16. */
INLINED void ndrt_finish_all(const ndrt_finish *f, const int32_t *sums, int64_t at,
                             const int32_t *bias, const float *shift, const float *scale,
                             const uint8_t *added, int count) {
    __m256i a = _mm256_loadu_si256((const __m256i *)sums);
    __m256i b = _mm256_loadu_si256((const __m256i *)(sums + 8));
    if (bias) {
        a = ndrt_bounded_sum(a, _mm256_loadu_si256((const __m256i *)bias));
        b = ndrt_bounded_sum(b, _mm256_loadu_si256((const __m256i *)(bias + 8)));
    }
    if (f->kind == NDRT_S32) {
        int32_t *out = (int32_t *)f->out + at, made[NDRT_FINISHED];
        if (count == NDRT_FINISHED) {
            _mm256_storeu_si256((__m256i *)out, a);
            _mm256_storeu_si256((__m256i *)(out + 8), b);
        } else {
            _mm256_storeu_si256((__m256i *)made, a);
            _mm256_storeu_si256((__m256i *)(made + 8), b);
            memcpy(out, made, (size_t)count * sizeof *made);
        }
        return;
    }
    __m256 x = _mm256_cvtepi32_ps(a), y = _mm256_cvtepi32_ps(b);
    if (shift) {
        x = _mm256_add_ps(x, _mm256_loadu_ps(shift));
        y = _mm256_add_ps(y, _mm256_loadu_ps(shift + 8));
    }
    if (f->scale_step) {
        x = _mm256_mul_ps(x, _mm256_loadu_ps(scale));
        y = _mm256_mul_ps(y, _mm256_loadu_ps(scale + 8));
    } else {
        x = _mm256_mul_ps(x, _mm256_set1_ps(*scale));
        y = _mm256_mul_ps(y, _mm256_set1_ps(*scale));
    }
    if (f->bends_first) {
        x = ndrt_bent(x, f->first);
        y = ndrt_bent(y, f->first);
    }
    if (added) {
        x = _mm256_add_ps(x, ndrt_added_half(added, f->added_kind == NDRT_S8, f->added_scale));
        y = _mm256_add_ps(y, ndrt_added_half(added + 8, f->added_kind == NDRT_S8, f->added_scale));
    }
    if (f->bends_last) {
        x = ndrt_bent(x, f->last);
        y = ndrt_bent(y, f->last);
    }
    if (f->kind == NDRT_F32) {
        float *out = (float *)f->out + at, made[NDRT_FINISHED];
        if (count == NDRT_FINISHED) {
            _mm256_storeu_ps(out, x);
            _mm256_storeu_ps(out + 8, y);
        } else {
            _mm256_storeu_ps(made, x);
            _mm256_storeu_ps(made + 8, y);
            memcpy(out, made, (size_t)count * sizeof *made);
        }
        return;
    }
    if (f->zero != 0.0f) {
        const __m256 zero = _mm256_set1_ps(f->zero);
        x = _mm256_add_ps(_mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), zero);
        y = _mm256_add_ps(_mm256_round_ps(y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC), zero);
    }
    uint8_t *out = (uint8_t *)f->out + at, made[NDRT_FINISHED];
    const __m128i bytes = ndrt_narrowed(x, y, f->kind == NDRT_S8);
    if (count == NDRT_FINISHED) {
        _mm_storeu_si128((__m128i *)out, bytes);
    } else {
        _mm_storeu_si128((__m128i *)made, bytes);
        ndrt_put_bytes(out, made, count);
    }
}

/* Columns from `column` on, NDRT_FINISHED of them, of each of `rows`; a row of sums has `row`
 * numbers, and one of the output `out_row`. `at`: the first output. */
INLINED void ndrt_finish_whole(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
                               int64_t at, int64_t out_row, int64_t column) {
    const int32_t *bias = f->bias ? f->bias + column : NULL;
    const float *shift = f->shift ? f->shift + column : NULL;
    const float *scale = f->scale ? f->scale + (f->scale_step ? column : 0) : NULL;
    for (int r = 0; r < rows; r++, sums += row, at += out_row) {
        const uint8_t *added = f->added ? (const uint8_t *)f->added + at : NULL;
        ndrt_finish_all(f, sums, at, bias, shift, scale, added, NDRT_FINISHED);
    }
}

/* The same of fewer columns. */
static __attribute__((noinline)) void ndrt_finish_few(const ndrt_finish *f, const int32_t *sums,
                                                      int64_t row, int rows, int64_t at,
                                                      int64_t out_row, int64_t column, int count) {
    int32_t bias[NDRT_FINISHED] = {0};
    float shift[NDRT_FINISHED] = {0}, scale[NDRT_FINISHED] = {0};
    uint8_t added[NDRT_FINISHED] = {0};
    const size_t n = (size_t)count * sizeof(float);
    if (f->bias) memcpy(bias, f->bias + column, n);
    if (f->shift) memcpy(shift, f->shift + column, n);
    if (f->scale && f->scale_step) memcpy(scale, f->scale + column, n);
    for (int r = 0; r < rows; r++, sums += row, at += out_row) {
        if (f->added) ndrt_put_bytes(added, (const uint8_t *)f->added + at, count);
        ndrt_finish_all(f, sums, at, f->bias ? bias : NULL, f->shift ? shift : NULL,
                        f->scale_step ? scale : f->scale, f->added ? added : NULL, count);
    }
}

#endif
