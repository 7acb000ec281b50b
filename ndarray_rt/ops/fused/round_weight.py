"""_round_weight: a parameter in another float dtype, once for each change of it. Made by passes."""

from __future__ import annotations

from ...op.infer import same_shape
from ...op.registry import OpDef, register
from ..tensor.amp import AmpCastParams, compute, infer_type_cast
from ..tensor.identity import compute_ex_cast

register(OpDef("_round_weight", AmpCastParams, inputs=("data",), infer_shape=same_shape,
               infer_type=infer_type_cast, compute=compute, compute_ex=compute_ex_cast,
               is_fused=True, no_gradient="it is for inference", is_prologue=True,
               doc="A parameter in another float dtype, for layers that read it so.\n\n"
                   "Made by passes of graphs that compute in bfloat16."))
