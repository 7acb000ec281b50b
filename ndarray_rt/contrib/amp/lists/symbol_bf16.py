"""Operators by what mixed precision with bfloat16 does to them. Source: MXNet's symbol_bf16."""

from __future__ import annotations

from ....passes import amp_lists as common
from ....public import shows

__all__ = [
    "BF16_FP32_FUNCS", "BF16_FUNCS", "BF16_USE_FP32_PARAMS", "CONDITIONAL_FP32_FUNCS",
    "FP32_FUNCS", "LOSS_OUTPUT_FUNCTIONS", "WIDEST_TYPE_CASTS"]
__dir__ = shows(globals())

CONDITIONAL_FP32_FUNCS = common.CONDITIONAL_FP32_FUNCS
LOSS_OUTPUT_FUNCTIONS = common.LOSS_OUTPUT_FUNCTIONS

# inputs are cast to bfloat16
BF16_FUNCS = common.BF16_FUNCS
# inputs stay as they are
BF16_FP32_FUNCS = common.BF16_FP32_FUNCS
# inputs are cast to the widest of their dtypes
WIDEST_TYPE_CASTS = common.BF16_WIDEST_TYPE_CASTS
# inputs are cast to float32
FP32_FUNCS = common.BF16_OTHER_FUNCS
# operators with inputs that stay float32: "" stands for the one that does not
BF16_USE_FP32_PARAMS = common.BF16_USE_FP32_PARAMS
