/* Layer normalization: rows of contiguous elements are brought to mean 0 and deviation 1, then
 * multiplied by the factor, and moved by the shift, of each column.
 *
 * Sums are cut into blocks by the shape alone and each row is summed by one thread, so the bits do
 * not depend on the number of threads. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { BLOCK = 4096, LANES = 32, FIRST = 8 };

/* Sums of x - shift and of its squares. */
static void shifted_sums(const float *x, float shift, int64_t n, float *sums) {
    float one[LANES] = {0}, two[LANES] = {0}, sum = 0, square = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
#pragma omp simd
        for (int64_t j = 0; j < LANES; j++) {
            float d = x[i + j] - shift;
            one[j] += d;
            two[j] += d * d;
        }
    for (int64_t j = 0; i < n; i++, j++) {
        float d = x[i] - shift;
        one[j] += d;
        two[j] += d * d;
    }
#pragma omp simd reduction(+ : sum, square)
    for (int64_t j = 0; j < LANES; j++) {
        sum += one[j];
        square += two[j];
    }
    sums[0] = sum;
    sums[1] = square;
}

static void straight(float *out, const float *x, float mean, float inverse, const float *gamma,
                     const float *beta, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
}

/* The variance of a row, from sums of its elements minus `shift`; *above: the mean of these. */
static double variance_from(const float *x, float shift, int64_t width, double *above) {
    double one = 0, two = 0;
    for (int64_t at = 0; at < width; at += BLOCK) {
        float sums[2];
        shifted_sums(x + at, shift, width - at < BLOCK ? width - at : BLOCK, sums);
        one += (double)sums[0];
        two += (double)sums[1];
    }
    *above = one / (double)width;
    return two / (double)width - *above * *above;
}

/* An estimate of a row's mean: the mean of its first elements. */
static float near_mean(const float *x, int64_t width) {
    int64_t n = width < FIRST ? width : FIRST;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i];
    return (float)(sum / (double)n);
}

static void normalize(const ndrt_norm_last_args *job, int64_t row) {
    const int64_t width = job->width;
    const float *x = job->data + row * width;
    float shift = near_mean(x, width);
    double above;
    double var = variance_from(x, shift, width, &above);
    float mean = (float)((double)shift + above);
    /* if the first elements are far from the others, both have lost digits; NaN is not less */
    if (!(above * above < var)) {
        var = variance_from(x, mean, width, &above);
        mean = (float)((double)mean + above);
    }
    float std = (float)sqrt((var < 0 ? 0 : var) + (double)job->epsilon);
    job->mean[row] = mean;
    job->std[row] = std;
    straight(job->out + row * width, x, mean, 1 / std, job->gamma, job->beta, width);
}

static ndrt_status check(kernel_call *call) {
    const ndrt_norm_last_args job = ndrt_read_norm_last(call);
    if (job.rows < 0 || job.width < 0)
        return ndrt_fail(NDRT_INVALID, "normalized last axis: a count below 0");
    int64_t n = ndrt_product(job.rows, job.width, 1);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "normalized last axis: more elements than can be");
    return n ? ndrt_need_arrays(call, 6) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const ndrt_norm_last_args job = ndrt_read_norm_last(call);
    return ndrt_team_for(call, job.rows * job.width);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_norm_last_args job = ndrt_read_norm_last(call);
    const int64_t rows = job.width ? job.rows : 0;
    if (nthreads == 1) { /* entering a parallel region costs as much as hundreds of elements */
        for (int64_t row = 0; row < rows; row++) normalize(&job, row);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t row = 0; row < rows; row++) normalize(&job, row);
    return NDRT_OK;
}

const ndrt_family ndrt_family_last_axis = {"last axis", check, threads, execute};
