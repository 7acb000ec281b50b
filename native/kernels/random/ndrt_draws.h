/* What native/kernels/random/draws.c takes from distributions.c and drives of random.c. */
#ifndef NDRT_DRAWS_H
#define NDRT_DRAWS_H

#include "kernels/ndrt_kernel.h"
#include "ndrt_random.h"

/* Words that each element of a draw has; `wide` is for numbers of double precision. */
int ndrt_words_of(int distribution, int wide);

/* Parameters of a distribution: their names, `b` NULL where there is one; whether numbers mean
 * something; and which do, in words. */
typedef struct {
    const char *a, *b, *expected;
    int (*mean_something)(double a, double b);
} ndrt_parameters;
const ndrt_parameters *ndrt_parameters_of(int distribution);

/* Elements `from`, a multiple of NDRT_WORDS, and the `count` - 1 behind it, at most NDRT_WORDS in
 * all; the arrays have room for NDRT_WORDS. The draw begins at block `first` of the stream `key`.
 */
void ndrt_draw(int distribution, int wide, uint64_t key, uint64_t first, int64_t from, int count,
               const double *a, const double *b, double *out);

void ndrt_philox(const ndrt_kernel_call *call, int nthreads);
void ndrt_dropout_mask(const ndrt_kernel_call *call, int nthreads);
void ndrt_dropout(const ndrt_kernel_call *call, int nthreads);
void ndrt_random_uniform(const ndrt_kernel_call *call, int nthreads);
void ndrt_random_normal(const ndrt_kernel_call *call, int nthreads);

#endif
