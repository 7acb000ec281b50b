/* Status codes, each thread's text of the last failure, and static checks that constants equal
 * oneDNN's. */
#include <stdarg.h>
#include <stdio.h>

#include "ndrt_internal.h"

static _Thread_local char last_error[1024];

const char *ndrt_last_error(void) { return last_error; }

ndrt_status ndrt_fail(ndrt_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

ndrt_status ndrt_check(dnnl_status_t status, const char *what) {
    switch (status) {
    case dnnl_success: return NDRT_OK;
    case dnnl_out_of_memory: return ndrt_fail(NDRT_NOMEM, "%s: out of memory", what);
    case dnnl_unimplemented:
        return ndrt_fail(NDRT_UNSUPPORTED, "%s: unimplemented for these types and layouts", what);
    case dnnl_last_impl_reached:
        return ndrt_fail(NDRT_UNSUPPORTED, "%s: no further implementation", what);
    case dnnl_invalid_arguments: return ndrt_fail(NDRT_INVALID, "%s: invalid arguments", what);
    case dnnl_runtime_error: return ndrt_fail(NDRT_INTERNAL, "%s: runtime error", what);
    default: return ndrt_fail(NDRT_INTERNAL, "%s: oneDNN status %d", what, (int)status);
    }
}

#define SAME(ours, theirs)                                                                         \
    _Static_assert((int)(ours) == (int)(theirs), #ours " is not oneDNN's " #theirs)

SAME(NDRT_MAX_DIMS, DNNL_MAX_NDIMS);

SAME(NDRT_F16, dnnl_f16);
SAME(NDRT_BF16, dnnl_bf16);
SAME(NDRT_F32, dnnl_f32);
SAME(NDRT_S32, dnnl_s32);
SAME(NDRT_S8, dnnl_s8);
SAME(NDRT_U8, dnnl_u8);
SAME(NDRT_F64, dnnl_f64);

SAME(NDRT_FORMAT_ANY, dnnl_format_kind_any);
SAME(NDRT_FORMAT_BLOCKED, dnnl_blocked);
SAME(NDRT_FORMAT_OPAQUE, dnnl_format_kind_opaque);

SAME(NDRT_ELTWISE_RELU, dnnl_eltwise_relu);
SAME(NDRT_ELTWISE_TANH, dnnl_eltwise_tanh);
SAME(NDRT_ELTWISE_ELU, dnnl_eltwise_elu);
SAME(NDRT_ELTWISE_SQUARE, dnnl_eltwise_square);
SAME(NDRT_ELTWISE_ABS, dnnl_eltwise_abs);
SAME(NDRT_ELTWISE_SQRT, dnnl_eltwise_sqrt);
SAME(NDRT_ELTWISE_LINEAR, dnnl_eltwise_linear);
SAME(NDRT_ELTWISE_SOFT_RELU, dnnl_eltwise_soft_relu);
SAME(NDRT_ELTWISE_HARDSIGMOID, dnnl_eltwise_hardsigmoid);
SAME(NDRT_ELTWISE_LOGISTIC, dnnl_eltwise_logistic);
SAME(NDRT_ELTWISE_EXP, dnnl_eltwise_exp);
SAME(NDRT_ELTWISE_GELU_TANH, dnnl_eltwise_gelu_tanh);
SAME(NDRT_ELTWISE_SWISH, dnnl_eltwise_swish);
SAME(NDRT_ELTWISE_LOG, dnnl_eltwise_log);
SAME(NDRT_ELTWISE_CLIP, dnnl_eltwise_clip);
SAME(NDRT_ELTWISE_CLIP_V2, dnnl_eltwise_clip_v2);
SAME(NDRT_ELTWISE_POW, dnnl_eltwise_pow);
SAME(NDRT_ELTWISE_GELU_ERF, dnnl_eltwise_gelu_erf);
SAME(NDRT_ELTWISE_ROUND, dnnl_eltwise_round);
SAME(NDRT_ELTWISE_MISH, dnnl_eltwise_mish);
SAME(NDRT_ELTWISE_HARDSWISH, dnnl_eltwise_hardswish);
SAME(NDRT_ELTWISE_TANH_FROM_DST, dnnl_eltwise_tanh_use_dst_for_bwd);
SAME(NDRT_ELTWISE_LOGISTIC_FROM_DST, dnnl_eltwise_logistic_use_dst_for_bwd);
SAME(NDRT_POOLING_MAX, dnnl_pooling_max);
SAME(NDRT_POOLING_AVG_INCLUDE_PADDING, dnnl_pooling_avg_include_padding);
SAME(NDRT_POOLING_AVG_EXCLUDE_PADDING, dnnl_pooling_avg_exclude_padding);
SAME(NDRT_LRN_ACROSS_CHANNELS, dnnl_lrn_across_channels);
SAME(NDRT_BINARY_ADD, dnnl_binary_add);
SAME(NDRT_BINARY_MUL, dnnl_binary_mul);
SAME(NDRT_BINARY_MAX, dnnl_binary_max);
SAME(NDRT_BINARY_MIN, dnnl_binary_min);
SAME(NDRT_BINARY_DIV, dnnl_binary_div);
SAME(NDRT_BINARY_SUB, dnnl_binary_sub);
SAME(NDRT_BINARY_GE, dnnl_binary_ge);
SAME(NDRT_BINARY_GT, dnnl_binary_gt);
SAME(NDRT_BINARY_LE, dnnl_binary_le);
SAME(NDRT_BINARY_LT, dnnl_binary_lt);
SAME(NDRT_BINARY_EQ, dnnl_binary_eq);
SAME(NDRT_BINARY_NE, dnnl_binary_ne);
SAME(NDRT_REDUCTION_MAX, dnnl_reduction_max);
SAME(NDRT_REDUCTION_MIN, dnnl_reduction_min);
SAME(NDRT_REDUCTION_SUM, dnnl_reduction_sum);
SAME(NDRT_REDUCTION_MEAN, dnnl_reduction_mean);
SAME(NDRT_SOFTMAX_ACCURATE, dnnl_softmax_accurate);
SAME(NDRT_SOFTMAX_LOG, dnnl_softmax_log);

SAME(NDRT_USE_GLOBAL_STATS, dnnl_use_global_stats);
SAME(NDRT_USE_SCALE, dnnl_use_scale);
SAME(NDRT_USE_SHIFT, dnnl_use_shift);

SAME(NDRT_ARG_SRC, DNNL_ARG_SRC);
SAME(NDRT_ARG_SRC_1, DNNL_ARG_SRC_1);
SAME(NDRT_ARG_DST, DNNL_ARG_DST);
SAME(NDRT_ARG_WEIGHTS, DNNL_ARG_WEIGHTS);
SAME(NDRT_ARG_BIAS, DNNL_ARG_BIAS);
SAME(NDRT_ARG_MEAN, DNNL_ARG_MEAN);
SAME(NDRT_ARG_VARIANCE, DNNL_ARG_VARIANCE);
SAME(NDRT_ARG_SCALE, DNNL_ARG_SCALE);
SAME(NDRT_ARG_SHIFT, DNNL_ARG_SHIFT);
SAME(NDRT_ARG_WORKSPACE, DNNL_ARG_WORKSPACE);
SAME(NDRT_ARG_SCRATCHPAD, DNNL_ARG_SCRATCHPAD);
SAME(NDRT_ARG_DIFF_SRC, DNNL_ARG_DIFF_SRC);
SAME(NDRT_ARG_DIFF_DST, DNNL_ARG_DIFF_DST);
SAME(NDRT_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_WEIGHTS);
SAME(NDRT_ARG_DIFF_BIAS, DNNL_ARG_DIFF_BIAS);
SAME(NDRT_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SCALE);
SAME(NDRT_ARG_DIFF_SHIFT, DNNL_ARG_DIFF_SHIFT);
SAME(NDRT_ARG_MULTIPLE_SRC, DNNL_ARG_MULTIPLE_SRC);
SAME(NDRT_ARG_POST_OP, DNNL_ARG_ATTR_MULTIPLE_POST_OP_BASE);
