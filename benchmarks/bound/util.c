#include "util.h"

#include <immintrin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bound: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void check_status(dnnl_status_t status, const char *call) {
    if (status != dnnl_success) die("oneDNN status %d from %.200s", (int)status, call);
}

void *checked_calloc(size_t count, size_t size) {
    void *block = calloc(count ? count : 1, size);
    if (!block) die("no memory for %zu x %zu bytes", count, size);
    return block;
}

void *big_alloc(size_t bytes) {
    const size_t page = (size_t)2 << 20;
    size_t rounded = (bytes + page - 1) / page * page;
    if (rounded == 0) rounded = page;
    void *block = aligned_alloc(page, rounded);
    if (!block) die("no memory for %zu bytes", rounded);
    /* Before the first touch, which is what the memset does. Refusal costs speed only. */
    (void)madvise(block, rounded, MADV_HUGEPAGE);
    memset(block, 0, rounded);
    return block;
}

void flush_subnormals(void) {
#pragma omp parallel
    {
        _mm_setcsr(_mm_getcsr() | 0x8040u); /* bit 15: FTZ, bit 6: DAZ */
    }
}

double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* A counter stepped by an odd constant, its bits mixed by two multiply-and-shift rounds. */
static uint64_t next_bits(rng *r) {
    r->state += 0x9e3779b97f4a7c15u;
    uint64_t z = r->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

float rng_uniform(rng *r, float low, float high) {
    float unit = (float)(next_bits(r) >> 40) * 0x1p-24f;
    return low + (high - low) * unit;
}

/* Four 16-bit uniforms of one word, summed: near enough to normal for weights, and tens of
 * millions of them take a fraction of a second. The variance of the sum is 4/12. */
float rng_normal(rng *r) {
    uint64_t bits = next_bits(r);
    float sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (float)(bits & 0xffff) * 0x1p-16f;
        bits >>= 16;
    }
    return (sum - 2.0f) * 1.7320508f;
}
