/* What becomes of int32 sums of products while they are in the first cache: a bias is added, they
 * are multiplied, bent or bounded, an array is added, they are bent or bounded again, and rounded
 * to 8 bits. */
#ifndef NDRT_FINISH_H
#define NDRT_FINISH_H

#include <immintrin.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ndrt_kernel.h"

enum { NDRT_FINISHED = 16 }; /* sums that are finished at once */

/* Numbers below 0 are multiplied by the slope, and what comes of it is kept within bounds. */
typedef struct {
    float slope, low, high;
} ndrt_bend;

typedef struct {
    void *out;
    const int32_t *bias; /* added up to the ends of int32 */
    const float *shift;  /* the same in float */
    const float *scale;
    int scale_step; /* 1: each column has a scale, 0: all have the same one */
    int kind;       /* of the output: S32, which is the sums with the bias, or F32, S8, U8 */
    const void *added;
    int added_kind; /* S8 or U8 */
    float added_scale;
    int bends_first, bends_last;
    ndrt_bend first, last; /* before and after the summand */
    float zero;            /* a whole number that is added to what is rounded to 8 bits */
} ndrt_finish;

static inline int ndrt_bends(ndrt_bend b) {
    return b.slope != 1.0f || b.low > -INFINITY || b.high < INFINITY;
}

/* Looks which functions there are to compute. The last one is left out where uint8 has the same
 * ends. */
static inline ndrt_finish ndrt_with_bends(ndrt_finish f) {
    const ndrt_bend b = f.last;
    const int is_of_u8 =
        f.kind == NDRT_U8 && f.zero == 0.0f && b.low <= 0.0f && b.high >= 255.0f && b.slope >= 0.0f;
    f.bends_first = ndrt_bends(f.first);
    f.bends_last = ndrt_bends(b) && !is_of_u8;
    return f;
}

/* What the arguments of a kernel say of it, whose names are the same in all of them, to initialize
 * one. The summand's scale is not read before the kernel runs. */
#define NDRT_FINISH_ARGS(job)                                                                      \
    {                                                                                              \
        .out = (job)->out,                                                                         \
        .bias = (job)->bias,                                                                       \
        .shift = (job)->shift,                                                                     \
        .scale = (job)->scales ? (job)->scales : (job)->scale,                                     \
        .scale_step = (job)->scales != NULL,                                                       \
        .kind = (job)->kind,                                                                       \
        .added = (job)->added,                                                                     \
        .added_kind = (job)->added_kind,                                                           \
        .first = {(job)->first_slope, (job)->first_low, (job)->first_high},                        \
        .last = {(job)->last_slope, (job)->last_low, (job)->last_high},                            \
    }

/* INVALID for what there is no form for. */
static inline ndrt_status ndrt_check_finish(const char *name, const ndrt_finish *f) {
    const int is_narrow = f->kind == NDRT_S8 || f->kind == NDRT_U8 || f->kind == NDRT_F32;
    if (f->kind != NDRT_S32 && (!is_narrow || !f->scale))
        return ndrt_fail(NDRT_INVALID, "%s: a kind that there is no form for", name);
    if (f->kind == NDRT_S32 && (f->added || f->bends_first || f->bends_last || f->shift))
        return ndrt_fail(NDRT_INVALID, "%s: only a bias is added to sums of int32", name);
    if (f->added && f->added_kind != NDRT_S8 && f->added_kind != NDRT_U8)
        return ndrt_fail(NDRT_INVALID, "%s: a summand of a kind that there is no form for", name);
    return NDRT_OK;
}

/* A whole number that 8 bits hold. */
static inline int ndrt_is_byte(float x, int is_signed) {
    const float least = is_signed ? INT8_MIN : 0;
    return x >= least && x <= least + UINT8_MAX && x == rintf(x);
}

/* INVALID for zero points of data and of the output that are none of their numbers. */
static inline ndrt_status ndrt_check_zeros(const char *name, float zero, int is_signed,
                                           const ndrt_finish *f) {
    if (!ndrt_is_byte(zero, is_signed) || !ndrt_is_byte(f->zero, f->kind != NDRT_U8))
        return ndrt_fail(NDRT_INVALID, "%s: the zero points %g and %g", name, (double)zero,
                         (double)f->zero);
    return NDRT_OK;
}

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
INLINED void ndrt_finish_rows(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
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

/* What layers of networks mostly are: of a shift and a scale for each column, and no functions but
 * what the ends of the output's type do. With the constants the compiler leaves out the rest. */
INLINED void ndrt_finish_usual(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
                               int64_t at, int64_t out_row, int64_t column, const int kind,
                               const int has_added) {
    ndrt_finish g = *f;
    g.bias = NULL;
    g.scale_step = 1;
    g.kind = kind;
    g.bends_first = g.bends_last = 0;
    if (!has_added) g.added = NULL;
    ndrt_finish_rows(&g, sums, row, rows, at, out_row, column);
}

/* `columns` of each of `rows`, from `column` on; a row of sums has `row` numbers, at least as many
 * as the columns filled up to whole 16s, and a row of the output `out_row`. `at`: the first
 * output. */
static inline void ndrt_finish_tile(const ndrt_finish *f, const int32_t *sums, int64_t row,
                                    int rows, int64_t at, int64_t out_row, int64_t column,
                                    int columns) {
    const int is_usual = !f->bias && f->shift && f->scale_step && !f->bends_first &&
                         !f->bends_last && f->zero == 0.0f;
    const int kind = is_usual ? f->kind : -1;
    for (int c = 0; c < columns; c += NDRT_FINISHED, sums += NDRT_FINISHED, at += NDRT_FINISHED) {
        const int count = columns - c;
        if (count < NDRT_FINISHED)
            ndrt_finish_few(f, sums, row, rows, at, out_row, column + c, count);
        else if (kind == NDRT_U8 && !f->added)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_U8, 0);
        else if (kind == NDRT_U8)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_U8, 1);
        else if (kind == NDRT_S8 && !f->added)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_S8, 0);
        else if (kind == NDRT_S8)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_S8, 1);
        else
            ndrt_finish_rows(f, sums, row, rows, at, out_row, column + c);
    }
}

#endif
