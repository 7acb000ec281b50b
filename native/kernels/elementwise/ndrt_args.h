/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_ELEMENTWISE_H
#define NDRT_ARGS_ELEMENTWISE_H

#include "kernels/ndrt_kernel.h"

/* out += data. */
typedef struct {
    float *out; const float *data; int64_t n;
} ndrt_add_to_args;
static inline ndrt_add_to_args ndrt_read_add_to(const ndrt_kernel_call *call) {
    return (ndrt_add_to_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
    };
}

/* The same; they may overlap. */
typedef struct {
    void *out; const void *data; int64_t nbytes;
} ndrt_copy_args;
static inline ndrt_copy_args ndrt_read_copy(const ndrt_kernel_call *call) {
    return (ndrt_copy_args){
        .out = call->data[0], .data = call->data[1], .nbytes = call->counts[0],
    };
}

/* All bits are 0. */
typedef struct {
    void *out; int64_t nbytes;
} ndrt_zero_args;
static inline ndrt_zero_args ndrt_read_zero(const ndrt_kernel_call *call) {
    return (ndrt_zero_args){
        .out = call->data[0], .nbytes = call->counts[0],
    };
}

/* The same number everywhere. */
typedef struct {
    float *out; int64_t n; float value;
} ndrt_fill_args;
static inline ndrt_fill_args ndrt_read_fill(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_fill_args){
        .out = call->data[0], .n = call->counts[0], .value = (float)numbers[0],
    };
}

/* out = a out + b data. */
typedef struct {
    float *out; const float *data; int64_t n; float a; float b;
} ndrt_blend_args;
static inline ndrt_blend_args ndrt_read_blend(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_blend_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0], .a = (float)numbers[0],
        .b = (float)numbers[1],
    };
}

/* data, times its slope where x is not above 0. */
typedef struct {
    float *out; const float *x; const float *slopes; const float *data; int64_t n;
} ndrt_sloped_args;
static inline ndrt_sloped_args ndrt_read_sloped(const ndrt_kernel_call *call) {
    return (ndrt_sloped_args){
        .out = call->data[0], .x = call->data[1], .slopes = call->data[2], .data = call->data[3],
        .n = call->counts[0],
    };
}

/* The sums of columns. */
typedef struct {
    float *out; const float *data; int64_t rows; int64_t channels;
} ndrt_bias_grad_args;
static inline ndrt_bias_grad_args ndrt_read_bias_grad(const ndrt_kernel_call *call) {
    return (ndrt_bias_grad_args){
        .out = call->data[0], .data = call->data[1], .rows = call->counts[0],
        .channels = call->counts[1],
    };
}

/* A function (ndrt_function_id) of x and two numbers; a slope is multiplied by dy. */
typedef struct {
    float *out; const float *x; const float *dy; int64_t n; int which; double p; double q;
} ndrt_function_args;
static inline ndrt_function_args ndrt_read_function(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_function_args){
        .out = call->data[0], .x = call->data[1], .dy = call->data[2], .n = call->counts[0],
        .which = ndrt_int_of(call->counts[1]), .p = numbers[0], .q = numbers[1],
    };
}

/* A function (ndrt_function_id) of x and p; kind F16, F64, S32, S8, U8 or NDRT_INDEX_S64. */
typedef struct {
    void *out; const void *x; int64_t n; int kind; int which; double p;
} ndrt_scalar_args;
static inline ndrt_scalar_args ndrt_read_scalar(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_scalar_args){
        .out = call->data[0], .x = call->data[1], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]), .which = ndrt_int_of(call->counts[2]),
        .p = numbers[0],
    };
}

/* What data come back as from whole numbers within limits: (round(data / scale) + zero, kept within
 * them, - zero) scale; one scale and zero of a channel. */
typedef struct {
    float *out; const float *data; const float *scale; const float *zero; int64_t outer;
    int64_t channels; int64_t inner; float low; float high;
} ndrt_quantized_args;
static inline ndrt_quantized_args ndrt_read_quantized(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_quantized_args){
        .out = call->data[0], .data = call->data[1], .scale = call->data[2], .zero = call->data[3],
        .outer = call->counts[0], .channels = call->counts[1], .inner = call->counts[2],
        .low = (float)numbers[0], .high = (float)numbers[1],
    };
}

/* Numbers of 16 bits, of kind F16 or BF16, as floats. */
typedef struct {
    float *out; const void *data; int64_t n; int kind;
} ndrt_widen_args;
static inline ndrt_widen_args ndrt_read_widen(const ndrt_kernel_call *call) {
    return (ndrt_widen_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]),
    };
}

/* Floats rounded to numbers of 16 bits, of kind F16 or BF16. */
typedef struct {
    void *out; const float *data; int64_t n; int kind;
} ndrt_narrow_args;
static inline ndrt_narrow_args ndrt_read_narrow(const ndrt_kernel_call *call) {
    return (ndrt_narrow_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]),
    };
}

#endif
