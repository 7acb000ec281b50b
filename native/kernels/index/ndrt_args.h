/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_INDEX_H
#define NDRT_ARGS_INDEX_H

#include "kernels/ndrt_kernel.h"

/* out[o][i] = table[o][places[i]], rows of `width` bytes. */
typedef struct {
    void *out; const void *table; const void *places; int64_t outer; int64_t count; int64_t rows;
    int64_t width; int kind; int wrap;
} ndrt_gather_args;
static inline ndrt_gather_args ndrt_read_gather(const ndrt_kernel_call *call) {
    return (ndrt_gather_args){
        .out = call->data[0], .table = call->data[1], .places = call->data[2],
        .outer = call->counts[0], .count = call->counts[1], .rows = call->counts[2],
        .width = call->counts[3], .kind = ndrt_int_of(call->counts[4]),
        .wrap = ndrt_int_of(call->counts[5]),
    };
}

/* The gradient of the table: rows of `width` elements that belong there, added up. */
typedef struct {
    float *dx; const float *dy; const void *places; int64_t outer; int64_t count; int64_t rows;
    int64_t width; int kind; int wrap;
} ndrt_gather_grad_args;
static inline ndrt_gather_grad_args ndrt_read_gather_grad(const ndrt_kernel_call *call) {
    return (ndrt_gather_grad_args){
        .dx = call->data[0], .dy = call->data[1], .places = call->data[2], .outer = call->counts[0],
        .count = call->counts[1], .rows = call->counts[2], .width = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]), .wrap = ndrt_int_of(call->counts[5]),
    };
}

/* out[o][i] = data[o][places[o][i]][i], elements of `size` bytes. */
typedef struct {
    void *out; const void *data; const void *places; int64_t outer; int64_t length; int64_t inner;
    int64_t size; int kind; int wrap;
} ndrt_pick_args;
static inline ndrt_pick_args ndrt_read_pick(const ndrt_kernel_call *call) {
    return (ndrt_pick_args){
        .out = call->data[0], .data = call->data[1], .places = call->data[2],
        .outer = call->counts[0], .length = call->counts[1], .inner = call->counts[2],
        .size = call->counts[3], .kind = ndrt_int_of(call->counts[4]),
        .wrap = ndrt_int_of(call->counts[5]),
    };
}

/* The gradient of the data. */
typedef struct {
    float *dx; const float *dy; const void *places; int64_t outer; int64_t length; int64_t inner;
    int kind; int wrap;
} ndrt_pick_grad_args;
static inline ndrt_pick_grad_args ndrt_read_pick_grad(const ndrt_kernel_call *call) {
    return (ndrt_pick_grad_args){
        .dx = call->data[0], .dy = call->data[1], .places = call->data[2], .outer = call->counts[0],
        .length = call->counts[1], .inner = call->counts[2], .kind = ndrt_int_of(call->counts[3]),
        .wrap = ndrt_int_of(call->counts[4]),
    };
}

/* Rows of `off` with `on` at each place; dtype F32 or S32. */
typedef struct {
    void *out; const void *places; int64_t count; int64_t depth; int kind; int dtype; double on;
    double off;
} ndrt_one_hot_args;
static inline ndrt_one_hot_args ndrt_read_one_hot(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_one_hot_args){
        .out = call->data[0], .places = call->data[1], .count = call->counts[0],
        .depth = call->counts[1], .kind = ndrt_int_of(call->counts[2]),
        .dtype = ndrt_int_of(call->counts[3]), .on = numbers[0], .off = numbers[1],
    };
}

/* x where the condition of that kind is not 0, else y; `width` elements each. */
typedef struct {
    float *out; const void *condition; const float *x; const float *y; int64_t count; int64_t width;
    int kind;
} ndrt_where_args;
static inline ndrt_where_args ndrt_read_where(const ndrt_kernel_call *call) {
    return (ndrt_where_args){
        .out = call->data[0], .condition = call->data[1], .x = call->data[2], .y = call->data[3],
        .count = call->counts[0], .width = call->counts[1], .kind = ndrt_int_of(call->counts[2]),
    };
}

/* `value` behind the lengths; which of the first two counts are the steps is `steps_axis`. */
typedef struct {
    float *out; const float *data; const void *lengths; int64_t rows; int64_t columns;
    int64_t width; int64_t steps_axis; int kind; float value;
} ndrt_sequence_mask_args;
static inline ndrt_sequence_mask_args ndrt_read_sequence_mask(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_sequence_mask_args){
        .out = call->data[0], .data = call->data[1], .lengths = call->data[2],
        .rows = call->counts[0], .columns = call->counts[1], .width = call->counts[2],
        .steps_axis = call->counts[3], .kind = ndrt_int_of(call->counts[4]),
        .value = (float)numbers[0],
    };
}

/* Each value of start + i step `repeat` times. */
typedef struct {
    float *out; int64_t n; int64_t repeat; float start; float step;
} ndrt_arange_args;
static inline ndrt_arange_args ndrt_read_arange(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_arange_args){
        .out = call->data[0], .n = call->counts[0], .repeat = call->counts[1],
        .start = (float)numbers[0], .step = (float)numbers[1],
    };
}

/* The number of the element with the coordinates of each column, which below 0 count from the end;
 * NDRT_RANGE for one beyond its axis. */
typedef struct {
    int64_t *out; const void *coordinates; int64_t rank; int64_t n; int kind;
    const int64_t *lengths;
} ndrt_flat_places_args;
static inline ndrt_flat_places_args ndrt_read_flat_places(const ndrt_kernel_call *call) {
    return (ndrt_flat_places_args){
        .out = call->data[0], .coordinates = call->data[1], .rank = call->counts[0],
        .n = call->counts[1], .kind = ndrt_int_of(call->counts[2]), .lengths = &call->counts[3],
    };
}

/* out[places[i]] = data[i], rows of `width` bytes; the last one stays. */
typedef struct {
    void *out; const void *data; const int64_t *places; int64_t n; int64_t rows; int64_t width;
} ndrt_put_rows_args;
static inline ndrt_put_rows_args ndrt_read_put_rows(const ndrt_kernel_call *call) {
    return (ndrt_put_rows_args){
        .out = call->data[0], .data = call->data[1], .places = call->data[2], .n = call->counts[0],
        .rows = call->counts[1], .width = call->counts[2],
    };
}

/* out[o][i] = data[o][f(i)], f as ndrt_axis_kind says of begin + i step; `length` of data's axis,
 * `count` of out's, `width` bytes of a part. */
typedef struct {
    void *out; const void *data; int64_t outer; int64_t length; int64_t width; int64_t count;
    int kind; int64_t begin; int64_t step;
} ndrt_axis_move_args;
static inline ndrt_axis_move_args ndrt_read_axis_move(const ndrt_kernel_call *call) {
    return (ndrt_axis_move_args){
        .out = call->data[0], .data = call->data[1], .outer = call->counts[0],
        .length = call->counts[1], .width = call->counts[2], .count = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]), .begin = call->counts[5], .step = call->counts[6],
    };
}

/* The gradient of the data; `width` in elements. */
typedef struct {
    float *dx; const float *dy; int64_t outer; int64_t length; int64_t width; int64_t count;
    int kind; int64_t begin; int64_t step;
} ndrt_axis_move_grad_args;
static inline ndrt_axis_move_grad_args ndrt_read_axis_move_grad(const ndrt_kernel_call *call) {
    return (ndrt_axis_move_grad_args){
        .dx = call->data[0], .dy = call->data[1], .outer = call->counts[0],
        .length = call->counts[1], .width = call->counts[2], .count = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]), .begin = call->counts[5], .step = call->counts[6],
    };
}

/* The first lengths[b] steps of b turned round; parts of `width` bytes. */
typedef struct {
    void *out; const void *data; const void *lengths; int64_t steps; int64_t batch; int64_t width;
    int kind;
} ndrt_sequence_reverse_args;
static inline ndrt_sequence_reverse_args ndrt_read_sequence_reverse(const ndrt_kernel_call *call) {
    return (ndrt_sequence_reverse_args){
        .out = call->data[0], .data = call->data[1], .lengths = call->data[2],
        .steps = call->counts[0], .batch = call->counts[1], .width = call->counts[2],
        .kind = ndrt_int_of(call->counts[3]),
    };
}

/* The part that is a sequence's last; which of the first two counts are the steps is `steps_axis`.
 * */
typedef struct {
    void *out; const void *data; const void *lengths; int64_t rows; int64_t columns; int64_t width;
    int64_t steps_axis; int kind;
} ndrt_sequence_last_args;
static inline ndrt_sequence_last_args ndrt_read_sequence_last(const ndrt_kernel_call *call) {
    return (ndrt_sequence_last_args){
        .out = call->data[0], .data = call->data[1], .lengths = call->data[2],
        .rows = call->counts[0], .columns = call->counts[1], .width = call->counts[2],
        .steps_axis = call->counts[3], .kind = ndrt_int_of(call->counts[4]),
    };
}

/* The gradient of the data. */
typedef struct {
    void *dx; const void *dy; const void *lengths; int64_t rows; int64_t columns; int64_t width;
    int64_t steps_axis; int kind;
} ndrt_sequence_last_grad_args;
static inline ndrt_sequence_last_grad_args ndrt_read_sequence_last_grad(const ndrt_kernel_call *call) {
    return (ndrt_sequence_last_grad_args){
        .dx = call->data[0], .dy = call->data[1], .lengths = call->data[2], .rows = call->counts[0],
        .columns = call->counts[1], .width = call->counts[2], .steps_axis = call->counts[3],
        .kind = ndrt_int_of(call->counts[4]),
    };
}

/* Concatenates the rows of up to NDRT_JOINED_MOST arrays. */
typedef struct {
    float *out; const float *const *parts; int64_t rows; int64_t columns; int nparts;
    const int64_t *widths;
} ndrt_concat_channels_args;
static inline ndrt_concat_channels_args ndrt_read_concat_channels(const ndrt_kernel_call *call) {
    return (ndrt_concat_channels_args){
        .out = call->data[0], .parts = (const float *const *)(void *)&call->data[1],
        .rows = call->counts[0], .columns = call->counts[1], .nparts = ndrt_int_of(call->counts[2]),
        .widths = &call->counts[3],
    };
}

/* The same of up to NDRT_SCALED_MOST arrays, each column times its factor plus its shift, and 0
 * where `rectify` and that is not above it; columns behind those of the last array stay. */
typedef struct {
    float *out; const float *factors; const float *shifts; const float *const *parts; int64_t rows;
    int64_t columns; int nparts; int rectify; const int64_t *widths;
} ndrt_concat_scaled_args;
static inline ndrt_concat_scaled_args ndrt_read_concat_scaled(const ndrt_kernel_call *call) {
    return (ndrt_concat_scaled_args){
        .out = call->data[0], .factors = call->data[1], .shifts = call->data[2],
        .parts = (const float *const *)(void *)&call->data[3], .rows = call->counts[0],
        .columns = call->counts[1], .nparts = ndrt_int_of(call->counts[2]),
        .rectify = ndrt_int_of(call->counts[3]), .widths = &call->counts[4],
    };
}

#endif
