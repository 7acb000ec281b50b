/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_ELEMENTWISE_H
#define NDRT_ARGS_ELEMENTWISE_H

#include "ndrt_internal.h"

/* What data come back as from whole numbers within limits: (round(data / scale) + zero, kept within
 * them, - zero) scale; one scale and zero of a channel. */
typedef struct {
    float *out;
    const float *data;
    const float *scale;
    const float *zero;
    int64_t outer;
    int64_t channels;
    int64_t inner;
    float low;
    float high;
} ndrt_quantized_args;
static inline ndrt_quantized_args ndrt_read_quantized(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_quantized_args){
        .out = call->data[0],
        .data = call->data[1],
        .scale = call->data[2],
        .zero = call->data[3],
        .outer = call->counts[0],
        .channels = call->counts[1],
        .inner = call->counts[2],
        .low = (float)numbers[0],
        .high = (float)numbers[1],
    };
}

#endif
