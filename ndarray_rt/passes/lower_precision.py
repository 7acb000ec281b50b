"""Inserts casts into a float32 graph, so that layers and what follows them compute in bfloat16.

The lists of `contrib.amp` decide: convolutions and dense layers compute in bfloat16, normalization,
pooling, activations and sums in the dtype of their inputs, everything else in float32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..dtypes import FLOAT32, DType, bfloat16, is_float
from ..errors import TypeMismatch
from ..op.infer import run_infer_type
from ..op.registry import OpDef
from ..symbol.compose import output_name
from ..symbol.node import Entry, Node
from . import amp_lists
from .prologue import is_parameter
from .rewrite import Facts, Heads, make, replace

_LOW = frozenset(amp_lists.BF16_FUNCS)
_AS_IT_COMES = frozenset(amp_lists.BF16_FP32_FUNCS)
_WIDEST = frozenset(amp_lists.BF16_WIDEST_TYPE_CASTS)
_CONDITIONAL = {name: (key, frozenset(values))
                for name, key, values in amp_lists.CONDITIONAL_FP32_FUNCS}


def lower_precision(heads: Sequence[Entry], facts: Facts) -> Heads:
    """The graph with float32 outputs as before; unchanged if it has other floating-point dtypes.

    Parameters are rounded by nodes that run once.
    """
    if any(is_float(dtype) and dtype != FLOAT32 for dtype in facts.types.values()):
        return list(heads)
    lowering = _Lowering(facts)
    made = replace(heads, lowering.change)
    return [lowering.cast(entry, FLOAT32) for entry in made]


def _listed(op: OpDef, names: frozenset[str]) -> bool:
    return op.name in names or not names.isdisjoint(op.aliases)


class _Lowering:
    def __init__(self, facts: Facts) -> None:
        self._types = facts.types
        self._low: DType = bfloat16()
        # 16-bit entries of the new graph
        self._is_low: set[Entry] = set()
        self._casts: dict[tuple[Entry, bool], Entry] = {}

    def change(self, node: Node, now: Mapping[Entry, Entry]) -> list[Entry] | None:
        """The node's outputs, computed from inputs cast to the dtypes that it should have."""
        assert node.op is not None
        given = [now[entry] for entry in node.inputs]
        floats = [i for i, entry in enumerate(node.inputs) if self._types.get(entry) == FLOAT32]
        wanted = self._wanted(node, given, floats)
        if wanted == self._low:
            inputs = [self.cast(entry, wanted, is_weight=i > 0) if i in floats else entry
                      for i, entry in enumerate(given)]
        elif wanted == FLOAT32:
            inputs = [self.cast(entry, FLOAT32) for entry in given]
        else:
            inputs = given
        made = node if inputs == node.inputs else node.over(inputs)
        if not self._is_low.isdisjoint(inputs):
            found = self._outputs(node, inputs)
            assert found is not None
            self._is_low.update(entry for entry, dtype in zip(made.outputs, found, strict=True)
                                if dtype == self._low)
        return made.outputs

    def _wanted(self, node: Node, given: Sequence[Entry], floats: Sequence[int]) -> DType | None:
        """The dtype to cast float inputs to; None: leave them."""
        op = node.op
        assert op is not None
        if _listed(op, _LOW):
            return self._low
        low = [given[i] in self._is_low for i in floats]
        if not any(low):
            return None
        if _listed(op, _WIDEST):
            return None if all(low) else FLOAT32
        key, values = _CONDITIONAL.get(op.name, ("", frozenset()))
        if key:
            return FLOAT32 if str(getattr(node.params, key)) in values else None
        if not _listed(op, _AS_IT_COMES):
            return FLOAT32
        return FLOAT32 if self._outputs(node, given) is None else None

    def _outputs(self, node: Node, inputs: Sequence[Entry]) -> list[DType | None] | None:
        """The dtypes of a node's outputs for these inputs; None if it does not accept them."""
        assert node.op is not None
        assert node.params is not None
        ins = [self._low if new in self._is_low else self._types.get(old)
               for old, new in zip(node.inputs, inputs, strict=True)]
        try:
            return run_infer_type(node.op, node.params, ins, [None] * node.num_outputs,
                                  node.name)[1]
        except TypeMismatch:
            return None

    def cast(self, entry: Entry, dtype: DType, is_weight: bool = False) -> Entry:
        """An entry of the new graph in a dtype. With `is_weight`, one that depends on variables
        only is rounded once."""
        if (entry in self._is_low) == (dtype == self._low):
            return entry
        is_kept = is_weight and is_parameter(entry)
        found = self._casts.get((entry, is_kept))
        if found is None:
            name = f"{output_name(entry)}_{dtype.name}"
            found = make("_round_weight" if is_kept else "amp_cast", {"dtype": dtype.name},
                         [entry], name).outputs[0]
            self._casts[entry, is_kept] = found
            if dtype == self._low:
                self._is_low.add(found)
        return found
