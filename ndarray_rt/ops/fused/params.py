"""What fused operators share: the post-ops among their parameters, and operands among inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...op.elementwise import Chain
from ...op.infer import ShapeList
from ...op.params import Params, params_class, text
from ...op.registry import Names, OpDef, Refuses
from ..floats import same_float_type
from .post_ops import infer_operands, operand_names, parse_chain
from .run import chain_adds_first


@params_class
class PostOpParams(Params):
    post_ops: str = text("", doc="what is done to the result, such as 'add,relu'")

    @property
    def chain(self) -> Chain:
        return parse_chain(self.post_ops)


def own_inputs(p: Any) -> int:
    """Inputs of a layer with weights itself; operands stand behind them."""
    return 2 if p.no_bias else 3


def with_operands(names: Names) -> Callable[[Any], tuple[str, ...]]:
    """The layer's input names, then those of the operands."""
    return lambda p: (*(names(p) if callable(names) else names), *operand_names(p.chain))


def infer_with_operands(infer: Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]],
                        ) -> Callable[[Any, ShapeList, ShapeList], tuple[ShapeList, ShapeList]]:
    """The layer's rule; operands must broadcast to its result."""
    def infer_shape(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        own = own_inputs(p)
        operands, out = infer_operands(p.chain, ins[own:], outs[0])
        made, outs = infer(p, ins[:own], [out, *outs[1:]])
        operands, _ = infer_operands(p.chain, operands, outs[0])
        return [*made, *operands], outs
    return infer_shape


def with_post_ops(op: OpDef, params: type[Params], doc: str,
                  refuses: Refuses | None = None) -> OpDef:
    """The operator that does a layer's work and a chain of post-ops: the same code, whose
    parameters have a chain. Inputs are the layer's, then one operand for each binary post-op."""
    return replace(
        op, name=f"_fused_{op.name}", params=params, inputs=with_operands(op.inputs),
        infer_shape=infer_with_operands(op.infer_shape), infer_type=same_float_type,
        refuses=refuses or op.refuses, gradient=None, no_gradient="it is for inference",
        inplace=inplace, folds_affine=None, aliases=(), is_fused=True, doc=doc)


def inplace(p: Any) -> dict[int, int]:
    """A result may replace the first operand, where that is added before all else."""
    return {0: own_inputs(p)} if chain_adds_first(p.chain) else {}
