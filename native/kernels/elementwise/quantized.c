/* Numbers as they come back from whole numbers of a few bits: divided by a scale, rounded, kept
 * within limits, multiplied again. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 1024 };

/* Of a NaN, as a cast to whole numbers has it, what 0 stands for. */
static inline float through(float x, float scale, float zero, float low, float high) {
    const float q = rintf(x / scale);
    const float kept = q < low - zero ? low - zero : q > high - zero ? high - zero : q;
    return (q == q ? kept : -zero) * scale;
}

static void same_scale(float *out, const float *in, int64_t n, float scale, float zero, float low,
                       float high) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = through(in[i], scale, zero, low, high);
}

static void scale_of_each(float *out, const float *in, int64_t n, const float *scale,
                          const float *zero, float low, float high) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = through(in[i], scale[i], zero[i], low, high);
}

static ndrt_status check(kernel_call *call) {
    const ndrt_quantized_args job = ndrt_read_quantized(call);
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "quantized: %d threads", call->nthreads);
    if (job.outer < 0 || job.channels < 0 || job.inner < 0)
        return ndrt_fail(NDRT_INVALID, "quantized: a count below 0");
    const int64_t n = ndrt_product(job.outer, job.channels, job.inner);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "quantized: more elements than can be");
    if (!(job.low <= job.high))
        return ndrt_fail(NDRT_INVALID, "quantized: limits %g and %g", (double)job.low,
                         (double)job.high);
    return n ? ndrt_need_arrays(call, 4) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const ndrt_quantized_args job = ndrt_read_quantized(call);
    return ndrt_team_for(call, job.outer * job.channels * job.inner);
}

/* Strip `k` of a row: of one scale, or where nothing stands behind the channels of one of each. */
static void run(const ndrt_quantized_args *job, int64_t k, int64_t strips, int64_t length,
                int64_t channels) {
    const int64_t row = k / strips, from = k % strips * STRIP, at = row * length + from;
    const int64_t n = length - from < STRIP ? length - from : STRIP;
    if (channels)
        same_scale(job->out + at, job->data + at, n, job->scale[row % channels],
                   job->zero[row % channels], job->low, job->high);
    else
        scale_of_each(job->out + at, job->data + at, n, job->scale + from, job->zero + from,
                      job->low, job->high);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_quantized_args job = ndrt_read_quantized(call);
    const int is_last = job.inner == 1 && job.channels > 1;
    const int64_t rows = is_last ? job.outer : job.outer * job.channels;
    const int64_t length = is_last ? job.channels : job.inner;
    const int64_t strips = (length + STRIP - 1) / STRIP, of = is_last ? 0 : job.channels;
    if (nthreads == 1) {
        for (int64_t k = 0; k < rows * strips; k++) run(&job, k, strips, length, of);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < rows * strips; k++) run(&job, k, strips, length, of);
    return NDRT_OK;
}

const ndrt_family ndrt_family_quantized = {"quantized", check, threads, execute};
