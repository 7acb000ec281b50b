/* What sums of 8-bit products stand for, and biases in their steps. In float, as MXNet has it: the
 * numbers are read whenever the kernel runs. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

static const float INT32_END = 2147483648.0f, HALF_OVER_S8 = 127.5f, HALF_OVER_U8 = 255.5f;

static float widest(const float *low, const float *high) {
    const float a = fabsf(*low), b = fabsf(*high);
    return a > b ? a : b;
}

static ndrt_status no_threads_below_0(kernel_call *call, const char *name) {
    return call->nthreads < 0 ? ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads)
                              : NDRT_OK;
}

static ndrt_status check(kernel_call *call) {
    const int is_bias = call->kernel == NDRT_KERNEL_WHOLE_BIAS;
    const ndrt_status status = no_threads_below_0(call, is_bias ? "whole bias" : "product range");
    if (status) return status;
    if (!is_bias) return ndrt_need_arrays(call, 6);
    const ndrt_whole_bias_args job = ndrt_read_whole_bias(call);
    if (job.n < 0 || job.n >= INT32_MAX)
        return ndrt_fail(NDRT_INVALID, "whole bias: %lld elements", (long long)job.n);
    return ndrt_need_arrays(call, job.is_scaled ? 8 : 2);
}

static int threads(kernel_call *call) {
    (void)call;
    return 1;
}

/* NaN says nothing of what numbers stand for. `ends` are those of a call, in pairs. */
static ndrt_status need_numbers(const char *name, const float *const *ends, int count) {
    for (int i = 0; i < count; i++)
        if (isnan(*ends[i]))
            return ndrt_fail(NDRT_INVALID, "%s: an end of a range is nan, expected a number", name);
    return NDRT_OK;
}

static ndrt_status product_range(kernel_call *call) {
    const ndrt_product_range_args job = ndrt_read_product_range(call);
    const float a = widest(job.data_low, job.data_high) / job.data_most;
    const float b = widest(job.weight_low, job.weight_high) / 127.0f;
    const float top = a * b * INT32_END;
    const float *ends[] = {job.data_low, job.data_high, job.weight_low, job.weight_high};
    const ndrt_status status = need_numbers("product range", ends, 4);
    if (status) return status;
    *job.high = top;
    *job.low = -top;
    return NDRT_OK;
}

/* Cut off towards 0, and at the ends of int32. NaN is a bias of 0 in steps of 0. */
static int32_t whole(float x) {
    if (isnan(x)) return 0;
    if (x >= INT32_END) return INT32_MAX;
    return x <= -INT32_END ? INT32_MIN : (int32_t)x;
}

static ndrt_status whole_bias(kernel_call *call) {
    const ndrt_whole_bias_args job = ndrt_read_whole_bias(call);
    const int8_t *bias = job.bias;
    if (!job.is_scaled) {
        for (int64_t i = 0; i < job.n; i++) job.out[i] = bias[i];
        return NDRT_OK;
    }
    const float *ends[] = {job.data_low,    job.data_high, job.weight_low,
                           job.weight_high, job.bias_low,  job.bias_high};
    const ndrt_status status = need_numbers("whole bias", ends, 6);
    if (status) return status;
    const float most = job.is_signed ? HALF_OVER_S8 : HALF_OVER_U8;
    float step = most / widest(job.data_low, job.data_high) *
                 (HALF_OVER_S8 / widest(job.weight_low, job.weight_high));
    step = step * widest(job.bias_low, job.bias_high) / HALF_OVER_S8;
    for (int64_t i = 0; i < job.n; i++) job.out[i] = whole(bias[i] * step);
    return NDRT_OK;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    (void)nthreads;
    return call->kernel == NDRT_KERNEL_WHOLE_BIAS ? whole_bias(call) : product_range(call);
}

const ndrt_family ndrt_family_byte_ranges = {"byte ranges", check, threads, execute};
