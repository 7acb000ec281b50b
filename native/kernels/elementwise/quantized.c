/* Numbers as they come back from whole numbers of a few bits: divided by a scale, rounded, kept
 * within limits, multiplied again. */
#include <math.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 1024 };

/* Of a NaN, as a cast to whole numbers has it, what 0 stands for. */
static inline float through(float x, float scale, float zero, float low, float high) {
    const float q = rintf(x / scale);
    const float kept = q < low - zero ? low - zero : q > high - zero ? high - zero : q;
    return (q == q ? kept : -zero) * scale;
}

static void one_scale(float *out, const float *in, int64_t n, float scale, float zero, float low,
                      float high) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = through(in[i], scale, zero, low, high);
}

static void own_scales(float *out, const float *in, int64_t n, const float *scale,
                       const float *zero, float low, float high) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = through(in[i], scale[i], zero[i], low, high);
}

static ndrt_status check(kernel_call *call) {
    const int64_t *d = call->dims;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "quantized: %d threads", call->nthreads);
    for (int i = 0; i < 3; i++)
        if (d[i] < 0) return ndrt_fail(NDRT_INVALID, "quantized: a count below 0");
    const int64_t n = ndrt_product(d[0], d[1], d[2]);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "quantized: more elements than can be");
    if (!(call->scalars[0] <= call->scalars[1]))
        return ndrt_fail(NDRT_INVALID, "quantized: limits %g and %g", call->scalars[0],
                         call->scalars[1]);
    for (int i = 0; i < 4; i++)
        if (n && !call->data[i])
            return ndrt_fail(NDRT_INVALID, "quantized: array %d has no bytes", i);
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    return ndrt_team_for(call, call->dims[0] * call->dims[1] * call->dims[2]);
}

/* Strip `k` of a row: of one scale, or where nothing stands behind the channels of one of each. */
static void run(kernel_call *call, int64_t k, int64_t strips, int64_t length, int64_t channels) {
    const float low = (float)call->scalars[0], high = (float)call->scalars[1];
    const float *scale = call->data[2], *zero = call->data[3];
    const int64_t row = k / strips, from = k % strips * STRIP, at = row * length + from;
    const int64_t n = length - from < STRIP ? length - from : STRIP;
    float *out = (float *)call->data[0] + at;
    const float *in = (const float *)call->data[1] + at;
    if (channels)
        one_scale(out, in, n, scale[row % channels], zero[row % channels], low, high);
    else
        own_scales(out, in, n, scale + from, zero + from, low, high);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const int64_t outer = call->dims[0], channels = call->dims[1], inner = call->dims[2];
    const int is_last = inner == 1 && channels > 1;
    const int64_t rows = is_last ? outer : outer * channels, length = is_last ? channels : inner;
    const int64_t strips = (length + STRIP - 1) / STRIP, of = is_last ? 0 : channels;
    if (nthreads == 1) {
        for (int64_t k = 0; k < rows * strips; k++) run(call, k, strips, length, of);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < rows * strips; k++) run(call, k, strips, length, of);
    return NDRT_OK;
}

const ndrt_family ndrt_family_quantized = {"quantized", check, threads, execute};
