/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_RANDOM_H
#define NDRT_ARGS_RANDOM_H

#include "kernels/ndrt_kernel.h"

/* The words of a stream. */
typedef struct {
    uint32_t *out; int64_t n; int64_t key; int64_t counter;
} ndrt_philox_args;
static inline ndrt_philox_args ndrt_read_philox(const ndrt_kernel_call *call) {
    return (ndrt_philox_args){
        .out = call->data[0], .n = call->counts[0], .key = call->counts[1],
        .counter = call->counts[2],
    };
}

/* `factor` where a word of 24 bits is below `bound`, else 0. */
typedef struct {
    float *out; ndrt_random *stream; int64_t n; float bound; float factor;
} ndrt_dropout_mask_args;
static inline ndrt_dropout_mask_args ndrt_read_dropout_mask(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_dropout_mask_args){
        .out = call->data[0], .stream = call->data[1], .n = call->counts[0],
        .bound = (float)numbers[0], .factor = (float)numbers[1],
    };
}

/* That as a mask, and data times it. */
typedef struct {
    float *out; ndrt_random *stream; float *mask; const float *data; int64_t n; float bound;
    float factor;
} ndrt_dropout_args;
static inline ndrt_dropout_args ndrt_read_dropout(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_dropout_args){
        .out = call->data[0], .stream = call->data[1], .mask = call->data[2], .data = call->data[3],
        .n = call->counts[0], .bound = (float)numbers[0], .factor = (float)numbers[1],
    };
}

/* low + width u, at most `limit`. */
typedef struct {
    float *out; ndrt_random *stream; int64_t n; double low; double width; float limit;
} ndrt_uniform_args;
static inline ndrt_uniform_args ndrt_read_uniform(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_uniform_args){
        .out = call->data[0], .stream = call->data[1], .n = call->counts[0], .low = numbers[0],
        .width = numbers[1], .limit = (float)numbers[2],
    };
}

/* loc + scale z. */
typedef struct {
    float *out; ndrt_random *stream; int64_t n; double loc; double scale;
} ndrt_normal_args;
static inline ndrt_normal_args ndrt_read_normal(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_normal_args){
        .out = call->data[0], .stream = call->data[1], .n = call->counts[0], .loc = numbers[0],
        .scale = numbers[1],
    };
}

/* Numbers of an ndrt_distribution in dtype F16, F32 or F64; its parameters are `a` and `b` with
 * `each` 0, else arrays of that kind, of which each element makes `each`. */
typedef struct {
    void *out; ndrt_random *stream; const void *first; const void *second; int64_t n;
    int distribution; int64_t each; int dtype; int kind; double a; double b;
} ndrt_draw_args;
static inline ndrt_draw_args ndrt_read_draw(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_draw_args){
        .out = call->data[0], .stream = call->data[1], .first = call->data[2],
        .second = call->data[3], .n = call->counts[0], .distribution = ndrt_int_of(call->counts[1]),
        .each = call->counts[2], .dtype = ndrt_int_of(call->counts[3]),
        .kind = ndrt_int_of(call->counts[4]), .a = numbers[0], .b = numbers[1],
    };
}

/* Whole numbers from `least` on; `range`: how many there are, as 64 bits. */
typedef struct {
    int32_t *out; ndrt_random *stream; int64_t n; int64_t least; int64_t range;
} ndrt_randint_args;
static inline ndrt_randint_args ndrt_read_randint(const ndrt_kernel_call *call) {
    return (ndrt_randint_args){
        .out = call->data[0], .stream = call->data[1], .n = call->counts[0],
        .least = call->counts[1], .range = call->counts[2],
    };
}

/* Places by their probabilities in each row, in a dtype; `totals` has one number more than the
 * probabilities of each row; `logs`: their logarithms, in the data's kind. */
typedef struct {
    void *places; ndrt_random *stream; const void *data; double *totals; void *logs; int64_t rows;
    int64_t width; int64_t draws; int dtype; int kind;
} ndrt_multinomial_args;
static inline ndrt_multinomial_args ndrt_read_multinomial(const ndrt_kernel_call *call) {
    return (ndrt_multinomial_args){
        .places = call->data[0], .stream = call->data[1], .data = call->data[2],
        .totals = call->data[3], .logs = call->data[4], .rows = call->counts[0],
        .width = call->counts[1], .draws = call->counts[2], .dtype = ndrt_int_of(call->counts[3]),
        .kind = ndrt_int_of(call->counts[4]),
    };
}

/* Rows of `width` bytes in random order; scratch is 3 times 8 bytes a row, and 8. */
typedef struct {
    void *out; ndrt_random *stream; const void *data; void *scratch; int64_t rows; int64_t width;
} ndrt_shuffle_args;
static inline ndrt_shuffle_args ndrt_read_shuffle(const ndrt_kernel_call *call) {
    return (ndrt_shuffle_args){
        .out = call->data[0], .stream = call->data[1], .data = call->data[2],
        .scratch = call->data[3], .rows = call->counts[0], .width = call->counts[1],
    };
}

#endif
