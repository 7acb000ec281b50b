/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_REDUCE_H
#define NDRT_ARGS_REDUCE_H

#include "kernels/ndrt_kernel.h"

/* data reduced along the middle, as ndrt_reduction says, times a factor; kind F32, F64 or S32. For
 * rows of more than NDRT_REDUCE_BLOCK `parts` has a number for each block of each. */
typedef struct {
    void *out; const void *data; double *parts; int64_t outer; int64_t length; int64_t inner;
    int kind; int what; double factor;
} ndrt_reduce_args;
static inline ndrt_reduce_args ndrt_read_reduce(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_reduce_args){
        .out = call->data[0], .data = call->data[1], .parts = call->data[2],
        .outer = call->counts[0], .length = call->counts[1], .inner = call->counts[2],
        .kind = ndrt_int_of(call->counts[3]), .what = ndrt_int_of(call->counts[4]),
        .factor = numbers[0],
    };
}

/* The place of the greatest, or with `least` the least element along the middle. */
typedef struct {
    void *out; const void *data; int64_t outer; int64_t length; int64_t inner; int kind; int least;
} ndrt_arg_extreme_args;
static inline ndrt_arg_extreme_args ndrt_read_arg_extreme(const ndrt_kernel_call *call) {
    return (ndrt_arg_extreme_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .kind = ndrt_int_of(call->counts[3]),
        .least = ndrt_int_of(call->counts[4]),
    };
}

/* Sums up to each element along the middle, or from the end. */
typedef struct {
    void *out; const void *data; int64_t outer; int64_t length; int64_t inner; int kind;
    int backwards;
} ndrt_running_sum_args;
static inline ndrt_running_sum_args ndrt_read_running_sum(const ndrt_kernel_call *call) {
    return (ndrt_running_sum_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .kind = ndrt_int_of(call->counts[3]),
        .backwards = ndrt_int_of(call->counts[4]),
    };
}

/* Softmax along the middle, or its logarithm, of data by `divisor` times `sign`. */
typedef struct {
    float *out; const float *data; int64_t outer; int64_t length; int64_t inner; int log;
    double divisor; double sign;
} ndrt_softmax_columns_args;
static inline ndrt_softmax_columns_args ndrt_read_softmax_columns(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_softmax_columns_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .log = ndrt_int_of(call->counts[3]),
        .divisor = numbers[0], .sign = numbers[1],
    };
}

/* Each element times the product of the others along the middle, times dy. */
typedef struct {
    float *dx; const float *dy; const float *data; int64_t outer; int64_t length; int64_t inner;
} ndrt_product_grad_args;
static inline ndrt_product_grad_args ndrt_read_product_grad(const ndrt_kernel_call *call) {
    return (ndrt_product_grad_args){
        .dx = call->data[0], .dy = call->data[1], .data = call->data[2], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2],
    };
}

/* data, times the slope of its channel where it is not above 0. */
typedef struct {
    float *out; const float *data; const float *slopes; int64_t outer; int64_t blocks;
    int64_t inner; int64_t channels;
} ndrt_prelu_args;
static inline ndrt_prelu_args ndrt_read_prelu(const ndrt_kernel_call *call) {
    return (ndrt_prelu_args){
        .out = call->data[0], .data = call->data[1], .slopes = call->data[2],
        .outer = call->counts[0], .blocks = call->counts[1], .inner = call->counts[2],
        .channels = call->counts[3],
    };
}

/* e to the power of each element. */
typedef struct {
    float *out; const float *data; int64_t n;
} ndrt_exp_args;
static inline ndrt_exp_args ndrt_read_exp(const ndrt_kernel_call *call) {
    return (ndrt_exp_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
    };
}

/* What ndrt_arithmetic_id says of two arrays; kind F32, F64 or S32. */
typedef struct {
    void *out; const void *left; const void *right; int64_t n; int kind; int what;
} ndrt_arithmetic_args;
static inline ndrt_arithmetic_args ndrt_read_arithmetic(const ndrt_kernel_call *call) {
    return (ndrt_arithmetic_args){
        .out = call->data[0], .left = call->data[1], .right = call->data[2], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]), .what = ndrt_int_of(call->counts[2]),
    };
}

/* dy times a slope that is a step (ndrt_step); data of relu: its output. */
typedef struct {
    float *dx; const float *dy; const float *data; int64_t n; int what; float low; float high;
} ndrt_step_grad_args;
static inline ndrt_step_grad_args ndrt_read_step_grad(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_step_grad_args){
        .dx = call->data[0], .dy = call->data[1], .data = call->data[2], .n = call->counts[0],
        .what = ndrt_int_of(call->counts[1]), .low = (float)numbers[0], .high = (float)numbers[1],
    };
}

/* The first k of each row in order, those that tie in the order of their places; NaN counts as the
 * greatest. dtype F32 or S32; `what`: 1 values, 2 places, 3 both; places F32 or S32; scratch is
 * `slots` times ndrt_topk_pairs of 8 bytes. */
typedef struct {
    void *values; void *places; const void *data; void *scratch; int64_t rows; int64_t n; int64_t k;
    int64_t slots; int dtype; int descending; int what; int places_dtype;
} ndrt_topk_args;
static inline ndrt_topk_args ndrt_read_topk(const ndrt_kernel_call *call) {
    return (ndrt_topk_args){
        .values = call->data[0], .places = call->data[1], .data = call->data[2],
        .scratch = call->data[3], .rows = call->counts[0], .n = call->counts[1],
        .k = call->counts[2], .slots = call->counts[3], .dtype = ndrt_int_of(call->counts[4]),
        .descending = ndrt_int_of(call->counts[5]), .what = ndrt_int_of(call->counts[6]),
        .places_dtype = ndrt_int_of(call->counts[7]),
    };
}

/* The gradient of the rows. */
typedef struct {
    float *dx; const float *dy; const void *places; int64_t rows; int64_t n; int64_t k;
    int places_dtype;
} ndrt_topk_grad_args;
static inline ndrt_topk_grad_args ndrt_read_topk_grad(const ndrt_kernel_call *call) {
    return (ndrt_topk_grad_args){
        .dx = call->data[0], .dy = call->data[1], .places = call->data[2], .rows = call->counts[0],
        .n = call->counts[1], .k = call->counts[2], .places_dtype = ndrt_int_of(call->counts[3]),
    };
}

/* The gradient of data from `softmax_columns`, or from rows where inner is 1: y is that output. */
typedef struct {
    float *dx; const float *y; const float *dy; int64_t outer; int64_t length; int64_t inner;
    int log; double divisor; double sign;
} ndrt_softmax_grad_args;
static inline ndrt_softmax_grad_args ndrt_read_softmax_grad(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_softmax_grad_args){
        .dx = call->data[0], .y = call->data[1], .dy = call->data[2], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .log = ndrt_int_of(call->counts[3]),
        .divisor = numbers[0], .sign = numbers[1],
    };
}

/* Beyond which value of a histogram of `bins` around 0, an odd number, what is cut off and told
 * apart by `levels` loses least entropy, and what that is; `slots`: threads that scratch has room
 * for, each 2 bins, behind them a number for each bin. */
typedef struct {
    float *threshold; float *lost; const float *hist; const float *edges; float *scratch;
    int64_t bins; int64_t levels; int slots;
} ndrt_least_loss_args;
static inline ndrt_least_loss_args ndrt_read_least_loss(const ndrt_kernel_call *call) {
    return (ndrt_least_loss_args){
        .threshold = call->data[0], .lost = call->data[1], .hist = call->data[2],
        .edges = call->data[3], .scratch = call->data[4], .bins = call->counts[0],
        .levels = call->counts[1], .slots = ndrt_int_of(call->counts[2]),
    };
}

#endif
