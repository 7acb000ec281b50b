/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_CONV_H
#define NDRT_ARGS_CONV_H

#include "kernels/ndrt_kernel.h"

/* As whole_windows, with a filter for each of at least 16 channels, windows of up to
 * NDRT_WHOLE_PLACES places. Weights (y, x, channels), int8; scratch has
 * ndrt_whole_depthwise_scratch bytes. */
typedef struct {
    void *out; const void *data; const void *weights; void *scratch; const int32_t *bias;
    const float *shift; const float *scale; const float *scales; const void *added;
    const float *added_scale; int64_t images; int64_t channels; int64_t height; int64_t width;
    const int64_t *window; const int64_t *stride; const int64_t *dilate; const int64_t *pad;
    int64_t rows; int64_t columns; int is_signed; int kind; int added_kind; float first_slope;
    float first_low; float first_high; float last_slope; float last_low; float last_high;
    float zero; float out_zero;
} ndrt_whole_depthwise_args;
static inline ndrt_whole_depthwise_args ndrt_read_whole_depthwise(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_whole_depthwise_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .scratch = call->data[3], .bias = call->data[4], .shift = call->data[5],
        .scale = call->data[6], .scales = call->data[7], .added = call->data[8],
        .added_scale = call->data[9], .images = call->counts[0], .channels = call->counts[1],
        .height = call->counts[2], .width = call->counts[3], .window = &call->counts[4],
        .stride = &call->counts[6], .dilate = &call->counts[8], .pad = &call->counts[10],
        .rows = call->counts[12], .columns = call->counts[13],
        .is_signed = ndrt_int_of(call->counts[14]), .kind = ndrt_int_of(call->counts[15]),
        .added_kind = ndrt_int_of(call->counts[16]), .first_slope = (float)numbers[0],
        .first_low = (float)numbers[1], .first_high = (float)numbers[2],
        .last_slope = (float)numbers[3], .last_low = (float)numbers[4],
        .last_high = (float)numbers[5], .zero = (float)numbers[6], .out_zero = (float)numbers[7],
    };
}

/* A filter for each channel, windows of 3, strides of 1 or 2; all is channels-last, weights (for
 * each 16 channels: y x 16). */
typedef struct {
    float *out; const float *data; const float *weights; const float *bias; int64_t images;
    int64_t channels; int64_t height; int64_t width; int64_t filters; int window; int stride;
    int64_t pad_y; int64_t pad_x; float low; float high;
} ndrt_depthwise_args;
static inline ndrt_depthwise_args ndrt_read_depthwise(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_depthwise_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .bias = call->data[3], .images = call->counts[0], .channels = call->counts[1],
        .height = call->counts[2], .width = call->counts[3], .filters = call->counts[4],
        .window = ndrt_int_of(call->counts[5]), .stride = ndrt_int_of(call->counts[6]),
        .pad_y = call->counts[7], .pad_x = call->counts[8], .low = (float)numbers[0],
        .high = (float)numbers[1],
    };
}

/* Up to NDRT_FEW_CHANNELS_MOST channels, windows of up to NDRT_FEW_CHANNELS_WINDOW, strides of 1, 2
 * or 4; data is plain, out channels-last, weights (for each 16 filters: y x channels 16). */
typedef struct {
    float *out; const float *data; const float *weights; const float *bias; int64_t images;
    int64_t channels; int64_t height; int64_t width; int64_t filters; int window; int stride;
    int64_t pad_y; int64_t pad_x; float low; float high;
} ndrt_few_channels_args;
static inline ndrt_few_channels_args ndrt_read_few_channels(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_few_channels_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .bias = call->data[3], .images = call->counts[0], .channels = call->counts[1],
        .height = call->counts[2], .width = call->counts[3], .filters = call->counts[4],
        .window = ndrt_int_of(call->counts[5]), .stride = ndrt_int_of(call->counts[6]),
        .pad_y = call->counts[7], .pad_x = call->counts[8], .low = (float)numbers[0],
        .high = (float)numbers[1],
    };
}

/* Windows over channels-last images, plus bias plus `added` within bounds: out (images, rows,
 * columns, filters), weights (for each NDRT_PACKED_FILTERS filters: y x channels filters), padded.
 * */
typedef struct {
    float *out; const float *data; const float *weights; const float *bias; const float *added;
    int64_t images; int64_t channels; int64_t height; int64_t width; int64_t filters;
    const int64_t *window; const int64_t *stride; const int64_t *pad; int64_t rows; int64_t columns;
    float low; float high;
} ndrt_implicit_gemm_args;
static inline ndrt_implicit_gemm_args ndrt_read_implicit_gemm(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_implicit_gemm_args){
        .out = call->data[0], .data = call->data[1], .weights = call->data[2],
        .bias = call->data[3], .added = call->data[4], .images = call->counts[0],
        .channels = call->counts[1], .height = call->counts[2], .width = call->counts[3],
        .filters = call->counts[4], .window = &call->counts[5], .stride = &call->counts[7],
        .pad = &call->counts[9], .rows = call->counts[11], .columns = call->counts[12],
        .low = (float)numbers[0], .high = (float)numbers[1],
    };
}

/* Products of pixels (the expansion), windows of 3x3 over these, products of the pixels of that,
 * each within bounds; `slots`: threads that scratch has room for, each ndrt_separable_scratch
 * numbers. */
typedef struct {
    float *out; const float *data; float *scratch; const float *depthwise; const float *projection;
    const float *expansion; const float *expansion_bias; const float *depthwise_bias;
    const float *projection_bias; const float *added; int64_t images; int64_t channels;
    int64_t height; int64_t width; int64_t between; int64_t filters; int stride; int64_t pad_y;
    int64_t pad_x; int64_t expansion_width; int64_t projection_width; int slots;
    float expansion_low; float expansion_high; float depthwise_low; float depthwise_high; float low;
    float high;
} ndrt_separable_args;
static inline ndrt_separable_args ndrt_read_separable(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_separable_args){
        .out = call->data[0], .data = call->data[1], .scratch = call->data[2],
        .depthwise = call->data[3], .projection = call->data[4], .expansion = call->data[5],
        .expansion_bias = call->data[6], .depthwise_bias = call->data[7],
        .projection_bias = call->data[8], .added = call->data[9], .images = call->counts[0],
        .channels = call->counts[1], .height = call->counts[2], .width = call->counts[3],
        .between = call->counts[4], .filters = call->counts[5],
        .stride = ndrt_int_of(call->counts[6]), .pad_y = call->counts[7], .pad_x = call->counts[8],
        .expansion_width = call->counts[9], .projection_width = call->counts[10],
        .slots = ndrt_int_of(call->counts[11]), .expansion_low = (float)numbers[0],
        .expansion_high = (float)numbers[1], .depthwise_low = (float)numbers[2],
        .depthwise_high = (float)numbers[3], .low = (float)numbers[4], .high = (float)numbers[5],
    };
}

#endif
