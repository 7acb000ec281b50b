/* What the CPU's multiply-add units can do at best: the measure for kernels of float32. */
#include <omp.h>
#include <stdint.h>
#include <time.h>

#include "kernels/ndrt_kernel.h"

enum { ROUNDS = 20 };
static const int64_t warm_steps = 200000, steps = 60000;

static volatile float sink; /* so that nothing of it can be left out */

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Each thread at its best round, all of them at work at once: whoever else uses the machine can
 * only make rounds slower. */
static double best_gflops(const ndrt_level *level, int threads) {
    double rate = 0;
#pragma omp parallel num_threads(threads) reduction(+ : rate)
    {
        double shortest = 0;
        float kept =
            level->multiply_adds(warm_steps); /* up to the clock that these instructions run at */
#pragma omp barrier
        for (int round = 0; round < ROUNDS; round++) {
            double begun = seconds();
            kept += level->multiply_adds(steps);
            double took = seconds() - begun;
            if (round == 0 || took < shortest) shortest = took;
        }
#pragma omp critical
        sink = kept;
        rate += 1 / shortest;
    }
    return 2.0 * level->chains * level->lanes * (double)steps * rate * 1e-9;
}

ndrt_status ndrt_peak_measure(int threads, double *gflops) {
    if (threads < 1) return ndrt_fail(NDRT_INVALID, "%d threads: expected at least 1", threads);
    ndrt_native_state state;
    TRY(ndrt_enter(&state, threads));
    *gflops = best_gflops(ndrt_level_of_cpu(), threads);
    ndrt_leave(&state);
    return NDRT_OK;
}
