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

/* A layer of an LSTM on numbers of 8 bits, which stand for (number - shift) / scale: out (steps,
 * batch, columns), from the column `first` on, of kind U8, or F32, which is what these stand for;
 * cells and hidden states of the last step. `sums` (steps, batch, 4 size) are those of the inputs'
 * products; weights as of `pack_byte_lstm`; scratch has ndrt_byte_lstm_scratch bytes. */
typedef struct {
    void *out; const int32_t *sums; const void *weights; const float *scale; const float *shift;
    const float *state; const float *cell; float *cells; void *scratch; float *hidden;
    int64_t steps; int64_t batch; int64_t size; int64_t columns; int64_t first; int backwards;
    int kind;
} ndrt_byte_lstm_args;
static inline ndrt_byte_lstm_args ndrt_read_byte_lstm(const ndrt_kernel_call *call) {
    return (ndrt_byte_lstm_args){
        .out = call->data[0], .sums = call->data[1], .weights = call->data[2],
        .scale = call->data[3], .shift = call->data[4], .state = call->data[5],
        .cell = call->data[6], .cells = call->data[7], .scratch = call->data[8],
        .hidden = call->data[9], .steps = call->counts[0], .batch = call->counts[1],
        .size = call->counts[2], .columns = call->counts[3], .first = call->counts[4],
        .backwards = ndrt_int_of(call->counts[5]), .kind = ndrt_int_of(call->counts[6]),
    };
}

/* int8 weights between the states, the sums of them and those of the inputs, the biases, and the
 * scales that follow from the greatest weights, as in ndrt_byte_lstm.h. */
typedef struct {
    void *out; const void *h2h; const void *i2h; const float *most; const float *i2h_bias;
    const float *h2h_bias; int64_t size; int64_t features;
} ndrt_pack_byte_lstm_args;
static inline ndrt_pack_byte_lstm_args ndrt_read_pack_byte_lstm(const ndrt_kernel_call *call) {
    return (ndrt_pack_byte_lstm_args){
        .out = call->data[0], .h2h = call->data[1], .i2h = call->data[2], .most = call->data[3],
        .i2h_bias = call->data[4], .h2h_bias = call->data[5], .size = call->counts[0],
        .features = call->counts[1],
    };
}

/* Rows as int8, as in `to_bytes`: 127 is `most` of each, or 1 where that is 0. */
typedef struct {
    void *out; const float *data; const float *most; int64_t rows; int64_t width;
} ndrt_round_rows_args;
static inline ndrt_round_rows_args ndrt_read_round_rows(const ndrt_kernel_call *call) {
    return (ndrt_round_rows_args){
        .out = call->data[0], .data = call->data[1], .most = call->data[2], .rows = call->counts[0],
        .width = call->counts[1],
    };
}

/* The greatest absolute value of each row, or what is there, if that is greater; NaN wins. */
typedef struct {
    float *most; const float *data; int64_t rows; int64_t width;
} ndrt_row_most_args;
static inline ndrt_row_most_args ndrt_read_row_most(const ndrt_kernel_call *call) {
    return (ndrt_row_most_args){
        .most = call->data[0], .data = call->data[1], .rows = call->counts[0],
        .width = call->counts[1],
    };
}

#endif
