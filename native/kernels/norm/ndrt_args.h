/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_NORM_H
#define NDRT_ARGS_NORM_H

#include "ndrt_internal.h"

/* Normalizes the channels anew whose statistics float has lost, or all; data lies in blocks of
 * `block` channels. */
typedef struct {
    float *out;
    float *mean;
    float *var;
    const float *data;
    const float *beta;
    const float *gamma;
    int64_t outer;
    int64_t channels;
    int64_t inner;
    int64_t block;
    int all;
    float epsilon;
} ndrt_batch_stats_args;
static inline ndrt_batch_stats_args ndrt_read_batch_stats(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_batch_stats_args){
        .out = call->data[0],
        .mean = call->data[1],
        .var = call->data[2],
        .data = call->data[3],
        .beta = call->data[4],
        .gamma = call->data[5],
        .outer = call->counts[0],
        .channels = call->counts[1],
        .inner = call->counts[2],
        .block = call->counts[3],
        .all = ndrt_int_of(call->counts[4]),
        .epsilon = (float)numbers[0],
    };
}

/* Weight and bias that do what a layer and the batch normalization behind it do; the weight is
 * (groups, inputs of a group, channels of a group, width). */
typedef struct {
    float *weight_out;
    float *bias_out;
    const float *weight;
    const float *beta;
    const float *mean;
    const float *var;
    const float *gamma;
    const float *bias;
    int64_t groups;
    int64_t inputs;
    int64_t channels;
    int64_t width;
    double epsilon;
} ndrt_fold_norm_args;
static inline ndrt_fold_norm_args ndrt_read_fold_norm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_fold_norm_args){
        .weight_out = call->data[0],
        .bias_out = call->data[1],
        .weight = call->data[2],
        .beta = call->data[3],
        .mean = call->data[4],
        .var = call->data[5],
        .gamma = call->data[6],
        .bias = call->data[7],
        .groups = call->counts[0],
        .inputs = call->counts[1],
        .channels = call->counts[2],
        .width = call->counts[3],
        .epsilon = numbers[0],
    };
}

#endif
