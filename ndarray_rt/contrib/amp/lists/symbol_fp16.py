"""Operators by what mixed precision with float16 does to them. Source: MXNet's symbol_fp16."""

from __future__ import annotations

from ....passes import amp_lists as common
from ....public import shows

__all__ = [
    "CONDITIONAL_FP32_FUNCS", "FP16_FP32_FUNCS", "FP16_FUNCS", "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS", "WIDEST_TYPE_CASTS"]
__dir__ = shows(globals())

CONDITIONAL_FP32_FUNCS = common.CONDITIONAL_FP32_FUNCS
LOSS_OUTPUT_FUNCTIONS = common.LOSS_OUTPUT_FUNCTIONS

# inputs are cast to float16
FP16_FUNCS = ["Convolution", "Deconvolution", "FullyConnected", "RNN"]
# inputs are cast to float32
FP32_FUNCS = common.registered([
    *common.UNSAFE, "square", "LRN", "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget"])
# inputs are cast to the widest of their dtypes
WIDEST_TYPE_CASTS = common.registered([
    *common.WIDEST_TYPE_CASTS, "Concat", "concat", "broadcast_mul",
    *(f"_contrib_interleaved_matmul_{name}" for name in (
        "encdec_qk", "encdec_valatt", "selfatt_qk", "selfatt_valatt"))])
# inputs stay as they are
FP16_FP32_FUNCS = common.all_others(FP16_FUNCS, FP32_FUNCS, WIDEST_TYPE_CASTS,
                                    (name for name, _, _ in CONDITIONAL_FP32_FUNCS))
