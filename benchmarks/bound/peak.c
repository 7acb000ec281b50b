#include "peak.h"

#include <immintrin.h>
#include <omp.h>
#include <stdint.h>

#include "util.h"

/* Only these two functions are compiled for their instruction set, and they run only where the CPU
 * has it, so that the program itself starts anywhere. Each chain of dependent FMAs waits for its
 * own last result; latency 4 on 2 ports wants at least 8 chains, and the registers hold more. */
enum { CHAINS_512 = 24, CHAINS_256 = 12, TRIES = 8 };
static const int64_t steps = 4000000;

__attribute__((target("avx512f"), noinline)) static float fma_512(int64_t count) {
    __m512 sum[CHAINS_512];
    const __m512 a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(0.25f);
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS_512; i++) sum[i] = _mm512_set1_ps((float)i);
    for (int64_t k = 0; k < count; k++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS_512; i++) sum[i] = _mm512_fmadd_ps(sum[i], a, b);
    }
#pragma GCC unroll 24
    for (int i = 1; i < CHAINS_512; i++) sum[0] = _mm512_add_ps(sum[0], sum[i]);
    return _mm512_reduce_add_ps(sum[0]);
}

__attribute__((target("avx2,fma"), noinline)) static float fma_256(int64_t count) {
    __m256 sum[CHAINS_256];
    const __m256 a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(0.25f);
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS_256; i++) sum[i] = _mm256_set1_ps((float)i);
    for (int64_t k = 0; k < count; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS_256; i++) sum[i] = _mm256_fmadd_ps(sum[i], a, b);
    }
#pragma GCC unroll 12
    for (int i = 1; i < CHAINS_256; i++) sum[0] = _mm256_add_ps(sum[0], sum[i]);
    float lanes[8];
    _mm256_storeu_ps(lanes, sum[0]);
    return lanes[0] + lanes[7];
}

static volatile float sink; /* the results count as used */

static double best_gflops(float (*chains)(int64_t), double flops_per_step, int threads) {
    double best = 0;
    for (int t = 0; t < TRIES; t++) {
        double start = 0, end = 0;
#pragma omp parallel num_threads(threads)
        {
            sink = chains(steps / 20); /* up to the clock that these instructions run at */
#pragma omp barrier
#pragma omp master
            start = now_ms();
#pragma omp barrier
            sink = chains(steps);
#pragma omp barrier
#pragma omp master
            end = now_ms();
        }
        double gflops = flops_per_step * (double)steps * threads / (end - start) * 1e-6;
        if (gflops > best) best = gflops;
    }
    return best;
}

void peak_measure(int threads, peak_result result[2]) {
    result[0] = (peak_result){"avx512f", 0};
    result[1] = (peak_result){"avx2+fma", 0};
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f"))
        result[0].gflops = best_gflops(fma_512, CHAINS_512 * 16 * 2, threads);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        result[1].gflops = best_gflops(fma_256, CHAINS_256 * 8 * 2, threads);
}
