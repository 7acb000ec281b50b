/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_OPTIMIZER_H
#define NDRT_ARGS_OPTIMIZER_H

#include "kernels/ndrt_kernel.h"

/* lr and wd are the element `which` - 1 of `lrs` and `wds` where it is not 0. */
typedef struct {
    void *out; float *weight; const void *grad; const float *lrs; const float *wds; int64_t count;
    int half_grad; int half_out; int keep_master; int64_t which; float lr; float wd;
    float rescale_grad; float clip_gradient;
} ndrt_sgd_args;
static inline ndrt_sgd_args ndrt_read_sgd(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_sgd_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .lrs = call->data[3],
        .wds = call->data[4], .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .which = call->counts[4], .lr = (float)numbers[0], .wd = (float)numbers[1],
        .rescale_grad = (float)numbers[2], .clip_gradient = (float)numbers[3],
    };
}

/* The same with momentum. */
typedef struct {
    void *out; float *weight; const void *grad; float *mom; const float *lrs; const float *wds;
    int64_t count; int half_grad; int half_out; int keep_master; int64_t which; float lr; float wd;
    float rescale_grad; float clip_gradient; float momentum;
} ndrt_sgd_mom_args;
static inline ndrt_sgd_mom_args ndrt_read_sgd_mom(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_sgd_mom_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mom = call->data[3],
        .lrs = call->data[4], .wds = call->data[5], .count = call->counts[0],
        .half_grad = ndrt_int_of(call->counts[1]), .half_out = ndrt_int_of(call->counts[2]),
        .keep_master = ndrt_int_of(call->counts[3]), .which = call->counts[4],
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .momentum = (float)numbers[4],
    };
}

/* With Nesterov's momentum. */
typedef struct {
    void *out; float *weight; const void *grad; float *mom; int64_t count; int half_grad;
    int half_out; int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
    float momentum;
} ndrt_nag_mom_args;
static inline ndrt_nag_mom_args ndrt_read_nag_mom(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_nag_mom_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mom = call->data[3],
        .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .momentum = (float)numbers[4],
    };
}

/* The same, and the new weight decays into the momentum. */
typedef struct {
    void *out; float *weight; const void *grad; float *mom; int64_t count; int half_grad;
    int half_out; int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
    float momentum;
} ndrt_nag_mom_of_master_args;
static inline ndrt_nag_mom_of_master_args ndrt_read_nag_mom_of_master(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_nag_mom_of_master_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mom = call->data[3],
        .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .momentum = (float)numbers[4],
    };
}

/* By the gradient's sign. */
typedef struct {
    void *out; float *weight; const void *grad; int64_t count; int half_grad; int half_out;
    int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
} ndrt_signsgd_args;
static inline ndrt_signsgd_args ndrt_read_signsgd(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_signsgd_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2],
        .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3],
    };
}

/* By the momentum's sign. */
typedef struct {
    void *out; float *weight; const void *grad; float *mom; int64_t count; int half_grad;
    int half_out; int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
    float momentum; float wd_lh;
} ndrt_signum_args;
static inline ndrt_signum_args ndrt_read_signum(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_signum_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mom = call->data[3],
        .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .momentum = (float)numbers[4],
        .wd_lh = (float)numbers[5],
    };
}

/* Kingma and Ba, 2014. */
typedef struct {
    void *out; float *weight; const void *grad; float *mean; float *var; int64_t count;
    int half_grad; int half_out; int keep_master; float lr; float wd; float rescale_grad;
    float clip_gradient; float beta1; float beta2; float epsilon;
} ndrt_adam_args;
static inline ndrt_adam_args ndrt_read_adam(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_adam_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mean = call->data[3],
        .var = call->data[4], .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .beta1 = (float)numbers[4], .beta2 = (float)numbers[5],
        .epsilon = (float)numbers[6],
    };
}

/* Loshchilov and Hutter, 2019; nothing changes where `rescale_grad`, one element, is 0 or not
 * finite. */
typedef struct {
    void *out; float *weight; const void *grad; float *mean; float *var; const float *rescale_grad;
    int64_t count; int half_grad; int half_out; int keep_master; float lr; float wd; float eta;
    float clip_gradient; float beta1; float beta2; float epsilon;
} ndrt_adamw_args;
static inline ndrt_adamw_args ndrt_read_adamw(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_adamw_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mean = call->data[3],
        .var = call->data[4], .rescale_grad = call->data[5], .count = call->counts[0],
        .half_grad = ndrt_int_of(call->counts[1]), .half_out = ndrt_int_of(call->counts[2]),
        .keep_master = ndrt_int_of(call->counts[3]), .lr = (float)numbers[0],
        .wd = (float)numbers[1], .eta = (float)numbers[2], .clip_gradient = (float)numbers[3],
        .beta1 = (float)numbers[4], .beta2 = (float)numbers[5], .epsilon = (float)numbers[6],
    };
}

/* Tieleman and Hinton, 2012. */
typedef struct {
    void *out; float *weight; const void *grad; float *n; int64_t count; int half_grad;
    int half_out; int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
    float gamma1; float epsilon; float clip_weights;
} ndrt_rmsprop_args;
static inline ndrt_rmsprop_args ndrt_read_rmsprop(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_rmsprop_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .n = call->data[3],
        .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .gamma1 = (float)numbers[4],
        .epsilon = (float)numbers[5], .clip_weights = (float)numbers[6],
    };
}

/* Graves, 2013. */
typedef struct {
    void *out; float *weight; const void *grad; float *n; float *g; float *delta; int64_t count;
    int half_grad; int half_out; int keep_master; float lr; float wd; float rescale_grad;
    float clip_gradient; float gamma1; float gamma2; float epsilon; float clip_weights;
} ndrt_rmspropalex_args;
static inline ndrt_rmspropalex_args ndrt_read_rmspropalex(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_rmspropalex_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .n = call->data[3],
        .g = call->data[4], .delta = call->data[5], .count = call->counts[0],
        .half_grad = ndrt_int_of(call->counts[1]), .half_out = ndrt_int_of(call->counts[2]),
        .keep_master = ndrt_int_of(call->counts[3]), .lr = (float)numbers[0],
        .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .gamma1 = (float)numbers[4],
        .gamma2 = (float)numbers[5], .epsilon = (float)numbers[6],
        .clip_weights = (float)numbers[7],
    };
}

/* McMahan et al., 2013. */
typedef struct {
    void *out; float *weight; const void *grad; float *z; float *n; int64_t count; int half_grad;
    int half_out; int keep_master; float lr; float wd; float rescale_grad; float clip_gradient;
    float lamda1; float beta;
} ndrt_ftrl_args;
static inline ndrt_ftrl_args ndrt_read_ftrl(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_ftrl_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .z = call->data[3],
        .n = call->data[4], .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .lr = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .lamda1 = (float)numbers[4], .beta = (float)numbers[5],
    };
}

/* Zheng and Kwok, 2017. */
typedef struct {
    void *out; float *weight; const void *grad; float *d; float *v; float *z; int64_t count;
    int half_grad; int half_out; int keep_master; float lr; float wd; float rescale_grad;
    float clip_grad; float beta1; float beta2; float epsilon; float t;
} ndrt_ftml_args;
static inline ndrt_ftml_args ndrt_read_ftml(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_ftml_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .d = call->data[3],
        .v = call->data[4], .z = call->data[5], .count = call->counts[0],
        .half_grad = ndrt_int_of(call->counts[1]), .half_out = ndrt_int_of(call->counts[2]),
        .keep_master = ndrt_int_of(call->counts[3]), .lr = (float)numbers[0],
        .wd = (float)numbers[1], .rescale_grad = (float)numbers[2], .clip_grad = (float)numbers[3],
        .beta1 = (float)numbers[4], .beta2 = (float)numbers[5], .epsilon = (float)numbers[6],
        .t = (float)numbers[7],
    };
}

/* The direction of a step of LAMB (You et al., 2019). */
typedef struct {
    void *out; float *weight; const void *grad; float *mean; float *var; int64_t count;
    int half_grad; int half_out; int keep_master; float t; float wd; float rescale_grad;
    float clip_gradient; float beta1; float beta2; float epsilon; float bias_correction;
} ndrt_lamb_1_args;
static inline ndrt_lamb_1_args ndrt_read_lamb_1(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_lamb_1_args){
        .out = call->data[0], .weight = call->data[1], .grad = call->data[2], .mean = call->data[3],
        .var = call->data[4], .count = call->counts[0], .half_grad = ndrt_int_of(call->counts[1]),
        .half_out = ndrt_int_of(call->counts[2]), .keep_master = ndrt_int_of(call->counts[3]),
        .t = (float)numbers[0], .wd = (float)numbers[1], .rescale_grad = (float)numbers[2],
        .clip_gradient = (float)numbers[3], .beta1 = (float)numbers[4], .beta2 = (float)numbers[5],
        .epsilon = (float)numbers[6], .bias_correction = (float)numbers[7],
    };
}

/* That step; the norms have one element each. */
typedef struct {
    void *out; float *weight; const float *step; const float *norm; const float *step_norm;
    int64_t count; int half_grad; int half_out; int keep_master; float lr; float lower_bound;
    float upper_bound;
} ndrt_lamb_2_args;
static inline ndrt_lamb_2_args ndrt_read_lamb_2(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_lamb_2_args){
        .out = call->data[0], .weight = call->data[1], .step = call->data[2], .norm = call->data[3],
        .step_norm = call->data[4], .count = call->counts[0],
        .half_grad = ndrt_int_of(call->counts[1]), .half_out = ndrt_int_of(call->counts[2]),
        .keep_master = ndrt_int_of(call->counts[3]), .lr = (float)numbers[0],
        .lower_bound = (float)numbers[1], .upper_bound = (float)numbers[2],
    };
}

/* The sum of squares, or the root of that, of one element; with `half` data has 16 bits. */
typedef struct {
    float *out; const void *data; int64_t count; int half; int root;
} ndrt_norm_args;
static inline ndrt_norm_args ndrt_read_norm(const ndrt_kernel_call *call) {
    return (ndrt_norm_args){
        .out = call->data[0], .data = call->data[1], .count = call->counts[0],
        .half = ndrt_int_of(call->counts[1]), .root = ndrt_int_of(call->counts[2]),
    };
}

#endif
