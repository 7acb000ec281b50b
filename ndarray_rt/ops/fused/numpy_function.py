"""_numpy_function: a function of NumPy arrays as a node of a graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any
from weakref import WeakValueDictionary

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...dtypes import find_dtype
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import MAX_COUNT, Params, boolean, integer, params_class
from ...op.registry import OpDef, register

Function = Callable[..., Sequence[AnyArray]]
# shape and name of the dtype of each array
Facts = tuple[tuple[tuple[int, ...], str], ...]

# functions that a text stands for: those of nodes whose parameters were written, while they live
_WRITTEN: WeakValueDictionary[str, Any] = WeakValueDictionary()


def _parse_function(value: object) -> object:
    """A function itself, or what was written for one of this process: no file can name another."""
    if not isinstance(value, str):
        return value
    return _WRITTEN[value]


def _parse_facts(value: object) -> Facts:
    found: Any = ast.literal_eval(value) if isinstance(value, str) else value
    return tuple((tuple(map(int, shape)), str(dtype)) for shape, dtype in found)


def _object(parse: Callable[[object], object], wants: str, doc: str) -> Any:
    return field(metadata={"parse": parse, "check": None, "wants": wants, "doc": doc})


@params_class
class NumpyFunctionParams(Params):
    num_args: int = integer(low=0, high=MAX_COUNT, doc="how many arrays it takes")
    function: Function = _object(_parse_function, "a function",
                                 "takes arrays and gives a sequence of arrays")
    takes: Facts = _object(_parse_facts, "shapes and dtypes", "what its arguments are")
    gives: Facts = _object(_parse_facts, "shapes and dtypes", "what its results are")
    draws: bool = boolean(False, doc="two calls may give different results")

    def to_attrs(self) -> dict[str, str]:
        written = str(id(self.function))
        _WRITTEN[written] = self.function
        return {**super().to_attrs(), "function": written, "takes": repr(self.takes),
                "gives": repr(self.gives)}


def input_names(p: NumpyFunctionParams) -> tuple[str, ...]:
    return tuple(f"arg{i}" for i in range(p.num_args))


def output_names(p: NumpyFunctionParams) -> tuple[str, ...]:
    if len(p.gives) == 1:
        return ("output",)
    return tuple(f"output{i}" for i in range(len(p.gives)))


def infer_shape(p: NumpyFunctionParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    return ([merge(known, shape, f"shapes of arg{i}")
             for i, (known, (shape, _)) in enumerate(zip(ins, p.takes, strict=True))],
            [merge(known, shape, f"shapes of output{i}")
             for i, (known, (shape, _)) in enumerate(zip(outs, p.gives, strict=True))])


def infer_type(p: NumpyFunctionParams, ins: TypeList, outs: TypeList,
               ) -> tuple[TypeList, TypeList]:
    return ([merge_types([known, find_dtype(dtype)])
             for known, (_, dtype) in zip(ins, p.takes, strict=True)],
            [merge_types([known, find_dtype(dtype)])
             for known, (_, dtype) in zip(outs, p.gives, strict=True)])


def compute(ctx: OpContext, p: NumpyFunctionParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    for out, value in zip(outs, p.function(*ins), strict=True):
        out.write(value)


register(OpDef("_numpy_function", NumpyFunctionParams, inputs=input_names, outputs=output_names,
               infer_shape=infer_shape, infer_type=infer_type, compute=compute,
               num_args="num_args", is_fused=True, is_random=lambda p: p.draws,
               no_gradient="it is for inference",
               doc="A function of NumPy arrays.\n\nIts parameters tell shapes and dtypes of what "
                   "it takes and gives. Made of nodes of other formats that no operator computes."))
