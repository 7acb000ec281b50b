/* What kernels make random numbers from: words by their place in a stream, and functions of
 * additions, multiplications, divisions and roots alone, in one order, so that NumPy gives the same
 * bits (ndarray_rt/op/normal.py). */
#ifndef NDRT_RANDOM_H
#define NDRT_RANDOM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Blocks of four words that are made at once, and their words. */
enum { NDRT_LANES = 16, NDRT_WORDS = 4 * NDRT_LANES };

/* Blocks first to first + NDRT_LANES - 1 of the stream `key`. */
void ndrt_philox_blocks(uint64_t key, uint64_t first, uint32_t *out);
/* One block; `attempt` and `stage` are the upper half of its counter. */
void ndrt_philox_block(uint64_t key, uint64_t index, uint32_t attempt, uint32_t stage,
                       uint32_t *out);

/* The logarithm of a positive normal number: by the series of atanh, for a mantissa between
 * sqrt(1/2) and sqrt(2). */
static inline double ndrt_plain_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    double exponent = (double)((int32_t)(bits >> 52) - 1022);
    bits = (bits & 0xFFFFFFFFFFFFFull) | 0x3FE0000000000000ull;
    double m;
    memcpy(&m, &bits, sizeof m);
    int small = m < 0.70710678118654757;
    m = small ? m * 2.0 : m;
    exponent = small ? exponent - 1.0 : exponent;
    double s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double sum = 1.0 / 21;
    sum = sum * s2 + 1.0 / 19;
    sum = sum * s2 + 1.0 / 17;
    sum = sum * s2 + 1.0 / 15;
    sum = sum * s2 + 1.0 / 13;
    sum = sum * s2 + 1.0 / 11;
    sum = sum * s2 + 1.0 / 9;
    sum = sum * s2 + 1.0 / 7;
    sum = sum * s2 + 1.0 / 5;
    sum = sum * s2 + 1.0 / 3;
    sum = sum * s2 + 1.0;
    return exponent * 0.69314718055994529 + 2.0 * s * sum;
}

/* exp(x) for x of at most 0; 0 where that is no normal number. */
static inline double ndrt_plain_exp(double x) {
    if (x < -708.0) return 0.0;
    double n = floor(x * 1.4426950408889634 + 0.5);
    double r = (x - n * 0.69314718036912382) - n * 1.9082149292705877e-10;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600.0;
    sum = sum * r + 1.0 / 39916800.0;
    sum = sum * r + 1.0 / 3628800.0;
    sum = sum * r + 1.0 / 362880.0;
    sum = sum * r + 1.0 / 40320.0;
    sum = sum * r + 1.0 / 5040.0;
    sum = sum * r + 1.0 / 720.0;
    sum = sum * r + 1.0 / 120.0;
    sum = sum * r + 1.0 / 24.0;
    sum = sum * r + 1.0 / 6.0;
    sum = sum * r + 0.5;
    sum = sum * r + 1.0;
    sum = sum * r + 1.0;
    uint64_t bits = (uint64_t)((int64_t)n + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return sum * power;
}

/* -2 log((word + 1) / 2^32) */
static inline double ndrt_minus_two_log(uint32_t word) {
    return -2.0 * ndrt_plain_log(((double)word + 1.0) * 0x1p-32);
}

/* Sine and cosine of 2 pi word / 2^32, by their series around the nearest quarter of the circle. */
static inline void ndrt_sine_cosine(uint32_t word, double *sine, double *cosine) {
    uint32_t quarter = (word + 0x20000000u) >> 30;
    double x = (double)(int32_t)(word - (quarter << 30)) * (6.2831853071795862 * 0x1p-32);
    double x2 = x * x;
    double s = 1.0 / 355687428096000.0;
    s = s * x2 - 1.0 / 1307674368000.0;
    s = s * x2 + 1.0 / 6227020800.0;
    s = s * x2 - 1.0 / 39916800.0;
    s = s * x2 + 1.0 / 362880.0;
    s = s * x2 - 1.0 / 5040.0;
    s = s * x2 + 1.0 / 120.0;
    s = s * x2 - 1.0 / 6.0;
    s = s * x2 + 1.0;
    s = s * x;
    double c = 1.0 / 20922789888000.0;
    c = c * x2 - 1.0 / 87178291200.0;
    c = c * x2 + 1.0 / 479001600.0;
    c = c * x2 - 1.0 / 3628800.0;
    c = c * x2 + 1.0 / 40320.0;
    c = c * x2 - 1.0 / 720.0;
    c = c * x2 + 1.0 / 24.0;
    c = c * x2 - 1.0 / 2.0;
    c = c * x2 + 1.0;
    double a = quarter & 1 ? c : s, b = quarter & 1 ? s : c;
    *sine = quarter & 2 ? -a : a;
    *cosine = (quarter + 1) & 2 ? -b : b;
}

/* Two words as a double in [0, 1), and in (0, 1). */
static inline double ndrt_unit(uint32_t high, uint32_t low) {
    return (double)high * 0x1p-32 + (double)(low >> 11) * 0x1p-53; /* exact */
}

static inline double ndrt_open_unit(uint32_t high, uint32_t low) {
    return ndrt_unit(high, low) + 0x1p-54;
}

/* One of the standard normal distribution (Box and Muller, 1958). */
static inline double ndrt_normal(uint32_t radius, uint32_t angle) {
    double sine, cosine;
    ndrt_sine_cosine(angle, &sine, &cosine);
    return sqrt(ndrt_minus_two_log(radius)) * cosine;
}

#endif
