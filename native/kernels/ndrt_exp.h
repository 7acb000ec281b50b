/* The exponential function and what kernels make of it. */
#ifndef NDRT_EXP_H
#define NDRT_EXP_H

#include <math.h>

#include "kernels/ndrt_kernel.h"

/* exp(r) - 1, where x = n log(2) + r and n is the nearest whole number. */
static inline __attribute__((always_inline)) float ndrt_exp_reduced(float x, float *n) {
    *n = nearbyintf(x * 0x1.715476p+0f);
    float r = x - *n * 0x1.62e400p-1f;
    r = r - *n * 0x1.7f7d1cp-20f;
    float p = 0x1.6850e4p-10f;
    p = p * r + 0x1.123bccp-7f;
    p = p * r + 0x1.555b98p-5f;
    p = p * r + 0x1.55548ep-3f;
    p = p * r + 0x1.fffff8p-2f;
    return p * r * r + r;
}

/* exp(x) to about one unit in the last place; 0 and infinity where that is out of range (of what
 * is no denormal), NaN of NaN. 2**n times a polynomial on |r| <= log(2) / 2; n is split, as 2**n
 * alone may overflow. */
static inline __attribute__((always_inline)) float ndrt_exp_of(float x) {
    float inside = x < -104.0f ? -104.0f : x;
    inside = inside > 89.0f ? 89.0f : inside;
    float n, p = ndrt_exp_reduced(inside, &n);
    p = p + 1.0f;
    int32_t whole = (int32_t)(n == n ? n : 0.0f), half = whole >> 1, rest = whole - half;
    union {
        int32_t bits;
        float value;
    } a = {.bits = (half + 127) << 23}, b = {.bits = (rest + 127) << 23};
    return p * a.value * b.value;
}

/* exp(x) - 1 for x up to 1: 2**n (exp(r) - 1) + 2**n - 1, as ndrt_exp_of has it. */
static inline __attribute__((always_inline)) float ndrt_expm1_of(float x) {
    float inside = x < -88.0f ? -88.0f : x;
    float n, p = ndrt_exp_reduced(inside, &n);
    union {
        int32_t bits;
        float value;
    } scale = {.bits = ((int32_t)(n == n ? n : 0.0f) + 127) << 23};
    return p * scale.value + (scale.value - 1);
}

/* 1 / (1 + exp(-x)), by an exponential of at most 1. */
static inline __attribute__((always_inline)) float ndrt_sigmoid_of(float x) {
    float e = ndrt_exp_of(-fabsf(x));
    return (x < 0 ? e : 1.0f) / (1.0f + e);
}

/* (1 - exp(-2 |x|)) / (1 + exp(-2 |x|)), whose difference is computed without cancellation. */
static inline __attribute__((always_inline)) float ndrt_tanh_of(float x) {
    float lost = ndrt_expm1_of(-2.0f * fabsf(x));
    return copysignf(lost / (2.0f + lost), x);
}

#endif
