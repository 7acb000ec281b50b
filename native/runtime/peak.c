/* What the CPU's multiply-add units can do at best: the measure for kernels of float32. */
#include <immintrin.h>
#include <omp.h>
#include <stdint.h>
#include <time.h>

#include "ndrt_internal.h"

/* A multiply-add takes 4 or 5 cycles and a core begins two in each: that many chains that do not
 * wait for one another keep both units busy, and all of them stay in registers. */
enum { CHAINS = 12, WIDEST = 16, ROUNDS = 20 };
static const int64_t warm_steps = 200000, steps = 60000;

typedef float (*chains_kernel)(int64_t count);

__attribute__((target("avx512f"), noinline)) static float chains_avx512(int64_t count) {
    __m512 sum[CHAINS];
    const __m512 factor = _mm512_set1_ps(0.75f), term = _mm512_set1_ps(0.5f);
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sum[c] = _mm512_set1_ps((float)c);
    while (count-- > 0) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sum[c] = _mm512_fmadd_ps(sum[c], factor, term);
    }
    __m512 all = sum[0];
#pragma GCC unroll 12
    for (int c = 1; c < CHAINS; c++) all = _mm512_add_ps(all, sum[c]);
    return _mm512_reduce_add_ps(all);
}

__attribute__((target("avx2,fma"), noinline)) static float chains_avx2(int64_t count) {
    __m256 sum[CHAINS];
    const __m256 factor = _mm256_set1_ps(0.75f), term = _mm256_set1_ps(0.5f);
#pragma GCC unroll 12
    for (int c = 0; c < CHAINS; c++) sum[c] = _mm256_set1_ps((float)c);
    while (count-- > 0) {
#pragma GCC unroll 12
        for (int c = 0; c < CHAINS; c++) sum[c] = _mm256_fmadd_ps(sum[c], factor, term);
    }
    __m256 all = sum[0];
#pragma GCC unroll 12
    for (int c = 1; c < CHAINS; c++) all = _mm256_add_ps(all, sum[c]);
    float lanes[WIDEST / 2];
    _mm256_storeu_ps(lanes, all);
    return lanes[0] + lanes[7];
}

static volatile float sink; /* so that nothing of it can be left out */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each thread at its best round, all of them at work at once: whoever else uses the machine can
 * only make rounds slower. */
static double best_gflops(chains_kernel chains, int lanes, int threads) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
        double shortest = 0;
        float kept = chains(warm_steps); /* up to the clock that these instructions run at */
#pragma omp barrier
        for (int round = 0; round < ROUNDS; round++) {
            double begun = seconds();
            kept += chains(steps);
            double took = seconds() - begun;
            if (round == 0 || took < shortest) shortest = took;
        }
#pragma omp critical
        sink = kept;
        rate += 1 / shortest;
    }
    return 2.0 * CHAINS * lanes * (double)steps * rate * 1e-9;
}

ndrt_status ndrt_peak_measure(int threads, double *gflops) {
    if (threads < 1) return ndrt_fail(NDRT_INVALID, "%d threads: expected at least 1", threads);
    int wide = ndrt_cpu_has(NDRT_HAS_AVX512);
    ndrt_native_state state;
    TRY(ndrt_enter(&state, threads));
    *gflops = best_gflops(wide ? chains_avx512 : chains_avx2, wide ? WIDEST : WIDEST / 2, threads);
    ndrt_leave(&state);
    return NDRT_OK;
}
