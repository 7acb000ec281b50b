"""_contrib_round_ste and _contrib_sign_ste: steps that let the gradient through as it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ...op.infer import same_shape, same_type
from ...op.params import NoParams
from ...op.registry import Emit, GradNode, OpDef, register
from .unary import TABLE, compute


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0]]


for _step in ("round", "sign"):
    register(OpDef(f"_contrib_{_step}_ste", NoParams, inputs=("data",), infer_shape=same_shape,
                   infer_type=same_type, compute=partial(compute, _step), gradient=gradient,
                   inplace={0: 0},
                   doc=f"Element by element: {TABLE[_step].formula}.\n\nThe gradient comes back as "
                       f"it is, as if data were not changed, where {_step} has none: for networks "
                       "that compute with few bits. Source: Bengio et al. 2013; MXNet's "
                       f"_contrib_{_step}_ste; numpy."))
