/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_RANDOM_H
#define NDRT_ARGS_RANDOM_H

#include "ndrt_internal.h"

/* Numbers of an ndrt_distribution in dtype F16, F32 or F64; its parameters are `a` and `b` with
 * `each` 0, else arrays of that kind, of which each element makes `each`. */
typedef struct {
    void *out;
    ndrt_random *stream;
    const void *first;
    const void *second;
    int64_t n;
    int distribution;
    int64_t each;
    int dtype;
    int kind;
    double a;
    double b;
} ndrt_draw_args;
static inline ndrt_draw_args ndrt_read_draw(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_draw_args){
        .out = call->data[0],
        .stream = call->data[1],
        .first = call->data[2],
        .second = call->data[3],
        .n = call->counts[0],
        .distribution = ndrt_int_of(call->counts[1]),
        .each = call->counts[2],
        .dtype = ndrt_int_of(call->counts[3]),
        .kind = ndrt_int_of(call->counts[4]),
        .a = numbers[0],
        .b = numbers[1],
    };
}

/* Whole numbers from `least` on; `range`: how many there are, as 64 bits. */
typedef struct {
    int32_t *out;
    ndrt_random *stream;
    int64_t n;
    int64_t least;
    int64_t range;
} ndrt_randint_args;
static inline ndrt_randint_args ndrt_read_randint(const ndrt_kernel_call *call) {
    return (ndrt_randint_args){
        .out = call->data[0],
        .stream = call->data[1],
        .n = call->counts[0],
        .least = call->counts[1],
        .range = call->counts[2],
    };
}

/* Places by their probabilities in each row, in a dtype; `totals` has one number more than the
 * probabilities of each row; `logs`: their logarithms, in the data's kind. */
typedef struct {
    void *places;
    ndrt_random *stream;
    const void *data;
    double *totals;
    void *logs;
    int64_t rows;
    int64_t width;
    int64_t draws;
    int dtype;
    int kind;
} ndrt_multinomial_args;
static inline ndrt_multinomial_args ndrt_read_multinomial(const ndrt_kernel_call *call) {
    return (ndrt_multinomial_args){
        .places = call->data[0],
        .stream = call->data[1],
        .data = call->data[2],
        .totals = call->data[3],
        .logs = call->data[4],
        .rows = call->counts[0],
        .width = call->counts[1],
        .draws = call->counts[2],
        .dtype = ndrt_int_of(call->counts[3]),
        .kind = ndrt_int_of(call->counts[4]),
    };
}

/* Rows of `width` bytes in random order; scratch is 3 times 8 bytes a row, and 8. */
typedef struct {
    void *out;
    ndrt_random *stream;
    const void *data;
    void *scratch;
    int64_t rows;
    int64_t width;
} ndrt_shuffle_args;
static inline ndrt_shuffle_args ndrt_read_shuffle(const ndrt_kernel_call *call) {
    return (ndrt_shuffle_args){
        .out = call->data[0],
        .stream = call->data[1],
        .data = call->data[2],
        .scratch = call->data[3],
        .rows = call->counts[0],
        .width = call->counts[1],
    };
}

#endif
