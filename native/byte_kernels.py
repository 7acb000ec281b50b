"""The rows of kernels between numbers of 8 bits, int32 sums and floats: see kernel_table.py."""

from __future__ import annotations

from kernel_row import Kernel

BYTE_KERNELS: tuple[Kernel, ...] = (
    Kernel("product_range", "byte_ranges",
           ">low >high data_low data_high weight_low weight_high", "", "data_most weight_most",
           "What -2^31 and 2^31 stand for in sums of products of data and weights, of which these "
           "are the greatest numbers."),
    Kernel("product_scale", "byte_ranges", ">scale left_low left_high right_low right_high",
           "gives_floats:flag", "wanted",
           "What products of int8 of two ranges are multiplied by to stand for floats, or for "
           "floats times `wanted`."),
    Kernel("whole_bias", "byte_ranges",
           ">out:s32 bias:any data_low? data_high? weight_low? weight_high? bias_low? bias_high?",
           "n is_scaled:flag is_signed:flag",
           doc="An int8 bias as int32; scaled: in the steps of sums of products of int8 or uint8 "
           "data and int8 weights, cut off towards 0."),
    # Ends of ranges, and what numbers between such ranges are multiplied by: arrays of one element.
    Kernel("quantize_range", "byte_ranges", ">low >high >scale data_low data_high",
           "is_signed:flag", "most",
           "What makes numbers of 8 bits of floats in a range whose greatest becomes `most`, and "
           "their range: around 0 of int8."),
    Kernel("dequantize_step", "byte_ranges", ">step data_low data_high", "", "most",
           "What 1 stands for, where `most` is the greatest number of the range."),
    Kernel("requantize_range", "byte_ranges",
           ">low >high >scale data_low data_high least? greatest?", "is_signed:flag",
           "most wanted",
           "The same of int32 sums, whose range is what -2^31 and 2^31 stand for, and the range "
           "`wanted` or that from the least to the greatest sum."),
    Kernel("widen_range", "byte_ranges", "=low =high data_low data_high",
           doc="A range that takes in another one."),
    Kernel("rescale", "byte_ranges", ">scale data_low data_high low high", "",
           "data_most most", "What brings numbers of 8 bits from one range to another; 1 where "
           "both are the same."),
    Kernel("sum_scales", "byte_ranges",
           ">low >high >left_scale >right_scale left_low left_high right_low right_high",
           "is_calibrated:flag", "left_most right_most most calibrated_low calibrated_high",
           "What both terms of a sum are multiplied by, and its range: the calibrated one, or "
           "that of both together."),
    Kernel("norm_factors", "byte_ranges",
           ">factors >shifts gamma beta mean var data_low data_high", "n", "epsilon wanted",
           "What 8-bit numbers are multiplied by and what is added, for each of n channels, that "
           "normalizes them and brings them to a range whose greatest is `wanted`."),
    # Layers of floats on 8-bit data: weights and bias as whole numbers. 0 stands for a range of
    # nothing but 0.
    Kernel("added_scale", "byte_layers", ">scale low high", "is_signed:flag", "out_scale",
           "What int8 or uint8 in a range is multiplied by to be added to numbers that stand for "
           "floats times `out_scale`."),
    Kernel("product_factor", "byte_layers",
           ">scale left_low left_high right_low right_high",
           "left_signed:flag right_signed:flag", "wanted times",
           "What brings products of 8-bit numbers of two ranges to floats times `wanted` and "
           "`times`, in this order."),
    Kernel("layer_factors", "byte_layers", ">factors >shifts gamma? beta mean var bias?", "n",
           "epsilon", "What batch normalization behind a layer with or without a bias multiplies "
           "its weights by, for each of n channels, and the bias it makes."),
    Kernel("round_layer", "byte_layers",
           ">weight_out:any >bias_out:any? >scale? >range? weight factors? bias? data_low "
           "data_high added?", "rows width is_signed:flag from_zero:flag by_rows:flag kind:int",
           "out_scale growth added_growth",
           "Weights, times a factor of each row, as int8, and the bias in the steps of the sums, "
           "whole numbers of kind S32 or F32: with a scale of each row, such that the bias keeps "
           "away from the ends of int32, or with one. `scale` brings sums to floats times "
           "`out_scale`; with one scale, there is room for the bias times the growth and for "
           "floats up to `added` times theirs, and `range` is what -2^31 and 2^31 stand for, and "
           "what floats are multiplied by to be sums. uint8 data is refused with `from_zero` if "
           "its range begins below 0."),
    Kernel("dense_scales", "byte_layers",
           ">ratio >factor >scale data_low data_high weight_low weight_high bias_low? bias_high? "
           ">range?",
           "is_signed:flag", "out_scale growth",
           "Of int8 weights and bias: what both are multiplied by so that the bias is in the steps "
           "of the sums and, times the growth, keeps away from the ends of int32; `scale` and "
           "`range` as of round_layer."),
    Kernel("bend_sums", "byte_layers", ">out:s32 data:s32 steps added:any? low? high?",
           "n added_signed:flag?", "first_slope:f64 first_low:f64 first_high:f64 last_slope:f64 "
           "last_low:f64 last_high:f64",
           "What follows int32 sums, which stand for sums / steps: those below 0 times a slope, "
           "and bounds, of floats; then int8 or uint8 of a range is added, and the result bent "
           "again. In double, to the nearest int32; NaN becomes 0."),
    Kernel("round_away", "byte_layers", ">out:any data:any factor", "n kind:int",
           doc="int8 times the factor, to the nearest whole number, halves away from 0, as kind "
           "S8, S32, or F32 of such an int32."),
    Kernel("to_bytes", "bytes", ">out:any data:any scale?", "n kind:int is_signed:flag", "factor",
           "data, of kind F32, S32, S8 or U8, times the scale or else the factor, as int8 or "
           "uint8: to the nearest, halves to even, and to the ends. NaN becomes 127 or 0."),
    Kernel("join_bytes", "bytes", ">out:any data:any scale",
           "rows width columns first is_data_signed:flag is_signed:flag",
           doc="The same of rows of int8 or uint8, of which row r goes to the `columns` r of out, "
           "from the `first` one on."),
    Kernel("norm_bytes", "bytes", ">out:any data:any factors shifts",
           "outer channels inner is_signed:flag",
           doc="int8 or uint8, which is brought to int8 first, times the factor plus the shift of "
           "its channel, as int8 as in `to_bytes`."),
    Kernel("from_bytes", "bytes", ">out data:any step", "n is_signed:flag",
           doc="int8 or uint8 times the step."),
    Kernel("sum_bytes", "bytes", ">out:any left:any right:any left_scale right_scale scale?",
           "n left_signed:flag right_signed:flag kind:int rectify:flag?",
           doc="The sum of int8 or uint8 times its scale each, as kind S8, U8 or S32: rounded as "
           "in `to_bytes`, NaN becomes the greatest signed number. With a scale the sum is rounded "
           "to int32, and that times the scale to S8 or U8, with `rectify` 0 where it is below."),
    Kernel("multiply_bytes", "bytes", ">out:any left:any right:any scale?", "n kind:int",
           doc="Products of int8 as kind S32; times the scale as F32, or cut off towards 0 as S8, "
           "as in `to_bytes`."),
    Kernel("relu_bytes", "bytes", ">out:any data:any", "n", doc="int8, and 0 for what is below."),
    Kernel("extent", "bytes", ">least >greatest data:any", "n kind:int",
           doc="Of kind F32, where NaN is passed over, or S32; of none the ends of float32, or 0."),
    # of scales and zero points as ONNX has them
    Kernel("quantize_linear", "affine_bytes", ">out:any data", "n is_signed:flag", "scale zero",
           "int8 or uint8: floats by the scale, rounded, plus the zero point; 0 of NaN."),
    Kernel("dequantize_linear", "affine_bytes", ">out data:any", "n is_signed:flag", "scale zero",
           "int8 or uint8 less the zero point, times the scale."),
    Kernel("add_linear", "affine_bytes", ">out:any left:any right:any",
           "n left_signed:flag right_signed:flag is_signed:flag",
           "left_scale left_zero right_scale right_zero zero low high",
           "The sum of int8 or uint8, each less its zero point and times its scale, rounded, plus "
           "the zero point, within bounds."),
    Kernel("map_bytes", "affine_bytes", ">out:any data:any table:any", "n",
           doc="The byte of the table, which has 256, for each byte of data."),
)
