/* What every file here needs: ending with a message, big buffers, a clock, random numbers. */
#ifndef BOUND_UTIL_H
#define BOUND_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "oneapi/dnnl/dnnl.h"

/* A benchmark has nobody to report to but its user: any failure ends it with a sentence. */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);

/* Ends the program when an oneDNN call fails; `call` is quoted in the message. */
#define CHECK(call) check_status((call), #call)
void check_status(dnnl_status_t status, const char *call);

void *checked_calloc(size_t count, size_t size);

/* Zeroed bytes on 2 MiB boundaries, in huge pages where the system grants them. */
void *big_alloc(size_t bytes);

/* Sets flush-to-zero and denormals-are-zero in each thread of the OpenMP team: one subnormal
 * operand makes an FMA a hundred times slower, and oneDNN leaves the mode to its caller. */
void flush_subnormals(void);

double now_ms(void);

/* The same sequence on every machine and for every compiler. */
typedef struct {
    uint64_t state;
} rng;
float rng_uniform(rng *r, float low, float high);
float rng_normal(rng *r);

#endif
