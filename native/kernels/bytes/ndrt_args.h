/* What the kernels of this folder are given. Written by `make docs` from native/kernel_table.py. */
/* clang-format off */
#ifndef NDRT_ARGS_BYTES_H
#define NDRT_ARGS_BYTES_H

#include "kernels/ndrt_kernel.h"

/* What -2^31 and 2^31 stand for in sums of products of data and weights, of which these are the
 * greatest numbers. */
typedef struct {
    float *low; float *high; const float *data_low; const float *data_high; const float *weight_low;
    const float *weight_high; float data_most; float weight_most;
} ndrt_product_range_args;
static inline ndrt_product_range_args ndrt_read_product_range(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_product_range_args){
        .low = call->data[0], .high = call->data[1], .data_low = call->data[2],
        .data_high = call->data[3], .weight_low = call->data[4], .weight_high = call->data[5],
        .data_most = (float)numbers[0], .weight_most = (float)numbers[1],
    };
}

/* What products of int8 of two ranges are multiplied by to stand for floats, or for floats times
 * `wanted`. */
typedef struct {
    float *scale; const float *left_low; const float *left_high; const float *right_low;
    const float *right_high; int gives_floats; float wanted;
} ndrt_product_scale_args;
static inline ndrt_product_scale_args ndrt_read_product_scale(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_product_scale_args){
        .scale = call->data[0], .left_low = call->data[1], .left_high = call->data[2],
        .right_low = call->data[3], .right_high = call->data[4],
        .gives_floats = ndrt_int_of(call->counts[0]), .wanted = (float)numbers[0],
    };
}

/* An int8 bias as int32; scaled: in the steps of sums of products of int8 or uint8 data and int8
 * weights, cut off towards 0. */
typedef struct {
    int32_t *out; const void *bias; const float *data_low; const float *data_high;
    const float *weight_low; const float *weight_high; const float *bias_low;
    const float *bias_high; int64_t n; int is_scaled; int is_signed;
} ndrt_whole_bias_args;
static inline ndrt_whole_bias_args ndrt_read_whole_bias(const ndrt_kernel_call *call) {
    return (ndrt_whole_bias_args){
        .out = call->data[0], .bias = call->data[1], .data_low = call->data[2],
        .data_high = call->data[3], .weight_low = call->data[4], .weight_high = call->data[5],
        .bias_low = call->data[6], .bias_high = call->data[7], .n = call->counts[0],
        .is_scaled = ndrt_int_of(call->counts[1]), .is_signed = ndrt_int_of(call->counts[2]),
    };
}

/* What makes numbers of 8 bits of floats in a range whose greatest becomes `most`, and their range:
 * around 0 of int8. */
typedef struct {
    float *low; float *high; float *scale; const float *data_low; const float *data_high;
    int is_signed; float most;
} ndrt_quantize_range_args;
static inline ndrt_quantize_range_args ndrt_read_quantize_range(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_quantize_range_args){
        .low = call->data[0], .high = call->data[1], .scale = call->data[2],
        .data_low = call->data[3], .data_high = call->data[4],
        .is_signed = ndrt_int_of(call->counts[0]), .most = (float)numbers[0],
    };
}

/* What 1 stands for, where `most` is the greatest number of the range. */
typedef struct {
    float *step; const float *data_low; const float *data_high; float most;
} ndrt_dequantize_step_args;
static inline ndrt_dequantize_step_args ndrt_read_dequantize_step(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_dequantize_step_args){
        .step = call->data[0], .data_low = call->data[1], .data_high = call->data[2],
        .most = (float)numbers[0],
    };
}

/* The same of int32 sums, whose range is what -2^31 and 2^31 stand for, and the range `wanted` or
 * that from the least to the greatest sum. */
typedef struct {
    float *low; float *high; float *scale; const float *data_low; const float *data_high;
    const float *least; const float *greatest; int is_signed; float most; float wanted;
} ndrt_requantize_range_args;
static inline ndrt_requantize_range_args ndrt_read_requantize_range(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_requantize_range_args){
        .low = call->data[0], .high = call->data[1], .scale = call->data[2],
        .data_low = call->data[3], .data_high = call->data[4], .least = call->data[5],
        .greatest = call->data[6], .is_signed = ndrt_int_of(call->counts[0]),
        .most = (float)numbers[0], .wanted = (float)numbers[1],
    };
}

/* A range that takes in another one. */
typedef struct {
    float *low; float *high; const float *data_low; const float *data_high;
} ndrt_widen_range_args;
static inline ndrt_widen_range_args ndrt_read_widen_range(const ndrt_kernel_call *call) {
    return (ndrt_widen_range_args){
        .low = call->data[0], .high = call->data[1], .data_low = call->data[2],
        .data_high = call->data[3],
    };
}

/* What brings numbers of 8 bits from one range to another; 1 where both are the same. */
typedef struct {
    float *scale; const float *data_low; const float *data_high; const float *low;
    const float *high; float data_most; float most;
} ndrt_rescale_args;
static inline ndrt_rescale_args ndrt_read_rescale(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_rescale_args){
        .scale = call->data[0], .data_low = call->data[1], .data_high = call->data[2],
        .low = call->data[3], .high = call->data[4], .data_most = (float)numbers[0],
        .most = (float)numbers[1],
    };
}

/* What both terms of a sum are multiplied by, and its range: the calibrated one, or that of both
 * together. */
typedef struct {
    float *low; float *high; float *left_scale; float *right_scale; const float *left_low;
    const float *left_high; const float *right_low; const float *right_high; int is_calibrated;
    float left_most; float right_most; float most; float calibrated_low; float calibrated_high;
} ndrt_sum_scales_args;
static inline ndrt_sum_scales_args ndrt_read_sum_scales(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_sum_scales_args){
        .low = call->data[0], .high = call->data[1], .left_scale = call->data[2],
        .right_scale = call->data[3], .left_low = call->data[4], .left_high = call->data[5],
        .right_low = call->data[6], .right_high = call->data[7],
        .is_calibrated = ndrt_int_of(call->counts[0]), .left_most = (float)numbers[0],
        .right_most = (float)numbers[1], .most = (float)numbers[2],
        .calibrated_low = (float)numbers[3], .calibrated_high = (float)numbers[4],
    };
}

/* What 8-bit numbers are multiplied by and what is added, for each of n channels, that normalizes
 * them and brings them to a range whose greatest is `wanted`. */
typedef struct {
    float *factors; float *shifts; const float *gamma; const float *beta; const float *mean;
    const float *var; const float *data_low; const float *data_high; int64_t n; float epsilon;
    float wanted;
} ndrt_norm_factors_args;
static inline ndrt_norm_factors_args ndrt_read_norm_factors(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_norm_factors_args){
        .factors = call->data[0], .shifts = call->data[1], .gamma = call->data[2],
        .beta = call->data[3], .mean = call->data[4], .var = call->data[5],
        .data_low = call->data[6], .data_high = call->data[7], .n = call->counts[0],
        .epsilon = (float)numbers[0], .wanted = (float)numbers[1],
    };
}

/* What int8 or uint8 in a range is multiplied by to be added to numbers that stand for floats times
 * `out_scale`. */
typedef struct {
    float *scale; const float *low; const float *high; int is_signed; float out_scale;
} ndrt_added_scale_args;
static inline ndrt_added_scale_args ndrt_read_added_scale(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_added_scale_args){
        .scale = call->data[0], .low = call->data[1], .high = call->data[2],
        .is_signed = ndrt_int_of(call->counts[0]), .out_scale = (float)numbers[0],
    };
}

/* What brings products of 8-bit numbers of two ranges to floats times `wanted` and `times`, in this
 * order. */
typedef struct {
    float *scale; const float *left_low; const float *left_high; const float *right_low;
    const float *right_high; int left_signed; int right_signed; float wanted; float times;
} ndrt_product_factor_args;
static inline ndrt_product_factor_args ndrt_read_product_factor(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_product_factor_args){
        .scale = call->data[0], .left_low = call->data[1], .left_high = call->data[2],
        .right_low = call->data[3], .right_high = call->data[4],
        .left_signed = ndrt_int_of(call->counts[0]), .right_signed = ndrt_int_of(call->counts[1]),
        .wanted = (float)numbers[0], .times = (float)numbers[1],
    };
}

/* What batch normalization behind a layer with or without a bias multiplies its weights by, for
 * each of n channels, and the bias it makes. */
typedef struct {
    float *factors; float *shifts; const float *gamma; const float *beta; const float *mean;
    const float *var; const float *bias; int64_t n; float epsilon;
} ndrt_layer_factors_args;
static inline ndrt_layer_factors_args ndrt_read_layer_factors(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_layer_factors_args){
        .factors = call->data[0], .shifts = call->data[1], .gamma = call->data[2],
        .beta = call->data[3], .mean = call->data[4], .var = call->data[5], .bias = call->data[6],
        .n = call->counts[0], .epsilon = (float)numbers[0],
    };
}

/* Weights, times a factor of each row, as int8, and the bias in the steps of the sums, whole
 * numbers of kind S32 or F32: with a scale of each row, such that the bias keeps away from the ends
 * of int32, or with one. `scale` brings sums to floats times `out_scale`; with one scale, there is
 * room for the bias times the growth and for floats up to `added` times theirs, and `range` is what
 * -2^31 and 2^31 stand for, and what floats are multiplied by to be sums. uint8 data is refused
 * with `from_zero` if its range begins below 0. */
typedef struct {
    void *weight_out; void *bias_out; float *scale; float *range; const float *weight;
    const float *factors; const float *bias; const float *data_low; const float *data_high;
    const float *added; int64_t rows; int64_t width; int is_signed; int from_zero; int by_rows;
    int kind; float out_scale; float growth; float added_growth;
} ndrt_round_layer_args;
static inline ndrt_round_layer_args ndrt_read_round_layer(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_round_layer_args){
        .weight_out = call->data[0], .bias_out = call->data[1], .scale = call->data[2],
        .range = call->data[3], .weight = call->data[4], .factors = call->data[5],
        .bias = call->data[6], .data_low = call->data[7], .data_high = call->data[8],
        .added = call->data[9], .rows = call->counts[0], .width = call->counts[1],
        .is_signed = ndrt_int_of(call->counts[2]), .from_zero = ndrt_int_of(call->counts[3]),
        .by_rows = ndrt_int_of(call->counts[4]), .kind = ndrt_int_of(call->counts[5]),
        .out_scale = (float)numbers[0], .growth = (float)numbers[1],
        .added_growth = (float)numbers[2],
    };
}

/* Of int8 weights and bias: what both are multiplied by so that the bias is in the steps of the
 * sums and, times the growth, keeps away from the ends of int32; `scale` and `range` as of
 * round_layer. */
typedef struct {
    float *ratio; float *factor; float *scale; const float *data_low; const float *data_high;
    const float *weight_low; const float *weight_high; const float *bias_low;
    const float *bias_high; float *range; int is_signed; float out_scale; float growth;
} ndrt_dense_scales_args;
static inline ndrt_dense_scales_args ndrt_read_dense_scales(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_dense_scales_args){
        .ratio = call->data[0], .factor = call->data[1], .scale = call->data[2],
        .data_low = call->data[3], .data_high = call->data[4], .weight_low = call->data[5],
        .weight_high = call->data[6], .bias_low = call->data[7], .bias_high = call->data[8],
        .range = call->data[9], .is_signed = ndrt_int_of(call->counts[0]),
        .out_scale = (float)numbers[0], .growth = (float)numbers[1],
    };
}

/* What follows int32 sums, which stand for sums / steps: those below 0 times a slope, and bounds,
 * of floats; then int8 or uint8 of a range is added, and the result bent again. In double, to the
 * nearest int32; NaN becomes 0. */
typedef struct {
    int32_t *out; const int32_t *data; const float *steps; const void *added; const float *low;
    const float *high; int64_t n; int added_signed; double first_slope; double first_low;
    double first_high; double last_slope; double last_low; double last_high;
} ndrt_bend_sums_args;
static inline ndrt_bend_sums_args ndrt_read_bend_sums(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_bend_sums_args){
        .out = call->data[0], .data = call->data[1], .steps = call->data[2], .added = call->data[3],
        .low = call->data[4], .high = call->data[5], .n = call->counts[0],
        .added_signed = ndrt_int_of(call->counts[1]), .first_slope = numbers[0],
        .first_low = numbers[1], .first_high = numbers[2], .last_slope = numbers[3],
        .last_low = numbers[4], .last_high = numbers[5],
    };
}

/* int8 times the factor, to the nearest whole number, halves away from 0, as kind S8, S32, or F32
 * of such an int32. */
typedef struct {
    void *out; const void *data; const float *factor; int64_t n; int kind;
} ndrt_round_away_args;
static inline ndrt_round_away_args ndrt_read_round_away(const ndrt_kernel_call *call) {
    return (ndrt_round_away_args){
        .out = call->data[0], .data = call->data[1], .factor = call->data[2], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]),
    };
}

/* data, of kind F32, S32, S8 or U8, times the scale or else the factor, as int8 or uint8: to the
 * nearest, halves to even, and to the ends. NaN becomes 127 or 0. */
typedef struct {
    void *out; const void *data; const float *scale; int64_t n; int kind; int is_signed;
    float factor;
} ndrt_to_bytes_args;
static inline ndrt_to_bytes_args ndrt_read_to_bytes(const ndrt_kernel_call *call) {
    const double *numbers = call->parameters ? call->parameters : call->numbers;
    return (ndrt_to_bytes_args){
        .out = call->data[0], .data = call->data[1], .scale = call->data[2], .n = call->counts[0],
        .kind = ndrt_int_of(call->counts[1]), .is_signed = ndrt_int_of(call->counts[2]),
        .factor = (float)numbers[0],
    };
}

/* The same of rows of int8 or uint8, of which row r goes to the `columns` r of out, from the
 * `first` one on. */
typedef struct {
    void *out; const void *data; const float *scale; int64_t rows; int64_t width; int64_t columns;
    int64_t first; int is_data_signed; int is_signed;
} ndrt_join_bytes_args;
static inline ndrt_join_bytes_args ndrt_read_join_bytes(const ndrt_kernel_call *call) {
    return (ndrt_join_bytes_args){
        .out = call->data[0], .data = call->data[1], .scale = call->data[2],
        .rows = call->counts[0], .width = call->counts[1], .columns = call->counts[2],
        .first = call->counts[3], .is_data_signed = ndrt_int_of(call->counts[4]),
        .is_signed = ndrt_int_of(call->counts[5]),
    };
}

/* int8 or uint8, which is brought to int8 first, times the factor plus the shift of its channel, as
 * int8 as in `to_bytes`. */
typedef struct {
    void *out; const void *data; const float *factors; const float *shifts; int64_t outer;
    int64_t channels; int64_t inner; int is_signed;
} ndrt_norm_bytes_args;
static inline ndrt_norm_bytes_args ndrt_read_norm_bytes(const ndrt_kernel_call *call) {
    return (ndrt_norm_bytes_args){
        .out = call->data[0], .data = call->data[1], .factors = call->data[2],
        .shifts = call->data[3], .outer = call->counts[0], .channels = call->counts[1],
        .inner = call->counts[2], .is_signed = ndrt_int_of(call->counts[3]),
    };
}

/* int8 or uint8 times the step. */
typedef struct {
    float *out; const void *data; const float *step; int64_t n; int is_signed;
} ndrt_from_bytes_args;
static inline ndrt_from_bytes_args ndrt_read_from_bytes(const ndrt_kernel_call *call) {
    return (ndrt_from_bytes_args){
        .out = call->data[0], .data = call->data[1], .step = call->data[2], .n = call->counts[0],
        .is_signed = ndrt_int_of(call->counts[1]),
    };
}

/* The sum of int8 or uint8 times its scale each, as kind S8, U8 or S32: rounded as in `to_bytes`,
 * NaN becomes the greatest signed number. With a scale the sum is rounded to int32, and that times
 * the scale to S8 or U8, with `rectify` 0 where it is below. */
typedef struct {
    void *out; const void *left; const void *right; const float *left_scale;
    const float *right_scale; const float *scale; int64_t n; int left_signed; int right_signed;
    int kind; int rectify;
} ndrt_sum_bytes_args;
static inline ndrt_sum_bytes_args ndrt_read_sum_bytes(const ndrt_kernel_call *call) {
    return (ndrt_sum_bytes_args){
        .out = call->data[0], .left = call->data[1], .right = call->data[2],
        .left_scale = call->data[3], .right_scale = call->data[4], .scale = call->data[5],
        .n = call->counts[0], .left_signed = ndrt_int_of(call->counts[1]),
        .right_signed = ndrt_int_of(call->counts[2]), .kind = ndrt_int_of(call->counts[3]),
        .rectify = ndrt_int_of(call->counts[4]),
    };
}

/* Products of int8 as kind S32; times the scale as F32, or cut off towards 0 as S8, as in
 * `to_bytes`. */
typedef struct {
    void *out; const void *left; const void *right; const float *scale; int64_t n; int kind;
} ndrt_multiply_bytes_args;
static inline ndrt_multiply_bytes_args ndrt_read_multiply_bytes(const ndrt_kernel_call *call) {
    return (ndrt_multiply_bytes_args){
        .out = call->data[0], .left = call->data[1], .right = call->data[2], .scale = call->data[3],
        .n = call->counts[0], .kind = ndrt_int_of(call->counts[1]),
    };
}

/* int8, and 0 for what is below. */
typedef struct {
    void *out; const void *data; int64_t n;
} ndrt_relu_bytes_args;
static inline ndrt_relu_bytes_args ndrt_read_relu_bytes(const ndrt_kernel_call *call) {
    return (ndrt_relu_bytes_args){
        .out = call->data[0], .data = call->data[1], .n = call->counts[0],
    };
}

/* Of kind F32, where NaN is passed over, or S32; of none the ends of float32, or 0. */
typedef struct {
    float *least; float *greatest; const void *data; int64_t n; int kind;
} ndrt_extent_args;
static inline ndrt_extent_args ndrt_read_extent(const ndrt_kernel_call *call) {
    return (ndrt_extent_args){
        .least = call->data[0], .greatest = call->data[1], .data = call->data[2],
        .n = call->counts[0], .kind = ndrt_int_of(call->counts[1]),
    };
}

#endif
