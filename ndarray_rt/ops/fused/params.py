"""What fused operators share: the post-ops among their parameters, and operands among inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...op.elementwise import Chain
from ...op.infer import ShapeList
from ...op.params import Params, params_class, text
from ...op.registry import InferType, OpDef
from ..floats import same_float_type
from .post_ops import infer_operands, num_operands, operand_names, parse_chain
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


def with_post_ops(op: OpDef, params: type[Params], doc: str,
                  infer_type: InferType = same_float_type) -> OpDef:
    """The operator that does a layer's work and a chain of post-ops: the same code, whose
    parameters have a chain. Inputs are the layer's, then one operand for each binary post-op.
    `infer_type`: where not all inputs are of one dtype."""
    def inputs(p: Any) -> tuple[str, ...]:
        return (*op.input_names(p), *operand_names(p.chain))

    def infer_shape(p: Any, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
        own = len(op.input_names(p))
        end = own + num_operands(p.chain)
        operands, out = infer_operands(p.chain, ins[own:end], outs[0])
        made, outs = op.infer_shape(p, [*ins[:own], *ins[end:]], [out, *outs[1:]])
        operands, _ = infer_operands(p.chain, operands, outs[0])
        return [*made[:own], *operands, *made[own:]], outs

    def inplace(p: Any) -> Mapping[int, int]:
        """A result may replace the first operand, where that is added before all else."""
        return {0: len(op.input_names(p))} if chain_adds_first(p.chain) else op.inplace_pairs(p)
    return replace(
        op, name=f"_fused_{op.name}", params=params, inputs=inputs, infer_shape=infer_shape,
        infer_type=infer_type, gradient=None, no_gradient="it is for inference", inplace=inplace,
        folds_affine=None, aliases=(), is_fused=True, doc=doc)
