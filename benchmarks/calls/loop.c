/* A recorded plan, run by nothing but C: what forward() is measured against. */
#include <stdint.h>
#include <time.h>

typedef int (*run_plan)(void *plan, double budget_ms, int64_t *cursor);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that n runs take; below 0 where one fails. */
double run_often(run_plan run, void *plan, int64_t n) {
    double begin = now();
    for (int64_t i = 0; i < n; i++) {
        int64_t cursor = 0;
        if (run(plan, -1, &cursor)) return -1;
    }
    return now() - begin;
}
