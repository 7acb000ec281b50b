/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_AFFINE_H
#define NDRT_ARGS_AFFINE_H

#include "kernels/ndrt_kernel.h"

/* int8 or uint8: floats by the scale, rounded, plus the zero point; 0 of NaN. */
typedef struct {
    void *out; const float *data; int64_t n; int is_signed; float scale; float zero;
} ndrt_quantize_linear_args;
static inline ndrt_quantize_linear_args ndrt_read_quantize_linear(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_quantize_linear_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
        .is_signed = ndrt_int_of(call->counts[1]), .scale = (float)numbers[0],
        .zero = (float)numbers[1],
    };
}

/* int8 or uint8 less the zero point, times the scale. */
typedef struct {
    float *out; const void *data; int64_t n; int is_signed; float scale; float zero;
} ndrt_dequantize_linear_args;
static inline ndrt_dequantize_linear_args ndrt_read_dequantize_linear(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_dequantize_linear_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
        .is_signed = ndrt_int_of(call->counts[1]), .scale = (float)numbers[0],
        .zero = (float)numbers[1],
    };
}

/* The sum of int8 or uint8, each less its zero point and times its scale, rounded, plus the zero
 * point, within bounds. */
typedef struct {
    void *out; const void *left; const void *right; int64_t n; int left_signed; int right_signed;
    int is_signed; float left_scale; float left_zero; float right_scale; float right_zero;
    float zero; float low; float high;
} ndrt_add_linear_args;
static inline ndrt_add_linear_args ndrt_read_add_linear(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_add_linear_args){
        .out = call->data[0], .left = call->data[1], .right = call->data[2], .n = call->counts[0],
        .left_signed = ndrt_int_of(call->counts[1]), .right_signed = ndrt_int_of(call->counts[2]),
        .is_signed = ndrt_int_of(call->counts[3]), .left_scale = (float)numbers[0],
        .left_zero = (float)numbers[1], .right_scale = (float)numbers[2],
        .right_zero = (float)numbers[3], .zero = (float)numbers[4], .low = (float)numbers[5],
        .high = (float)numbers[6],
    };
}

/* The byte of the table, which has 256, for each byte of data. */
typedef struct {
    void *out; const void *data; const void *table; int64_t n;
} ndrt_map_bytes_args;
static inline ndrt_map_bytes_args ndrt_read_map_bytes(const ndrt_kernel_call *call) {
    return (ndrt_map_bytes_args){
        .out = call->data[0], .data = call->data[1], .table = call->data[2], .n = call->counts[0],
    };
}

#endif
