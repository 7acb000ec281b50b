/* Between floats and numbers of 8 bits with a scale and a zero point, element by element. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

/* To the nearest, halves to even, plus the zero point within bounds, which are less that and whole.
 * NaN becomes 0. */
INLINED uint8_t whole(float x, float least, float most, int32_t zero) {
    const float above = x > least ? x : least, kept = above < most ? above : most;
    const int32_t made = (int32_t)rintf(kept) + zero;
    return (uint8_t)(x == x ? made : 0);
}

/* ---- floats -------------------------------------------------------------------------------------
 */

static void quantize(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_quantize_linear_args job = ndrt_read_quantize_linear(call);
    const float scale = job.scale, start = job.is_signed ? -128.0f : 0.0f;
    const float least = start - job.zero, most = start + 255.0f - job.zero;
    const int32_t zero = (int32_t)job.zero;
    uint8_t *out = job.out;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = whole(job.data[i] / scale, least, most, zero);
}

INLINED void floats_of(float *out, const void *data, int64_t n, float scale, float zero,
                       const int is_signed) {
    const int8_t *s8 = data;
    const uint8_t *u8 = data;
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = ((is_signed ? s8[i] : u8[i]) - zero) * scale;
}

static void dequantize(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_dequantize_linear_args job = ndrt_read_dequantize_linear(call);
    const void *data = (const uint8_t *)job.data + from;
    if (job.is_signed)
        floats_of(job.out + from, data, to - from, job.scale, job.zero, 1);
    else
        floats_of(job.out + from, data, to - from, job.scale, job.zero, 0);
}

/* ---- sums -------------------------------------------------------------------------------------
 */

/* Terms of so many elements at a time, so that there is one loop for each kind of them. */
enum { TERMS = 512 };

static void term(float *out, const void *data, int64_t from, int n, int is_signed, float scale,
                 float zero) {
    const void *at = (const uint8_t *)data + from;
    if (is_signed)
        floats_of(out, at, n, scale, zero, 1);
    else
        floats_of(out, at, n, scale, zero, 0);
}

static void add(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_add_linear_args job = ndrt_read_add_linear(call);
    const float least = job.low - job.zero, most = job.high - job.zero;
    const int32_t zero = (int32_t)job.zero;
    float x[TERMS], y[TERMS];
    for (int64_t at = from; at < to; at += TERMS) {
        const int n = to - at < TERMS ? (int)(to - at) : TERMS;
        term(x, job.left, at, n, job.left_signed, job.left_scale, job.left_zero);
        term(y, job.right, at, n, job.right_signed, job.right_scale, job.right_zero);
        uint8_t *out = (uint8_t *)job.out + at;
#pragma omp simd
        for (int i = 0; i < n; i++) out[i] = whole(x[i] + y[i], least, most, zero);
    }
}

static void map(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_map_bytes_args job = ndrt_read_map_bytes(call);
    const uint8_t *data = job.data, *table = job.table;
    uint8_t *out = job.out;
    for (int64_t i = from; i < to; i++) out[i] = table[data[i]];
}

/* ---- the family -------------------------------------------------------------------------------
 */

typedef struct {
    int64_t n;
    int arrays;
} demands;

static demands demands_of(kernel_call *call) {
    switch (call->kernel) {
    case NDRT_KERNEL_QUANTIZE_LINEAR: return (demands){ndrt_read_quantize_linear(call).n, 2};
    case NDRT_KERNEL_DEQUANTIZE_LINEAR: return (demands){ndrt_read_dequantize_linear(call).n, 2};
    case NDRT_KERNEL_ADD_LINEAR: return (demands){ndrt_read_add_linear(call).n, 3};
    default: return (demands){ndrt_read_map_bytes(call).n, 3};
    }
}

/* A whole number that 8 bits hold. */
static int is_byte(float x, int is_signed) {
    const float start = is_signed ? -128.0f : 0.0f;
    return x >= start && x <= start + 255.0f && x == rintf(x);
}

static int has_bytes(kernel_call *call) {
    if (call->kernel == NDRT_KERNEL_QUANTIZE_LINEAR) {
        const ndrt_quantize_linear_args job = ndrt_read_quantize_linear(call);
        return is_byte(job.zero, job.is_signed);
    }
    if (call->kernel == NDRT_KERNEL_ADD_LINEAR) {
        const ndrt_add_linear_args job = ndrt_read_add_linear(call);
        return is_byte(job.zero, job.is_signed) && is_byte(job.low, job.is_signed) &&
               is_byte(job.high, job.is_signed) && job.low <= job.high;
    }
    return 1;
}

static ndrt_status check(kernel_call *call) {
    const demands d = demands_of(call);
    if (call->nthreads < 0 || d.n < 0)
        return ndrt_fail(NDRT_INVALID, "affine bytes: %lld elements, %d threads", (long long)d.n,
                         call->nthreads);
    if (!has_bytes(call))
        return ndrt_fail(NDRT_INVALID, "affine bytes: a zero point or bound that is no byte");
    return d.n ? ndrt_need_arrays(call, d.arrays) : NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, demands_of(call).n); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    const int64_t n = demands_of(call).n;
    switch (call->kernel) {
    case NDRT_KERNEL_QUANTIZE_LINEAR: ndrt_share_out(quantize, call, n, nthreads); break;
    case NDRT_KERNEL_DEQUANTIZE_LINEAR: ndrt_share_out(dequantize, call, n, nthreads); break;
    case NDRT_KERNEL_ADD_LINEAR: ndrt_share_out(add, call, n, nthreads); break;
    default: ndrt_share_out(map, call, n, nthreads);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_affine_bytes = {"affine bytes", check, threads, execute};
