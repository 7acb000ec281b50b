/* Random numbers: Philox 4x32-10 (Salmon et al., 2011) and what single precision makes from its
 * words.
 *
 * Numbers are made by additions, multiplications, divisions and roots alone, in one order, so that
 * NumPy gives the same bits. */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_draws.h"

/* ---- words ---------------------------------------------------------------------------------- */

typedef const ndrt_kernel_call kernel_call;

enum { LANES = NDRT_LANES, WORDS = NDRT_WORDS };
static const uint32_t M0 = 0xD2511F53u, M1 = 0xCD9E8D57u, W0 = 0x9E3779B9u, W1 = 0xBB67AE85u;

void ndrt_philox_block(uint64_t key, uint64_t index, uint32_t attempt, uint32_t stage,
                       uint32_t *out) {
    uint32_t x0 = (uint32_t)index, x1 = (uint32_t)(index >> 32), x2 = attempt, x3 = stage;
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
        uint64_t a = (uint64_t)M0 * x0, b = (uint64_t)M1 * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)b;
        x3 = (uint32_t)a;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

/* One word of a block in the lower half of each 64 bits; the upper halves are never read. The even
 * places hold the first blocks, the odd ones those behind them, so that putting the words of a
 * block side by side leaves the blocks in order. */
#ifdef __AVX512F__
void ndrt_philox_blocks(uint64_t key, uint64_t first, uint32_t *out) {
    enum { SETS = LANES / 8 };
    const __m512i m0 = _mm512_set1_epi64(M0), m1 = _mm512_set1_epi64(M1);
    __m512i x0[SETS], x1[SETS], x2[SETS], x3[SETS];
    for (int s = 0; s < SETS; s++) {
        x0[s] = _mm512_add_epi64(_mm512_set1_epi64((int64_t)(first + (uint64_t)(8 * s))),
                                 _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7));
        x1[s] = _mm512_srli_epi64(x0[s], 32);
        x2[s] = x3[s] = _mm512_setzero_si512();
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
        __m512i key0 = _mm512_set1_epi64(k0), key1 = _mm512_set1_epi64(k1);
        for (int s = 0; s < SETS; s++) {
            __m512i a = _mm512_mul_epu32(m0, x0[s]), b = _mm512_mul_epu32(m1, x2[s]);
            x0[s] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(b, 32), x1[s]), key0);
            x2[s] = _mm512_xor_si512(_mm512_xor_si512(_mm512_srli_epi64(a, 32), x3[s]), key1);
            x1[s] = b;
            x3[s] = a;
        }
    }
    const __m512i lower = _mm512_set1_epi64(0xFFFFFFFF);
    for (int s = 0; s < SETS; s++) {
        __m512i a = _mm512_or_si512(_mm512_and_si512(x0[s], lower), _mm512_slli_epi64(x1[s], 32));
        __m512i b = _mm512_or_si512(_mm512_and_si512(x2[s], lower), _mm512_slli_epi64(x3[s], 32));
        _mm512_storeu_si512(out + 32 * s, _mm512_unpacklo_epi64(a, b));
        _mm512_storeu_si512(out + 32 * s + 16, _mm512_unpackhi_epi64(a, b));
    }
}
#else
void ndrt_philox_blocks(uint64_t key, uint64_t first, uint32_t *out) {
    enum { SETS = LANES / 4 };
    const __m256i m0 = _mm256_set1_epi64x(M0), m1 = _mm256_set1_epi64x(M1);
    __m256i x0[SETS], x1[SETS], x2[SETS], x3[SETS];
    for (int s = 0; s < SETS; s++) {
        x0[s] = _mm256_add_epi64(_mm256_set1_epi64x((int64_t)(first + (uint64_t)(4 * s))),
                                 _mm256_setr_epi64x(0, 2, 1, 3));
        x1[s] = _mm256_srli_epi64(x0[s], 32);
        x2[s] = x3[s] = _mm256_setzero_si256();
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++, k0 += W0, k1 += W1) {
        __m256i key0 = _mm256_set1_epi64x(k0), key1 = _mm256_set1_epi64x(k1);
        for (int s = 0; s < SETS; s++) {
            __m256i a = _mm256_mul_epu32(m0, x0[s]), b = _mm256_mul_epu32(m1, x2[s]);
            x0[s] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(b, 32), x1[s]), key0);
            x2[s] = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(a, 32), x3[s]), key1);
            x1[s] = b;
            x3[s] = a;
        }
    }
    const __m256i lower = _mm256_set1_epi64x(0xFFFFFFFF);
    for (int s = 0; s < SETS; s++) {
        __m256i a = _mm256_or_si256(_mm256_and_si256(x0[s], lower), _mm256_slli_epi64(x1[s], 32));
        __m256i b = _mm256_or_si256(_mm256_and_si256(x2[s], lower), _mm256_slli_epi64(x3[s], 32));
        _mm256_storeu_si256((__m256i *)(out + 16 * s), _mm256_unpacklo_epi64(a, b));
        _mm256_storeu_si256((__m256i *)(out + 16 * s + 8), _mm256_unpackhi_epi64(a, b));
    }
}
#endif

/* Where words for n elements begin in a stream, which moves on; and how many parts of WORDS of them
 * there are. */
typedef struct {
    ndrt_random begin;
    int64_t n, parts;
} drawn;

static drawn draw_words(ndrt_random *stream, int64_t n) {
    drawn made = {.n = n, .parts = (n + WORDS - 1) / WORDS};
    ndrt_random_draw(stream, n, &made.begin);
    return made;
}

/* The words of a part; gives how many of them count. */
static inline int64_t words_of(const drawn *from, int64_t part, uint32_t *out) {
    ndrt_philox_blocks(from->begin.key, from->begin.counter + (uint64_t)(part * (WORDS / 4)), out);
    int64_t left = from->n - part * WORDS;
    return left < WORDS ? left : WORDS;
}

void ndrt_philox(kernel_call *call, int nthreads) {
    const ndrt_philox_args job = ndrt_read_philox(call);
    const drawn from = {
        {(uint64_t)job.key, (uint64_t)job.counter}, job.n, (job.n + WORDS - 1) / WORDS};
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < from.parts; part++) {
        uint32_t words[WORDS];
        size_t count = (size_t)words_of(&from, part, words);
        memcpy(job.out + part * WORDS, words, count * sizeof *words);
    }
}

/* ---- dropout -------------------------------------------------------------------------------- */

/* A word keeps its element when its upper 24 bits are below the bound. */
static void fates(const uint32_t *words, uint32_t bound, float factor, float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS; i++) out[i] = (words[i] >> 8) < bound ? factor : 0.0f;
}

void ndrt_dropout_mask(kernel_call *call, int nthreads) {
    const ndrt_dropout_mask_args job = ndrt_read_dropout_mask(call);
    const drawn from = draw_words(job.stream, job.n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < from.parts; part++) {
        uint32_t words[WORDS];
        float mask[WORDS];
        size_t count = (size_t)words_of(&from, part, words);
        fates(words, (uint32_t)job.bound, job.factor, mask);
        memcpy(job.out + part * WORDS, mask, count * sizeof *mask);
    }
}

static void multiply(const float *a, const float *b, int64_t n, float *out) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = a[i] * b[i];
}

void ndrt_dropout(kernel_call *call, int nthreads) {
    const ndrt_dropout_args job = ndrt_read_dropout(call);
    const drawn from = draw_words(job.stream, job.n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < from.parts; part++) {
        uint32_t words[WORDS];
        float mask[WORDS];
        int64_t count = words_of(&from, part, words);
        fates(words, (uint32_t)job.bound, job.factor, mask);
        memcpy(job.mask + part * WORDS, mask, (size_t)count * sizeof *mask);
        multiply(job.data + part * WORDS, mask, count, job.out + part * WORDS);
    }
}

/* ---- distributions ------------------------------------------------------------------------------
 */

static void uniform_of(const uint32_t *words, double low, double width, float limit, float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS; i++) {
        float made = (float)(low + width * ((double)(words[i] >> 8) * 0x1p-24));
        out[i] = made > limit ? limit : made;
    }
}

void ndrt_random_uniform(kernel_call *call, int nthreads) {
    const ndrt_uniform_args job = ndrt_read_uniform(call);
    const drawn from = draw_words(job.stream, job.n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < from.parts; part++) {
        uint32_t words[WORDS];
        float made[WORDS];
        size_t count = (size_t)words_of(&from, part, words);
        uniform_of(words, job.low, job.width, job.limit, made);
        memcpy(job.out + part * WORDS, made, count * sizeof *made);
    }
}

/* Two numbers from each two words (Box and Muller, 1958). */
static void normal_of(const uint32_t *words, double loc, double scale, float *out) {
#pragma omp simd
    for (int i = 0; i < WORDS / 2; i++) {
        double radius = sqrt(ndrt_minus_two_log(words[2 * i])), sine, cosine;
        ndrt_sine_cosine(words[2 * i + 1], &sine, &cosine);
        out[2 * i] = (float)(loc + scale * (radius * cosine));
        out[2 * i + 1] = (float)(loc + scale * (radius * sine));
    }
}

void ndrt_random_normal(kernel_call *call, int nthreads) {
    const ndrt_normal_args job = ndrt_read_normal(call);
    const drawn from = draw_words(job.stream, job.n);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < from.parts; part++) {
        uint32_t words[WORDS];
        float made[WORDS];
        size_t count = (size_t)words_of(&from, part, words);
        normal_of(words, job.loc, job.scale, made);
        memcpy(job.out + part * WORDS, made, count * sizeof *made);
    }
}
