/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_GEMM_H
#define NDRT_ARGS_GEMM_H

#include "kernels/ndrt_kernel.h"

/* data times weights plus bias within bounds. Weights are blocks of `width` columns, of as many
 * features each time as a vector has lanes (16; 8 without AVX-512), the last ones padded. */
typedef struct {
    float *out; const float *data; const float *weights; const float *bias; int64_t rows;
    int64_t features; int64_t columns; int64_t width; float low; float high;
} ndrt_skinny_gemm_args;
static inline ndrt_skinny_gemm_args ndrt_read_skinny_gemm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_skinny_gemm_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .bias = call->data[3], .rows = call->counts[0], .features = call->counts[1],
        .columns = call->counts[2], .width = call->counts[3], .low = (float)numbers[0],
        .high = (float)numbers[1],
    };
}

/* Windows over channels-last images of 8-bit numbers: out (images, rows, columns, filters) of kind
 * S32, which are the sums with the bias, or F32, S8 or U8, as in `to_bytes`, plus `out_zero`.
 * `zero` is the number of data that stands for 0. Weights as of `pack_whole`; scratch has
 * ndrt_whole_scratch bytes for each of `slots` threads. */
typedef struct {
    void *out; const void *data; const void *weights; void *scratch; const int32_t *bias;
    const float *shift; const float *scale; const float *scales; const void *added;
    const float *added_scale; int64_t images; int64_t channels; int64_t height; int64_t width;
    int64_t filters; const int64_t *window; const int64_t *stride; const int64_t *dilate;
    const int64_t *pad; int64_t rows; int64_t columns; int64_t groups; int is_signed; int slots;
    int kind; int added_kind; float first_slope; float first_low; float first_high;
    float last_slope; float last_low; float last_high; float zero; float out_zero;
} ndrt_whole_windows_args;
static inline ndrt_whole_windows_args ndrt_read_whole_windows(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_whole_windows_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .scratch = call->data[3], .bias = call->data[4], .shift = call->data[5],
        .scale = call->data[6], .scales = call->data[7], .added = call->data[8],
        .added_scale = call->data[9], .images = call->counts[0], .channels = call->counts[1],
        .height = call->counts[2], .width = call->counts[3], .filters = call->counts[4],
        .window = &call->counts[5], .stride = &call->counts[7], .dilate = &call->counts[9],
        .pad = &call->counts[11], .rows = call->counts[13], .columns = call->counts[14],
        .groups = call->counts[15], .is_signed = ndrt_int_of(call->counts[16]),
        .slots = ndrt_int_of(call->counts[17]), .kind = ndrt_int_of(call->counts[18]),
        .added_kind = ndrt_int_of(call->counts[19]), .first_slope = (float)numbers[0],
        .first_low = (float)numbers[1], .first_high = (float)numbers[2],
        .last_slope = (float)numbers[3], .last_low = (float)numbers[4],
        .last_high = (float)numbers[5], .zero = (float)numbers[6], .out_zero = (float)numbers[7],
    };
}

/* int8 weights (filters, channels of a group, y, x) as `whole_windows` reads them, in
 * ndrt_whole_packed bytes: see ndrt_whole_layout.h. */
typedef struct {
    void *out; const void *data; int64_t filters; int64_t channels; const int64_t *window;
    int64_t groups;
} ndrt_pack_whole_args;
static inline ndrt_pack_whole_args ndrt_read_pack_whole(const ndrt_kernel_call *call) {
    return (ndrt_pack_whole_args){
        .out = call->data[0], .data = call->data[1], .filters = call->counts[0],
        .channels = call->counts[1], .window = &call->counts[2], .groups = call->counts[4],
    };
}

/* Products of matrices, left (rows, depth) and right (depth, columns) of int8 or uint8, as kind
 * S32, times a factor of at most 1, or F32 or S8 times the scale, as in `to_bytes`. Matrices and
 * their rows lie that far apart, columns of left and out side by side, and so do columns or rows of
 * right. Depth is at most NDRT_BYTE_PRODUCTS_MOST; scratch has ndrt_byte_products_scratch bytes for
 * each of `slots` threads. */
typedef struct {
    void *out; const void *left; const void *right; void *scratch; const float *scale;
    int64_t batches; int64_t rows; int64_t columns; int64_t depth; int64_t left_batch;
    int64_t left_row; int64_t right_batch; int64_t right_row; int64_t right_column;
    int64_t out_batch; int64_t out_row; int left_signed; int right_signed; int kind; int slots;
    float factor;
} ndrt_byte_products_args;
static inline ndrt_byte_products_args ndrt_read_byte_products(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_byte_products_args){
        .out = call->data[0], .left = call->data[1], .right = call->data[2],
        .scratch = call->data[3], .scale = call->data[4], .batches = call->counts[0],
        .rows = call->counts[1], .columns = call->counts[2], .depth = call->counts[3],
        .left_batch = call->counts[4], .left_row = call->counts[5], .right_batch = call->counts[6],
        .right_row = call->counts[7], .right_column = call->counts[8], .out_batch = call->counts[9],
        .out_row = call->counts[10], .left_signed = ndrt_int_of(call->counts[11]),
        .right_signed = ndrt_int_of(call->counts[12]), .kind = ndrt_int_of(call->counts[13]),
        .slots = ndrt_int_of(call->counts[14]), .factor = (float)numbers[0],
    };
}

/* Rows of floats times 8-bit weights, rounded to 8 bits when they come: int8 around 0, or uint8
 * from the least number to the greatest; each in its own range, or all in one. out (rows, columns)
 * is the int32 sums times both scales, plus bias. Weights (for each NDRT_WHOLE_BLOCK columns: for
 * each 2 features: columns 2), padded with zeros, scales (columns,); scratch has 3 floats for each
 * row, and then its features in 16 bits, padded to an even number. Rows with numbers that are not
 * finite give NaN. */
typedef struct {
    float *out; const float *data; const void *weights; const float *scales; void *scratch;
    const float *bias; int64_t rows; int64_t features; int64_t columns; int is_signed;
    int per_tensor;
} ndrt_dynamic_dense_args;
static inline ndrt_dynamic_dense_args ndrt_read_dynamic_dense(const ndrt_kernel_call *call) {
    return (ndrt_dynamic_dense_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .scales = call->data[3], .scratch = call->data[4], .bias = call->data[5],
        .rows = call->counts[0], .features = call->counts[1], .columns = call->counts[2],
        .is_signed = ndrt_int_of(call->counts[3]), .per_tensor = ndrt_int_of(call->counts[4]),
    };
}

/* data times weights plus bias plus `added` within bounds; weights as of skinny_gemm, in blocks of
 * so many columns or a multiple of them. Rows have `groups` of features and columns (from 2 on
 * features of weights are not padded); data is read as its channels shuffled from `shuffled` groups
 * (1: as it is). */
typedef struct {
    float *out; const float *data; const float *weights; const float *bias; const float *added;
    int64_t rows; int64_t features; int64_t columns; int64_t width; int64_t groups;
    int64_t shuffled; float low; float high;
} ndrt_packed_gemm_args;
static inline ndrt_packed_gemm_args ndrt_read_packed_gemm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_packed_gemm_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .bias = call->data[3], .added = call->data[4], .rows = call->counts[0],
        .features = call->counts[1], .columns = call->counts[2], .width = call->counts[3],
        .groups = call->counts[4], .shuffled = call->counts[5], .low = (float)numbers[0],
        .high = (float)numbers[1],
    };
}

/* alpha times the products of a and b, plus bias of each column, plus beta times `added`, within
 * bounds. Steps are elements between products in both directions, rows and columns; columns of the
 * result are neighbours, and `added` lies as it does. scratch has ndrt_blocked_scratch numbers for
 * `slots` threads. */
typedef struct {
    void *out; const void *a; const void *b; void *scratch; const void *bias; const void *added;
    const int64_t *products; int64_t rows; int64_t depth; int64_t columns; const int64_t *a_steps;
    const int64_t *b_steps; const int64_t *out_steps; int kind; int slots; double alpha;
    double beta; double low; double high;
} ndrt_blocked_gemm_args;
static inline ndrt_blocked_gemm_args ndrt_read_blocked_gemm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_blocked_gemm_args){
        .out = call->data[0], .a = call->data[1], .b = call->data[2], .scratch = call->data[3],
        .bias = call->data[4], .added = call->data[5], .products = &call->counts[0],
        .rows = call->counts[2], .depth = call->counts[3], .columns = call->counts[4],
        .a_steps = &call->counts[5], .b_steps = &call->counts[9], .out_steps = &call->counts[13],
        .kind = ndrt_int_of(call->counts[16]), .slots = ndrt_int_of(call->counts[17]),
        .alpha = numbers[0], .beta = numbers[1], .low = numbers[2], .high = numbers[3],
    };
}

/* Windows over images (images, groups, channels, size) plus bias of each filter, within bounds: out
 * (images, groups, filters, out_size), weights (groups, filters, channels, window). scratch as of
 * blocked_gemm for these filters, numbers of a window and places of an image. */
typedef struct {
    void *out; const void *data; const void *weights; void *scratch; const void *bias;
    int64_t images; int64_t groups; int64_t channels; int64_t filters; const int64_t *size;
    const int64_t *window; const int64_t *stride; const int64_t *dilate; const int64_t *pad;
    const int64_t *out_size; int kind; int slots; double low; double high;
} ndrt_blocked_windows_args;
static inline ndrt_blocked_windows_args ndrt_read_blocked_windows(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_blocked_windows_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .scratch = call->data[3], .bias = call->data[4], .images = call->counts[0],
        .groups = call->counts[1], .channels = call->counts[2], .filters = call->counts[3],
        .size = &call->counts[4], .window = &call->counts[6], .stride = &call->counts[8],
        .dilate = &call->counts[10], .pad = &call->counts[12], .out_size = &call->counts[14],
        .kind = ndrt_int_of(call->counts[16]), .slots = ndrt_int_of(call->counts[17]),
        .low = numbers[0], .high = numbers[1],
    };
}

#endif
