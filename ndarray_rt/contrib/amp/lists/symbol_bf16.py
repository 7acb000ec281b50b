"""Operators by what mixed precision with bfloat16 does to them. Source: MXNet's symbol_bf16."""

from __future__ import annotations

from ....public import shows
from . import common

__all__ = [
    "BF16_FP32_FUNCS", "BF16_FUNCS", "BF16_USE_FP32_PARAMS", "CONDITIONAL_FP32_FUNCS",
    "FP32_FUNCS", "LOSS_OUTPUT_FUNCTIONS", "WIDEST_TYPE_CASTS"]
__dir__ = shows(globals())

CONDITIONAL_FP32_FUNCS = common.CONDITIONAL_FP32_FUNCS
LOSS_OUTPUT_FUNCTIONS = common.LOSS_OUTPUT_FUNCTIONS

# inputs are cast to bfloat16
BF16_FUNCS = ["Convolution", "FullyConnected"]
# inputs stay as they are
BF16_FP32_FUNCS = common.registered([
    "abs", "_add", "BatchNorm", "BatchNormWithReLU", "clip", "Concat", "concat", "LRN", "Pooling",
    "relu", "shuffle", "_shuffle", "sqrt", "square", "tanh"])
# inputs are cast to the widest of their dtypes
WIDEST_TYPE_CASTS = common.registered([
    *common.WIDEST_TYPE_CASTS, "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget"])
# inputs are cast to float32
FP32_FUNCS = common.all_others(BF16_FUNCS, BF16_FP32_FUNCS, WIDEST_TYPE_CASTS,
                               (name for name, _, _ in CONDITIONAL_FP32_FUNCS))
# operators with inputs that stay float32: "" stands for the one that does not
BF16_USE_FP32_PARAMS = {name: ["", "gamma", "beta", "moving_mean", "moving_var"]
                        for name in ("BatchNormWithReLU", "BatchNorm")}
