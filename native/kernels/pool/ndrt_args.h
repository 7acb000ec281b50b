/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_POOL_H
#define NDRT_ARGS_POOL_H

#include "kernels/ndrt_kernel.h"

/* Does again what max pooling by oneDNN loses: (outer, three axes, lanes); places of the maxima are
 * u8 or s32. */
typedef struct {
    float *out; const float *data; void *places; int64_t outer; int64_t lanes; const int64_t *sides;
    const int64_t *windows; const int64_t *kernel; const int64_t *stride; const int64_t *pad;
    int places_dtype;
} ndrt_lost_maxima_args;
static inline ndrt_lost_maxima_args ndrt_read_lost_maxima(const ndrt_kernel_call *call) {
    return (ndrt_lost_maxima_args){
        .out = call->data[0], .data = call->data[1], .places = call->data[2],
        .outer = call->counts[0], .lanes = call->counts[1], .sides = &call->counts[2],
        .windows = &call->counts[5], .kernel = &call->counts[8], .stride = &call->counts[11],
        .pad = &call->counts[14], .places_dtype = ndrt_int_of(call->counts[17]),
    };
}

/* Maxima within bounds; each window meets data, and along the first two axes has up to
 * NDRT_MAX_POOL_ROWS places. */
typedef struct {
    float *out; const float *data; int64_t outer; int64_t lanes; const int64_t *sides;
    const int64_t *windows; const int64_t *kernel; const int64_t *stride; const int64_t *pad;
    float low; float high;
} ndrt_max_pool_args;
static inline ndrt_max_pool_args ndrt_read_max_pool(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_max_pool_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .lanes = call->counts[1], .sides = &call->counts[2], .windows = &call->counts[5],
        .kernel = &call->counts[8], .stride = &call->counts[11], .pad = &call->counts[14],
        .low = (float)numbers[0], .high = (float)numbers[1],
    };
}

/* Maxima or averages of int8 or uint8, (outer, three axes, lanes); an average is the sum by the
 * size of the kernel, or of what it meets of data, to the nearest, halves to even. A maximum of
 * nothing is the least number, an average 0. */
typedef struct {
    void *out; const void *data; int64_t outer; int64_t lanes; const int64_t *sides;
    const int64_t *windows; const int64_t *kernel; const int64_t *stride; const int64_t *pad;
    int is_signed; int is_max; int includes_pad;
} ndrt_pool_bytes_args;
static inline ndrt_pool_bytes_args ndrt_read_pool_bytes(const ndrt_kernel_call *call) {
    return (ndrt_pool_bytes_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .lanes = call->counts[1], .sides = &call->counts[2], .windows = &call->counts[5],
        .kernel = &call->counts[8], .stride = &call->counts[11], .pad = &call->counts[14],
        .is_signed = ndrt_int_of(call->counts[17]), .is_max = ndrt_int_of(call->counts[18]),
        .includes_pad = ndrt_int_of(call->counts[19]),
    };
}

#endif
