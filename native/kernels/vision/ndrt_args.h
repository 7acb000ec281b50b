/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_VISION_H
#define NDRT_ARGS_VISION_H

#include "ndrt_internal.h"

/* Along an axis from `size` to `made` places, as ndrt_resize_kind says, or with `back` the gradient
 * of that. */
typedef struct {
    float *out;
    const float *data;
    int64_t outer;
    int64_t size;
    int64_t made;
    int64_t inner;
    int kind;
    int back;
} ndrt_resize_axis_args;
static inline ndrt_resize_axis_args ndrt_read_resize_axis(const ndrt_kernel_call *call) {
    return (ndrt_resize_axis_args){
        .out = call->data[0],
        .data = call->data[1],
        .outer = call->counts[0],
        .size = call->counts[1],
        .made = call->counts[2],
        .inner = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]),
        .back = ndrt_int_of(call->counts[5]),
    };
}

#endif
