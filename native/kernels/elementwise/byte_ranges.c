/* What sums of 8-bit products stand for, and biases in their steps. In float, as MXNet has it: the
 * numbers are read whenever the kernel runs. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

static const float INT32_END = 2147483648.0f, HALF_OVER_S8 = 127.5f, HALF_OVER_U8 = 255.5f;

static float widest(const float *low, const float *high) {
    const float a = fabsf(*low), b = fabsf(*high);
    return a > b || isnan(a) ? a : b;
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

static void product_range(kernel_call *call) {
    const ndrt_product_range_args job = ndrt_read_product_range(call);
    const float a = widest(job.data_low, job.data_high) / job.data_most;
    const float b = widest(job.weight_low, job.weight_high) / 127.0f;
    const float top = a * b * INT32_END;
    *job.high = top;
    *job.low = -top;
}

static void whole_bias(kernel_call *call) {
    const ndrt_whole_bias_args job = ndrt_read_whole_bias(call);
    const int8_t *bias = job.bias;
    if (!job.is_scaled) {
        for (int64_t i = 0; i < job.n; i++) job.out[i] = bias[i];
        return;
    }
    const float most = job.is_signed ? HALF_OVER_S8 : HALF_OVER_U8;
    float step = most / widest(job.data_low, job.data_high) *
                 (HALF_OVER_S8 / widest(job.weight_low, job.weight_high));
    step = step * widest(job.bias_low, job.bias_high) / HALF_OVER_S8;
    for (int64_t i = 0; i < job.n; i++) {
        const float made = bias[i] * step;
        job.out[i] = fabsf(made) < INT32_END ? (int32_t)made : INT32_MIN;
    }
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    (void)nthreads;
    if (call->kernel == NDRT_KERNEL_WHOLE_BIAS)
        whole_bias(call);
    else
        product_range(call);
    return NDRT_OK;
}

const ndrt_family ndrt_family_byte_ranges = {"byte ranges", check, threads, execute};
