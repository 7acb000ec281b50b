/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_RNN_H
#define NDRT_ARGS_RNN_H

#include "kernels/ndrt_kernel.h"

/* `gates` (steps, batch, 4 size) is what inputs add to the gates i f g o; weights between the
 * states, for each 16 elements, or 8 without AVX-512, (size, 4 gates, 16 or 8). With `counts` (u8,
 * steps batch) a step of 0 gives 0 and leaves the cells, or with `holds` the states, as they were;
 * `states` is then two more of them. */
typedef struct {
    float *out; const float *gates; const float *weights; const float *hidden; const float *cell;
    float *cells; const uint8_t *counts; float *states; int64_t steps; int64_t batch; int64_t size;
    int holds;
} ndrt_lstm_steps_args;
static inline ndrt_lstm_steps_args ndrt_read_lstm_steps(const ndrt_kernel_call *call) {
    return (ndrt_lstm_steps_args){
        .out = call->data[0], .gates = call->data[1], .weights = call->data[2],
        .hidden = call->data[3], .cell = call->data[4], .cells = call->data[5],
        .counts = call->data[6], .states = call->data[7], .steps = call->counts[0],
        .batch = call->counts[1], .size = call->counts[2], .holds = ndrt_int_of(call->counts[3]),
    };
}

#endif
