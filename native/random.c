/* Random numbers: Philox 4x32-10 (Salmon et al., 2011) and what is made from its words.
 *
 * A stream's position lies in memory, and a kernel moves it when it runs: a plan that runs again
 * draws the next numbers. Each draw takes whole blocks of four words. Numbers are made by
 * additions, multiplications, divisions and roots alone, in one order, so that NumPy gives the same
 * bits. */
#include <math.h>
#include <string.h>

#include "ndrt_internal.h"

void ndrt_random_set(ndrt_random *stream, uint64_t key, uint64_t counter) {
    __atomic_store_n(&stream->key, key, __ATOMIC_SEQ_CST);
    __atomic_store_n(&stream->counter, counter, __ATOMIC_SEQ_CST);
}

void ndrt_random_draw(ndrt_random *stream, int64_t words, ndrt_random *out) {
    uint64_t blocks = (uint64_t)(words + 3) / 4;
    out->counter = __atomic_fetch_add(&stream->counter, blocks, __ATOMIC_SEQ_CST);
    out->key = __atomic_load_n(&stream->key, __ATOMIC_SEQ_CST);
}

/* ---- words ---------------------------------------------------------------------------------- */

enum { LANES = 16, WORDS = 4 * LANES };

/* Blocks first to first + LANES - 1, four words each. */
NDRT_FOR_EACH_CPU static void philox_blocks(uint64_t key, uint64_t first, uint32_t *out) {
    uint32_t x0[LANES], x1[LANES], x2[LANES], x3[LANES];
    for (int i = 0; i < LANES; i++) {
        x0[i] = (uint32_t)(first + (uint64_t)i);
        x1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x2[i] = x3[i] = 0;
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < LANES; i++) {
            uint64_t a = (uint64_t)0xD2511F53u * x0[i], b = (uint64_t)0xCD9E8D57u * x2[i];
            x0[i] = (uint32_t)(b >> 32) ^ x1[i] ^ k0;
            x2[i] = (uint32_t)(a >> 32) ^ x3[i] ^ k1;
            x1[i] = (uint32_t)b;
            x3[i] = (uint32_t)a;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < LANES; i++) {
        out[4 * i] = x0[i];
        out[4 * i + 1] = x1[i];
        out[4 * i + 2] = x2[i];
        out[4 * i + 3] = x3[i];
    }
}

/* The words of elements i to i + WORDS - 1; i is a multiple of WORDS. dims[1] and dims[2] of a call
 * say where the draw begins. */
static inline void words_at(const ndrt_kernel_call *call, int64_t i, uint32_t *out) {
    philox_blocks((uint64_t)call->dims[1], (uint64_t)call->dims[2] + (uint64_t)i / 4, out);
}

void ndrt_philox(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    uint32_t *out = call->data[0], last[WORDS];
    for (int64_t i = from; i < to; i += WORDS) {
        int whole = to - i >= WORDS;
        words_at(call, i, whole ? out + i : last);
        if (!whole) memcpy(out + i, last, (size_t)(to - i) * sizeof *out);
    }
}

/* ---- dropout -------------------------------------------------------------------------------- */

/* A word keeps its element when its upper 24 bits are below the bound. */
NDRT_FOR_EACH_CPU static void fates(const uint32_t *words, uint32_t bound, float factor,
                                    float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS; i++) out[i] = (words[i] >> 8) < bound ? factor : 0.0f;
}

static void mask_at(const ndrt_kernel_call *call, int64_t i, float *out) {
    uint32_t words[WORDS];
    words_at(call, i, words);
    fates(words, (uint32_t)call->scalars[0], (float)call->scalars[1], out);
}

void ndrt_dropout_mask(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    float *mask = call->data[0], last[WORDS];
    for (int64_t i = from; i < to; i += WORDS) {
        int whole = to - i >= WORDS;
        mask_at(call, i, whole ? mask + i : last);
        if (!whole) memcpy(mask + i, last, (size_t)(to - i) * sizeof *mask);
    }
}

NDRT_FOR_EACH_CPU static void multiply(const float *a, const float *b, int64_t n, float *out) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = a[i] * b[i];
}

void ndrt_dropout(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], *mask = call->data[1], part[WORDS];
    const float *in = call->data[2];
    for (int64_t i = from; i < to; i += WORDS) {
        int64_t n = to - i < WORDS ? to - i : WORDS;
        mask_at(call, i, part);
        memcpy(mask + i, part, (size_t)n * sizeof *mask);
        multiply(in + i, part, n, out + i);
    }
}

/* ---- distributions ------------------------------------------------------------------------------
 */

NDRT_FOR_EACH_CPU static void uniform_of(const uint32_t *words, double low, double width,
                                         float limit, float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS; i++) {
        float made = (float)(low + width * ((double)(words[i] >> 8) * 0x1p-24));
        out[i] = made > limit ? limit : made;
    }
}

void ndrt_random_uniform(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], last[WORDS];
    uint32_t words[WORDS];
    const double *s = call->scalars;
    for (int64_t i = from; i < to; i += WORDS) {
        int whole = to - i >= WORDS;
        words_at(call, i, words);
        uniform_of(words, s[0], s[1], (float)s[2], whole ? out + i : last);
        if (!whole) memcpy(out + i, last, (size_t)(to - i) * sizeof *out);
    }
}

/* -2 log((word + 1) / 2^32): by the series of atanh, for a mantissa between sqrt(1/2) and
 * sqrt(2). */
static inline double minus_two_log(uint32_t word) {
    double u = ((double)word + 1.0) * 0x1p-32;
    uint64_t bits;
    memcpy(&bits, &u, sizeof bits);
    double exponent = (double)(int32_t)((bits >> 52) - 1022);
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
    return -2.0 * (exponent * 0.69314718055994529 + 2.0 * s * sum);
}

/* Sine and cosine of 2 pi word / 2^32, by their series around the nearest quarter of the circle. */
static inline void sine_cosine(uint32_t word, double *sine, double *cosine) {
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

/* Two numbers from each two words (Box and Muller, 1958). */
NDRT_FOR_EACH_CPU static void normal_of(const uint32_t *words, double loc, double scale,
                                        float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS / 2; i++) {
        double radius = sqrt(minus_two_log(words[2 * i])), sine, cosine;
        sine_cosine(words[2 * i + 1], &sine, &cosine);
        out[2 * i] = (float)(loc + scale * (radius * cosine));
        out[2 * i + 1] = (float)(loc + scale * (radius * sine));
    }
}

void ndrt_random_normal(const ndrt_kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], last[WORDS];
    uint32_t words[WORDS];
    for (int64_t i = from; i < to; i += WORDS) {
        int whole = to - i >= WORDS;
        words_at(call, i, words);
        normal_of(words, call->scalars[0], call->scalars[1], whole ? out + i : last);
        if (!whole) memcpy(out + i, last, (size_t)(to - i) * sizeof *out);
    }
}
