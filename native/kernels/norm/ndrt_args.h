/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_NORM_H
#define NDRT_ARGS_NORM_H

#include "kernels/ndrt_kernel.h"

/* Rows normalized. */
typedef struct {
    float *out; const float *data; const float *gamma; const float *beta; float *mean; float *std;
    int64_t rows; int64_t width; int64_t vectors; double epsilon;
} ndrt_norm_rows_args;
static inline ndrt_norm_rows_args ndrt_read_norm_rows(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_norm_rows_args){
        .out = call->data[0], .data = call->data[1], .gamma = call->data[2], .beta = call->data[3],
        .mean = call->data[4], .std = call->data[5], .rows = call->counts[0],
        .width = call->counts[1], .vectors = call->counts[2], .epsilon = numbers[0],
    };
}

/* What the gradients of rows are made of. */
typedef struct {
    void *slopes; const float *dy; const float *data; const float *gamma; const float *mean;
    const float *std; int64_t rows; int64_t width; int64_t vectors;
} ndrt_row_slopes_args;
static inline ndrt_row_slopes_args ndrt_read_row_slopes(const ndrt_kernel_call *call) {
    return (ndrt_row_slopes_args){
        .slopes = call->data[0], .dy = call->data[1], .data = call->data[2], .gamma = call->data[3],
        .mean = call->data[4], .std = call->data[5], .rows = call->counts[0],
        .width = call->counts[1], .vectors = call->counts[2],
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const float *data; const void *slopes; int64_t rows; int64_t width;
    int64_t vectors;
} ndrt_norm_rows_grad_args;
static inline ndrt_norm_rows_grad_args ndrt_read_norm_rows_grad(const ndrt_kernel_call *call) {
    return (ndrt_norm_rows_grad_args){
        .dx = call->data[0], .dy = call->data[1], .data = call->data[2], .slopes = call->data[3],
        .rows = call->counts[0], .width = call->counts[1], .vectors = call->counts[2],
    };
}

/* The gradients of gamma and beta. */
typedef struct {
    float *dgamma; float *dbeta; const void *slopes; int64_t rows; int64_t width; int64_t vectors;
} ndrt_sum_slopes_args;
static inline ndrt_sum_slopes_args ndrt_read_sum_slopes(const ndrt_kernel_call *call) {
    return (ndrt_sum_slopes_args){
        .dgamma = call->data[0], .dbeta = call->data[1], .slopes = call->data[2],
        .rows = call->counts[0], .width = call->counts[1], .vectors = call->counts[2],
    };
}

/* Columns normalized. */
typedef struct {
    float *out; const float *data; const float *gamma; const float *beta; float *mean; float *std;
    int64_t outer; int64_t length; int64_t inner; float epsilon;
} ndrt_norm_axis_args;
static inline ndrt_norm_axis_args ndrt_read_norm_axis(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_norm_axis_args){
        .out = call->data[0], .data = call->data[1], .gamma = call->data[2], .beta = call->data[3],
        .mean = call->data[4], .std = call->data[5], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .epsilon = (float)numbers[0],
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const float *data; const float *gamma; const float *mean;
    const float *std; int64_t outer; int64_t length; int64_t inner;
} ndrt_norm_axis_grad_args;
static inline ndrt_norm_axis_grad_args ndrt_read_norm_axis_grad(const ndrt_kernel_call *call) {
    return (ndrt_norm_axis_grad_args){
        .dx = call->data[0], .dy = call->data[1], .data = call->data[2], .gamma = call->data[3],
        .mean = call->data[4], .std = call->data[5], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2],
    };
}

/* The gradients of gamma and beta. */
typedef struct {
    float *dgamma; float *dbeta; const float *dy; const float *data; const float *mean;
    const float *std; int64_t outer; int64_t length; int64_t inner;
} ndrt_norm_axis_vectors_args;
static inline ndrt_norm_axis_vectors_args ndrt_read_norm_axis_vectors(const ndrt_kernel_call *call) {
    return (ndrt_norm_axis_vectors_args){
        .dgamma = call->data[0], .dbeta = call->data[1], .dy = call->data[2], .data = call->data[3],
        .mean = call->data[4], .std = call->data[5], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2],
    };
}

/* data / norm, norm = sqrt(sum data^2 + epsilon). */
typedef struct {
    float *out; const float *data; float *norm; int64_t outer; int64_t length; int64_t inner;
    double epsilon;
} ndrt_l2_args;
static inline ndrt_l2_args ndrt_read_l2(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_l2_args){
        .out = call->data[0], .data = call->data[1], .norm = call->data[2],
        .outer = call->counts[0], .length = call->counts[1], .inner = call->counts[2],
        .epsilon = numbers[0],
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const float *out; const float *norm; int64_t outer; int64_t length;
    int64_t inner;
} ndrt_l2_grad_args;
static inline ndrt_l2_grad_args ndrt_read_l2_grad(const ndrt_kernel_call *call) {
    return (ndrt_l2_grad_args){
        .dx = call->data[0], .dy = call->data[1], .out = call->data[2], .norm = call->data[3],
        .outer = call->counts[0], .length = call->counts[1], .inner = call->counts[2],
    };
}

/* Normalizes the channels anew whose statistics float has lost, or all; data lies in blocks of
 * `block` channels. */
typedef struct {
    float *out; float *mean; float *var; const float *data; const float *beta; const float *gamma;
    int64_t outer; int64_t channels; int64_t inner; int64_t block; int all; float epsilon;
} ndrt_batch_stats_args;
static inline ndrt_batch_stats_args ndrt_read_batch_stats(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_batch_stats_args){
        .out = call->data[0], .mean = call->data[1], .var = call->data[2], .data = call->data[3],
        .beta = call->data[4], .gamma = call->data[5], .outer = call->counts[0],
        .channels = call->counts[1], .inner = call->counts[2], .block = call->counts[3],
        .all = ndrt_int_of(call->counts[4]), .epsilon = (float)numbers[0],
    };
}

/* Batch normalization with these statistics; data lies in blocks of `block` channels. With `relu`
 * what is below 0 becomes 0. */
typedef struct {
    float *out; const float *data; const float *mean; const float *var; const float *beta;
    const float *gamma; int64_t outer; int64_t channels; int64_t inner; int64_t block; int relu;
    float epsilon;
} ndrt_normalize_channels_args;
static inline ndrt_normalize_channels_args ndrt_read_normalize_channels(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_normalize_channels_args){
        .out = call->data[0], .data = call->data[1], .mean = call->data[2], .var = call->data[3],
        .beta = call->data[4], .gamma = call->data[5], .outer = call->counts[0],
        .channels = call->counts[1], .inner = call->counts[2], .block = call->counts[3],
        .relu = ndrt_int_of(call->counts[4]), .epsilon = (float)numbers[0],
    };
}

/* Rows normalized; gamma and beta of an element each. */
typedef struct {
    float *out; const float *data; const float *gamma; const float *beta; float *mean; float *std;
    int64_t rows; int64_t width; float epsilon;
} ndrt_norm_last_args;
static inline ndrt_norm_last_args ndrt_read_norm_last(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_norm_last_args){
        .out = call->data[0], .data = call->data[1], .gamma = call->data[2], .beta = call->data[3],
        .mean = call->data[4], .std = call->data[5], .rows = call->counts[0],
        .width = call->counts[1], .epsilon = (float)numbers[0],
    };
}

/* Local response normalization over channels. */
typedef struct {
    float *out; const float *data; int64_t outer; int64_t channels; int64_t inner;
    int64_t neighbours; double alpha; double beta; double knorm;
} ndrt_lrn_args;
static inline ndrt_lrn_args ndrt_read_lrn(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_lrn_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .channels = call->counts[1], .inner = call->counts[2], .neighbours = call->counts[3],
        .alpha = numbers[0], .beta = numbers[1], .knorm = numbers[2],
    };
}

/* Weight and bias that do what a layer and the batch normalization behind it do; the weight is
 * (groups, inputs of a group, channels of a group, width). */
typedef struct {
    float *weight_out; float *bias_out; const float *weight; const float *beta; const float *mean;
    const float *var; const float *gamma; const float *bias; int64_t groups; int64_t inputs;
    int64_t channels; int64_t width; double epsilon;
} ndrt_fold_norm_args;
static inline ndrt_fold_norm_args ndrt_read_fold_norm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_fold_norm_args){
        .weight_out = call->data[0], .bias_out = call->data[1], .weight = call->data[2],
        .beta = call->data[3], .mean = call->data[4], .var = call->data[5], .gamma = call->data[6],
        .bias = call->data[7], .groups = call->counts[0], .inputs = call->counts[1],
        .channels = call->counts[2], .width = call->counts[3], .epsilon = numbers[0],
    };
}

#endif
