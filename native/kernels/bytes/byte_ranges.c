/* What whole numbers stand for: ranges, the factors between them, and biases in the steps of sums.
 * In float, as MXNet has it: the numbers are read whenever the kernel runs. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

static const float INT32_END = 2147483648.0f, HALF_OVER_S8 = 127.5f, HALF_OVER_U8 = 255.5f;

static float widest(const float *low, const float *high) {
    const float a = fabsf(*low), b = fabsf(*high);
    return a > b ? a : b;
}

/* What numbers up to `top` are multiplied by to come to `most`; 0 where they are nothing but 0, or
 * so small that no float is large enough. */
static float factor_of(float most, float top) {
    const float made = most / top;
    return isinf(made) ? 0.0f : made;
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
    const float b = widest(job.weight_low, job.weight_high) / job.weight_most;
    const float top = a * b * INT32_END;
    const float *ends[] = {job.data_low, job.data_high, job.weight_low, job.weight_high};
    const ndrt_status status = need_numbers("product range", ends, 4);
    if (status) return status;
    *job.high = top;
    *job.low = -top;
    return NDRT_OK;
}

static ndrt_status product_scale(kernel_call *call) {
    const ndrt_product_scale_args job = ndrt_read_product_scale(call);
    const float *ends[] = {job.left_low, job.left_high, job.right_low, job.right_high};
    TRY(need_numbers("product scale", ends, 4));
    const float left = HALF_OVER_S8 / widest(job.left_low, job.left_high);
    const float right = HALF_OVER_S8 / widest(job.right_low, job.right_high);
    *job.scale =
        job.gives_floats ? (float)(1.0 / (double)left / (double)right) : job.wanted / left / right;
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

/* ---- between ranges ---------------------------------------------------------------------------
 */

static ndrt_status quantize_range(kernel_call *call) {
    const ndrt_quantize_range_args job = ndrt_read_quantize_range(call);
    const float low = *job.data_low, high = *job.data_high;
    const float top = widest(job.data_low, job.data_high);
    TRY(need_numbers("quantize range", (const float *[]){job.data_low, job.data_high}, 2));
    if (!isfinite(top))
        return ndrt_fail(NDRT_VALUE, "data has a range from %g to %g, expected finite numbers",
                         (double)low, (double)high);
    *job.scale = factor_of(job.most, top);
    *job.low = job.is_signed ? -top : low;
    *job.high = job.is_signed ? top : high;
    return NDRT_OK;
}

static ndrt_status dequantize_step(kernel_call *call) {
    const ndrt_dequantize_step_args job = ndrt_read_dequantize_step(call);
    TRY(need_numbers("dequantize step", (const float *[]){job.data_low, job.data_high}, 2));
    *job.step = widest(job.data_low, job.data_high) / job.most;
    return NDRT_OK;
}

static ndrt_status requantize_range(kernel_call *call) {
    const ndrt_requantize_range_args job = ndrt_read_requantize_range(call);
    TRY(need_numbers("requantize range", (const float *[]){job.data_low, job.data_high}, 2));
    const float step = widest(job.data_low, job.data_high) / INT32_END;
    const float wanted = job.least ? widest(job.least, job.greatest) * step : job.wanted;
    *job.scale = step * factor_of(job.most, wanted);
    *job.low = job.is_signed ? -wanted : 0.0f;
    *job.high = wanted;
    return NDRT_OK;
}

static ndrt_status widen_range(kernel_call *call) {
    const ndrt_widen_range_args job = ndrt_read_widen_range(call);
    TRY(need_numbers("widen range", (const float *[]){job.data_low, job.data_high}, 2));
    if (*job.data_low < *job.low) *job.low = *job.data_low;
    if (*job.data_high > *job.high) *job.high = *job.data_high;
    return NDRT_OK;
}

static ndrt_status rescale(kernel_call *call) {
    const ndrt_rescale_args job = ndrt_read_rescale(call);
    const float own = job.data_most / widest(job.data_low, job.data_high);
    const float wanted = job.most / widest(job.low, job.high);
    const int is_same = own == wanted && job.data_most == job.most;
    *job.scale = is_same ? 1.0f : isinf(own) ? 0.0f : wanted / own;
    return NDRT_OK;
}

static ndrt_status sum_scales(kernel_call *call) {
    const ndrt_sum_scales_args job = ndrt_read_sum_scales(call);
    const float *ends[] = {job.left_low, job.left_high, job.right_low, job.right_high};
    TRY(need_numbers("sum scales", ends, 4));
    const float left = widest(job.left_low, job.left_high);
    const float right = widest(job.right_low, job.right_high), both = left + right;
    if (job.is_calibrated) {
        const float scale = factor_of(job.most, widest(&job.calibrated_low, &job.calibrated_high));
        *job.left_scale = scale / (job.left_most / left);
        *job.right_scale = scale / (job.right_most / right);
    } else {
        *job.left_scale = both == 0.0f ? 0.0f : left * job.most / (both * job.left_most);
        *job.right_scale = both == 0.0f ? 0.0f : right * job.most / (both * job.right_most);
    }
    *job.low = job.is_calibrated ? job.calibrated_low : -both;
    *job.high = job.is_calibrated ? job.calibrated_high : both;
    return NDRT_OK;
}

/* As MXNet has it: the deviation is in double, and oneDNN normalizes once more by a variance of 1,
 * to which it adds epsilon. */
static ndrt_status norm_factors(kernel_call *call) {
    const ndrt_norm_factors_args job = ndrt_read_norm_factors(call);
    TRY(need_numbers("norm factors", (const float *[]){job.data_low, job.data_high}, 2));
    const float given = widest(job.data_low, job.data_high), last = sqrtf(1.0f + job.epsilon);
    const int is_nothing = factor_of(HALF_OVER_S8, job.wanted) == 0.0f;
    for (int64_t c = 0; c < job.n; c++) {
        if (is_nothing) {
            job.factors[c] = job.shifts[c] = 0.0f;
            continue;
        }
        const float inverse = (float)(1.0 / (double)sqrtf(job.var[c] + job.epsilon));
        const float shift = job.beta[c] - job.mean[c] * job.gamma[c] * inverse;
        job.factors[c] = job.gamma[c] * inverse * given / job.wanted / last;
        job.shifts[c] = shift * HALF_OVER_S8 / job.wanted;
    }
    return NDRT_OK;
}

/* ---- the family -------------------------------------------------------------------------------
 */

typedef struct {
    const char *name;
    ndrt_status (*run)(kernel_call *call);
    int arrays;
} ranges;

static ranges ranges_of(kernel_call *call) {
    switch (call->kernel) {
    case NDRT_KERNEL_PRODUCT_RANGE: return (ranges){"product range", product_range, 6};
    case NDRT_KERNEL_PRODUCT_SCALE: return (ranges){"product scale", product_scale, 5};
    case NDRT_KERNEL_QUANTIZE_RANGE: return (ranges){"quantize range", quantize_range, 5};
    case NDRT_KERNEL_DEQUANTIZE_STEP: return (ranges){"dequantize step", dequantize_step, 3};
    case NDRT_KERNEL_REQUANTIZE_RANGE: return (ranges){"requantize range", requantize_range, 5};
    case NDRT_KERNEL_WIDEN_RANGE: return (ranges){"widen range", widen_range, 4};
    case NDRT_KERNEL_RESCALE: return (ranges){"rescale", rescale, 5};
    case NDRT_KERNEL_NORM_FACTORS: return (ranges){"norm factors", norm_factors, 8};
    case NDRT_KERNEL_SUM_SCALES: return (ranges){"sum scales", sum_scales, 8};
    default:
        return (ranges){"whole bias", whole_bias, ndrt_read_whole_bias(call).is_scaled ? 8 : 2};
    }
}

static ndrt_status check(kernel_call *call) {
    const ranges made = ranges_of(call);
    if (call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "%s: %d threads", made.name, call->nthreads);
    if (call->kernel == NDRT_KERNEL_WHOLE_BIAS) {
        const int64_t n = ndrt_read_whole_bias(call).n;
        if (n < 0 || n >= INT32_MAX)
            return ndrt_fail(NDRT_INVALID, "whole bias: %lld elements", (long long)n);
    }
    if (call->kernel == NDRT_KERNEL_NORM_FACTORS) {
        const int64_t n = ndrt_read_norm_factors(call).n;
        if (n < 0 || n >= INT32_MAX)
            return ndrt_fail(NDRT_INVALID, "norm factors: %lld channels", (long long)n);
    }
    if (call->kernel == NDRT_KERNEL_REQUANTIZE_RANGE) {
        const ndrt_requantize_range_args job = ndrt_read_requantize_range(call);
        if (!job.least != !job.greatest)
            return ndrt_fail(NDRT_INVALID, "requantize range: one end of the sums without other");
    }
    return ndrt_need_arrays(call, made.arrays);
}

static int threads(kernel_call *call) {
    (void)call;
    return 1;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    (void)nthreads;
    return ranges_of(call).run(call);
}

const ndrt_family ndrt_family_byte_ranges = {"byte ranges", check, threads, execute};
