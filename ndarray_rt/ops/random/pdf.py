"""_random_pdf_*: densities of samples, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, merge_all
from ...op.params import Params, boolean, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type
from .densities import DENSITIES, Density


@params_class
class PdfParams(Params):
    is_log: bool = boolean(False, doc="give the logarithm of the density")


def _check(sample: Shape, given: Shape, vectors: bool) -> Shape:
    """The shape of the parameters: the first axes of the sample (and its last one)."""
    depth = len(given) - 1 if vectors else len(given)
    if depth < 0 or len(sample) < depth + vectors or (vectors and not given):
        raise ShapeError(f"sample has shape {sample} and its parameters {given}: expected "
                         "parameters for its first axes" + (" and its last" if vectors else ""))
    return sample[:depth] + (sample[-1:] if vectors else ())


def _infer(density: Density, ins: ShapeList, out: Shape | None) -> tuple[ShapeList, Shape | None]:
    """(shapes of sample and parameters, that of the density)."""
    sample, one = ins[0], merge_all(ins[1:], "shapes of parameters")
    if sample is not None and one is not None:
        one = merge(one, _check(sample, one, density.vectors), "shapes of parameters and sample")
    if sample is not None:
        out = merge(out, sample[:-1] if density.vectors else sample, "output shapes")
    elif out is not None and not density.vectors:
        sample = out
    return [sample, *[one] * (len(ins) - 1)], out


def _wide(density: Density, ins: Sequence[AnyArray]) -> list[AnyArray]:
    """Sample and parameters as doubles, the parameters with axes to stand at the sample's."""
    sample, *parameters = (x.astype(np.float64) for x in ins)
    keep = 1 if density.vectors else 0
    ones = (1,) * (sample.ndim - parameters[0].ndim)
    return [sample, *(x.reshape(x.shape[:x.ndim - keep] + ones + x.shape[x.ndim - keep:])
                      for x in parameters)]


def _forward_rules(density: Density) -> tuple[Any, Any, Any]:
    def infer_shape(p: PdfParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        shapes, out = _infer(density, ins, outs[0])
        return shapes, [out]

    def compute(ctx: OpContext, p: PdfParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
        made = density.log(*_wide(density, ins))
        outs[0].write((made if p.is_log else np.exp(made)).astype(outs[0].dtype))

    def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
        return emit(f"_backward_random_pdf_{density.name}", node.params, out_grads[0],
                    *node.inputs)
    return infer_shape, compute, gradient


def _backward_rules(density: Density) -> tuple[Any, Any]:
    def infer_shape(p: PdfParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        known = [merge(x, grad, "gradient and input shapes")
                 for x, grad in zip(ins[1:], outs, strict=True)]
        shapes, out = _infer(density, known, ins[0])
        return [out, *shapes], shapes

    def compute(ctx: OpContext, p: PdfParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
        wide = _wide(density, ins[1:])
        head, value = ins[0].astype(np.float64), np.exp(density.log(*wide))
        if density.vectors:
            head, value = head[..., None], value[..., None]
        for i, (x, out, slope) in enumerate(zip(ins[1:], outs, density.slopes, strict=True)):
            if out.requested:
                found = 0.0 if slope is None else slope(*wide)
                if not p.is_log:
                    at_edge = (value == 0) & np.isinf(found)
                    found = value * found
                    if i in density.edges:
                        found = np.where(at_edge, density.edges[i](*wide), found)
                grad = np.broadcast_to(head * found, ins[1].shape)
                first = x.ndim - 1 if density.vectors else x.ndim
                extra = tuple(range(first, first + grad.ndim - x.ndim))
                out.write(grad.sum(axis=extra).astype(out.dtype))
    return infer_shape, compute


def _register(density: Density) -> None:
    names = ("sample", *density.parameters)
    infer_shape, compute, gradient = _forward_rules(density)
    register(OpDef(f"_random_pdf_{density.name}", PdfParams, inputs=names, infer_shape=infer_shape,
                   infer_type=same_float_type, compute=compute, gradient=gradient,
                   aliases=(f"random_pdf_{density.name}",),
                   doc=f"{density.what}, at each sample.\n\nThe parameters have one shape, that of "
                       "the first axes of sample" + (" and its last one, along which lies what "
                       "is one sample" if density.vectors else "") + ". Floats of one dtype. "
                       f"Source: MXNet's _random_pdf_{density.name}."))
    infer_shape, compute = _backward_rules(density)
    register(OpDef(f"_backward_random_pdf_{density.name}", PdfParams, inputs=("out_grad", *names),
                   outputs=tuple(f"{name}_grad" for name in names), infer_shape=infer_shape,
                   infer_type=same_float_type, compute=compute, is_backward=True,
                   no_gradient="there is no second-order gradient of it",
                   doc="The gradients of a density."))


for _density in DENSITIES:
    _register(_density)
