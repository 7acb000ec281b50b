/* What the cores can do at all: fused multiply-adds on registers. */
#ifndef BOUND_PEAK_H
#define BOUND_PEAK_H

typedef struct {
    const char *isa;
    double gflops; /* all threads together, best of several tries; 0 if the CPU has no such ISA */
} peak_result;

/* Entry 0 is AVX-512, entry 1 AVX2 with FMA. */
void peak_measure(int threads, peak_result result[2]);

#endif
