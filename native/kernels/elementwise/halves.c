/* Numbers of 16 bits (float16, bfloat16) as floats, and floats rounded to them: to the nearest, of
 * two as near to the even one. NaN stays NaN. */
#include <immintrin.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 4096, WIDTH = 8 };

static void widen_f16(float *out, const uint16_t *in, int64_t n) {
    int64_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256((const void *)(in + i))));
#endif
    for (; i + WIDTH <= n; i += WIDTH)
        _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(in + i))));
    for (; i < n; i++) out[i] = _cvtsh_ss(in[i]);
}

static void narrow_f16(uint16_t *out, const float *in, int64_t n) {
    int64_t i = 0;
#ifdef __AVX512F__
    for (; i + 16 <= n; i += 16)
        _mm256_storeu_si256((void *)(out + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i + WIDTH <= n; i += WIDTH)
        _mm_storeu_si128((void *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; i++) out[i] = (uint16_t)_cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

/* A bfloat16 is the upper half of a float. */
static void widen_bf16(uint32_t *out, const uint16_t *in, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (uint32_t)in[i] << 16;
}

static inline uint32_t upper_half(uint32_t bits) {
    const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? bits >> 16 | 0x40 : nearest;
}

static void narrow_bf16(uint16_t *out, const uint32_t *in, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (uint16_t)upper_half(in[i]);
}

typedef struct {
    char *out;
    const char *in;
    int64_t n;
    int kind, widens;
} conversion;

static conversion read(kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_WIDEN) {
        const ndrt_widen_args job = ndrt_read_widen(call);
        return (conversion){(char *)job.out, job.data, job.n, job.kind, 1};
    }
    const ndrt_narrow_args job = ndrt_read_narrow(call);
    return (conversion){job.out, (const char *)job.data, job.n, job.kind, 0};
}

static ndrt_status check(kernel_call *call) {
    const conversion job = read(call);
    if (job.n < 0) return ndrt_fail(NDRT_INVALID, "halves: a count below 0");
    if (job.kind != NDRT_F16 && job.kind != NDRT_BF16)
        return ndrt_fail(NDRT_INVALID, "halves: numbers of kind %d", job.kind);
    return job.n ? ndrt_need_arrays(call, 2) : NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, read(call).n / 4); }

static void run(const conversion *job, int64_t at, int64_t n) {
    const int64_t wide = 4 * at, half = 2 * at;
    void *out = job->out + (job->widens ? wide : half);
    const void *in = job->in + (job->widens ? half : wide);
    if (job->widens)
        (job->kind == NDRT_F16) ? widen_f16(out, in, n) : widen_bf16(out, in, n);
    else
        (job->kind == NDRT_F16) ? narrow_f16(out, in, n) : narrow_bf16(out, in, n);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const conversion job = read(call);
    if (nthreads == 1) {
        run(&job, 0, job.n);
        return NDRT_OK;
    }
    const int64_t strips = (job.n + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < strips; k++)
        run(&job, k * STRIP, job.n - k * STRIP < STRIP ? job.n - k * STRIP : STRIP);
    return NDRT_OK;
}

const ndrt_family ndrt_family_halves = {"halves", check, threads, execute};
