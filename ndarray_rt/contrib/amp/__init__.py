"""`contrib.amp`: automatic mixed precision. Source: MXNet's `mx.contrib.amp`.

For training `init()` makes operators cast their inputs as the lists say, before a network is built;
`init_trainer` and `scale_loss` keep float16 gradients from vanishing. For inference
`convert_model`, `convert_hybrid_block` and `convert_symbol` put the casts into a graph.
"""

from ...public import shows
from . import amp, lists, loss_scaler
from .amp import (
    convert_bucketing_module,
    convert_hybrid_block,
    convert_model,
    convert_symbol,
    init,
    init_trainer,
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    scale_loss,
    unscale,
)
from .loss_scaler import LossScaler

__all__ = [
    "LossScaler", "amp", "convert_bucketing_module", "convert_hybrid_block", "convert_model",
    "convert_symbol", "init", "init_trainer", "list_conditional_fp32_ops", "list_fp32_ops",
    "list_loss_output_functions", "list_lp16_fp32_ops", "list_lp16_ops",
    "list_lp16_use_fp32_params", "list_widest_type_cast", "lists", "loss_scaler", "scale_loss",
    "unscale"]
__dir__ = shows(globals())
