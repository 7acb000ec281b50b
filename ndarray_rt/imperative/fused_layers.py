"""What the operators _sg_mkldnn_conv and _sg_mkldnn_fully_connected have in common.

Each has the graph of one layer and of what follows it inside. On floats that graph runs node by
node. On 8-bit numbers the products are summed in int32, and what follows is computed of the sums,
in the steps of the output.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._array.create import array
from .._array.interop import asnumpy
from .._array.layout import AnyArray
from .._array.output import NumpyOutput
from ..dtypes import FLOAT32, INT8, INT32, UINT8, DType
from ..errors import ParameterError, where
from ..op.context import OpContext
from ..op.infer import ShapeList
from ..op.params import boolean, optional_number, params_class
from ..op.registry import OpDef
from ..ops.quantization.ranges import ends_shape, one, rounded
from ..ops.quantization.whole_layers import Whole, to_int32
from ..symbol.node import Node
from ..symbol.subgraph import SubgraphParams
from .invoke import invoke_params
from .subgraph_ops import modes, run_graph, shapes_inside

# ---- parameters ---------------------------------------------------------------------------------


@params_class
class FusedLayerParams(SubgraphParams):
    """A layer and what follows it, in the only graph."""

    quantized: bool = boolean(False, doc="the data is 8-bit numbers")
    min_calib_range: float | None = optional_number(
        finite=True, doc="the least value of the output, found by calibration")
    max_calib_range: float | None = optional_number(finite=True, doc="the greatest value")

    # names that older versions of MXNet wrote
    RENAMED: ClassVar[Mapping[str, str]] = {}
    # the operator of the layer, and those that may follow it, each once and in this order
    LAYER: ClassVar[str] = ""
    FOLLOWERS: ClassVar[Sequence[frozenset[str]]] = ()
    # names of the ends of the output's range
    OUTPUT_ENDS: ClassVar[tuple[str, str]] = ("", "")

    @classmethod
    def parse(cls, attrs: Mapping[str, object], op: str, node: str | None = None) -> Any:
        made = super().parse({cls.RENAMED.get(key, key): value for key, value in attrs.items()},
                             op, node)
        made.__dict__["_nodes"] = made._read(where(op, node))
        return made

    def _read(self, owner: str) -> list[Node]:
        """The operators inside, the layer first."""
        graphs = self.graphs
        if len(graphs) != 1 or len(graphs[0].heads) != 1:
            raise ParameterError(f"{owner}: got {len(graphs)} graphs inside, expected one with one "
                                 "output")
        nodes = [node for node in graphs[0].order if node.op is not None]
        names = [node.op.name for node in nodes if node.op is not None]
        if names[:1] != [self.LAYER] or not self._is_chain(nodes) or not self._follows(names[1:]):
            raise ParameterError(f"{owner}: got a graph of {', '.join(names)} inside, expected "
                                 f"{self.LAYER} and what can be fused into it")
        return nodes

    def _is_chain(self, nodes: Sequence[Node]) -> bool:
        """Each node reads the one before, and variables in the order of the node's inputs."""
        graph = self.graphs[0]
        read = [entry.node for i, node in enumerate(nodes)
                for entry in node.inputs[i > 0:]]
        return (read == graph.variables and graph.heads[0] == nodes[-1].outputs[0]
                and all(node.inputs[0] == before.outputs[0]
                        for before, node in pairwise(nodes)))

    def _follows(self, names: Sequence[str]) -> bool:
        allowed = iter(self.FOLLOWERS)
        return all(any(name in group for group in allowed) for name in names)

    @property
    def nodes(self) -> list[Node]:
        """The operators inside, the layer first."""
        found: list[Node] = self.__dict__["_nodes"]
        return found

    @property
    def layer(self) -> Any:
        """The parameters of the layer."""
        return self.nodes[0].params

    @property
    def count(self) -> int:
        """How many inputs the graph has."""
        return len(self.graphs[0].variables)

    @property
    def places(self) -> list[Sequence[int]]:
        return [range(self.count)]

    @property
    def calibrated(self) -> tuple[np.float32, np.float32] | None:
        """The range of the output, where both ends are given."""
        low, high = self.min_calib_range, self.max_calib_range
        return None if low is None or high is None else (np.float32(low), np.float32(high))

    @property
    def gives_floats(self) -> bool:
        """The output is float32 and has no range."""
        return not self.quantized

    @property
    def whole_dtype(self) -> DType:
        """That of an output of whole numbers."""
        if self.calibrated is None:
            return INT32
        return UINT8 if self.gives_no_negatives else INT8

    @property
    def gives_no_negatives(self) -> bool:
        """No output is below 0."""
        return gives_no_negatives(self.nodes[-1])

    @property
    def growths(self) -> tuple[float, float]:
        """What functions behind the layer may multiply its bias by, and its summand, at most."""
        bias = summand = 1.0
        is_summed = False
        for node in self.nodes[1:]:
            p: Any = node.params
            name = "" if node.op is None else node.op.name
            is_summed |= name == "elemwise_add"
            if name == "LeakyReLU" and p.act_type == "leaky":
                most = max(1.0, abs(p.slope))
                bias *= most
                summand *= most if is_summed else 1.0
        return bias, summand

    @property
    @abstractmethod
    def ends(self) -> tuple[str, ...]:
        """Names of the ends of ranges, behind the inputs of the graph."""


def gives_no_negatives(node: Node) -> bool:
    """What an operator that follows a layer computes never is below 0."""
    p: Any = node.params
    name = "" if node.op is None else node.op.name
    if name == "Activation":
        return p.act_type in ("relu", "sigmoid", "softrelu")
    if name == "LeakyReLU":
        return bool(p.act_type == "leaky" and p.slope == 0)
    return name in ("clip", "square", "sqrt", "exp", "abs")


def input_names(p: Any) -> tuple[str, ...]:
    return (*p.inputs, *p.ends)


def output_names(p: FusedLayerParams) -> tuple[str, ...]:
    return ("output",) if p.gives_floats else ("output", *p.OUTPUT_ENDS)


def infer_shape(p: FusedLayerParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    made, heads = shapes_inside(p.graphs[0], p.places[0], ins[:p.count])
    names = output_names(p)
    return ([*made, *ends_shape(ins[p.count:], p.ends)],
            [*heads, *ends_shape(outs[1:], names[1:])])


# ---- computing ----------------------------------------------------------------------------------


def compute_floats(ctx: OpContext, p: FusedLayerParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    """The graph inside, for inference."""
    with modes(False, False, ctx.random):
        made = run_graph(p.graphs[0], [array(x, None, x.dtype) for x in ins])[0]
    outs[0].write(asnumpy(made).astype(outs[0].dtype, copy=False))


def summed(op: OpDef, params: Any, data: AnyArray, weight: AnyArray) -> AnyArray:
    """int32 sums of products, by the operator on quantized numbers."""
    ends = [array(one(end), None, FLOAT32) for end in (-1, 1, -1, 1)]
    made = invoke_params(op, params, [array(data, None, data.dtype), array(weight, None, INT8),
                                      *ends])
    return asnumpy(made[0])


class Steps(NamedTuple):
    """What follows the sums: numbers `y` that stand for y / scale."""

    y: AnyArray
    scale: np.float32

    def followed(self, node: Node) -> Steps:
        """What an elementwise operator makes of the numbers."""
        p: Any = node.params
        assert node.op is not None
        if node.op.name == "clip":
            with np.errstate(all="ignore"):
                return Steps(np.clip(self.y, self.y.dtype.type(p.a_min) * self.scale,
                                     self.y.dtype.type(p.a_max) * self.scale), self.scale)
        with np.errstate(all="ignore"):
            if _keeps_scale(node):
                return Steps(_applied(node, self.y), self.scale)
            return Steps(_applied(node, self.y / self.scale) * self.scale, self.scale)


def _keeps_scale(node: Node) -> bool:
    """f(s x) is s f(x), for s above 0."""
    p: Any = node.params
    name = "" if node.op is None else node.op.name
    return (name == "abs" or (name == "Activation" and p.act_type == "relu")
            or (name == "LeakyReLU" and p.act_type == "leaky"))


def _applied(node: Node, x: AnyArray) -> AnyArray:
    assert node.op is not None
    assert node.params is not None
    made = invoke_params(node.op, node.params, [array(x, None, x.dtype)], name=node.name)
    return asnumpy(made)


def first_steps(sums: AnyArray, whole: Whole, data_scale: np.float32, out_scale: np.float32 | None,
                axis: int) -> Steps:
    """The sums with the bias, in the steps of the output: its scale, or that of the sums where
    that is None. Channels are along `axis`."""
    column = [1] * sums.ndim
    column[axis] = -1
    if out_scale is None:
        # exact, as int32 sums and their bias are
        y = sums.astype(np.float64)
        if whole.bias is not None:
            y += whole.bias.reshape(column)
        return Steps(y, np.float32(data_scale * whole.scales[0]))
    with np.errstate(all="ignore"):
        y = sums.astype(FLOAT32)
        if whole.bias is not None:
            y += whole.bias.astype(FLOAT32).reshape(column)
        y *= whole.factors(data_scale, out_scale).reshape(column)
    return Steps(y, out_scale)


def finish(steps: Steps, outs: list[NumpyOutput], low: Any, high: Any) -> None:
    """Writes whole numbers and what they stand for."""
    dtype = outs[0].dtype
    outs[0].write(to_int32(steps.y) if dtype == INT32 else rounded(steps.y, dtype))
    outs[1].write(one(low))
    outs[2].write(one(high))
