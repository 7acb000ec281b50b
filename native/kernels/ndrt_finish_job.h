/* What is told of what becomes of int32 sums of products (ndrt_finish.h). */
#ifndef NDRT_FINISH_JOB_H
#define NDRT_FINISH_JOB_H

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

#endif
