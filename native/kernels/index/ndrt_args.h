/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_INDEX_H
#define NDRT_ARGS_INDEX_H

#include "ndrt_internal.h"

/* The rows of up to NDRT_JOINED_MOST arrays one behind the other. */
typedef struct {
    float *out;
    const float *const *parts;
    int64_t rows;
    int64_t columns;
    int nparts;
    const int64_t *widths;
} ndrt_join_rows_args;
static inline ndrt_join_rows_args ndrt_read_join_rows(const ndrt_kernel_call *call) {
    return (ndrt_join_rows_args){
        .out = call->data[0],
        .parts = (const float *const *)(void *)&call->data[1],
        .rows = call->counts[0],
        .columns = call->counts[1],
        .nparts = ndrt_int_of(call->counts[2]),
        .widths = &call->counts[3],
    };
}

/* The same of up to NDRT_SCALED_MOST arrays, each column times its factor plus its shift, and 0
 * where `rectify` and that is not above it; columns behind those of the last array stay. */
typedef struct {
    float *out;
    const float *factors;
    const float *shifts;
    const float *const *parts;
    int64_t rows;
    int64_t columns;
    int nparts;
    int rectify;
    const int64_t *widths;
} ndrt_join_scaled_args;
static inline ndrt_join_scaled_args ndrt_read_join_scaled(const ndrt_kernel_call *call) {
    return (ndrt_join_scaled_args){
        .out = call->data[0],
        .factors = call->data[1],
        .shifts = call->data[2],
        .parts = (const float *const *)(void *)&call->data[3],
        .rows = call->counts[0],
        .columns = call->counts[1],
        .nparts = ndrt_int_of(call->counts[2]),
        .rectify = ndrt_int_of(call->counts[3]),
        .widths = &call->counts[4],
    };
}

#endif
