"""_constant: an array that is a parameter of the graph."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np

from ..._array.bare import numbers_of
from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import find_dtype, native_code
from ...errors import ParameterError, where
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import Params, dtype, params_class, shape, text
from ...op.registry import OpDef, register
from ...storage.desc import default_desc
from ...storage.handle import Handle
from ...storage.stream import Mem
from ..tensor.init import CONSTANT
from ..tensor.pointwise import put

P = TypeVar("P", bound="ConstantParams")


@params_class
class ConstantParams(Params):
    shape: tuple[int, ...] = shape(low=1, doc="shape of the array")
    dtype: str = dtype("float32", doc="dtype of the array")
    data: str = text(doc="its bytes in row-major order and base64")

    @classmethod
    def of(cls, array: AnyArray) -> ConstantParams:
        """The parameters that hold a copy of an array."""
        data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
        return cls.parse({"shape": array.shape, "dtype": array.dtype, "data": data}, "_constant")

    @classmethod
    def parse(cls: type[P], attrs: Mapping[str, object], op: str, node: str | None = None) -> P:
        made = super().parse(attrs, op, node)
        try:
            found: object = len(base64.b64decode(made.data, validate=True))
        except ValueError:
            found = "no base64"
        wanted = prod(made.shape) * find_dtype(made.dtype).itemsize
        if found != wanted:
            raise ParameterError(f"{where(op, node)}: parameter 'data' holds {found} bytes, "
                                 f"expected {wanted} from shape={made.shape}, dtype={made.dtype}")
        return made

    @cached_property
    def elements(self) -> AnyArray:
        """The array, which nobody can write to, in its dtype."""
        found: AnyArray = np.frombuffer(base64.b64decode(self.data), find_dtype(self.dtype))
        return found.reshape(self.shape)

    @cached_property
    def array(self) -> AnyArray:
        """The array as one that NumPy computes with: float32 of bfloat16 without ml_dtypes."""
        return numbers_of(self.elements)

    @cached_property
    def handle(self) -> Handle:
        """The bytes where kernels can read them."""
        return Handle.borrowed(self.elements.ctypes.data, self.elements.nbytes, self.elements)


def infer_shape(p: ConstantParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    return [], [merge(outs[0], p.shape, "output shapes")]


def infer_type(p: ConstantParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return [], [merge_types([outs[0], find_dtype(p.dtype)])]


def compute(ctx: OpContext, p: ConstantParams, ins: list[Any], outs: list[NumpyOutput]) -> None:
    outs[0].write(p.array)


def refuses(p: ConstantParams, ins: list[NDArray]) -> str | None:
    if native_code(find_dtype(p.dtype)) is None:
        return f"oneDNN has no layout for {p.dtype}"
    return None


def compute_ex(ctx: OpContext, p: ConstantParams, ins: list[NDArray], outs: list[Output]) -> None:
    desc = default_desc(find_dtype(p.dtype), p.shape)
    put(ctx, Mem(desc, p.handle.ptr, p.handle, ctx.stream.epoch), outs[0])


def _one_value(p: ConstantParams) -> float | None:
    first = p.array.flat[0]
    return float(first) if (p.array == first).all() else None


register(OpDef("_constant", ConstantParams, inputs=(), infer_shape=infer_shape,
               infer_type=infer_type, compute=compute, compute_ex=compute_ex, refuses=refuses,
               is_fused=True, no_gradient=CONSTANT, is_prologue=True, one_value=_one_value,
               doc="An array that was known when the graph was made.\n\n"
                   "Any dtype. Made by passes of what depends on no variable."))
