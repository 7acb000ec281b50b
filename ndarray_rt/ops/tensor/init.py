"""Arrays made from parameters alone: _zeros, _ones, _full, _arange, _linspace, _eye."""

from __future__ import annotations

import math

import numpy as np

from ..._array.layout import AnyArray
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, find_dtype
from ...errors import ShapeError
from ...np_shape import is_np_shape
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types
from ...op.params import (
    Params,
    boolean,
    dtype,
    integer,
    number,
    optional_number,
    params_class,
    shape,
    text,
)
from ...op.registry import OpDef, Shape, register
from ...storage.desc import default_desc
from ...storage.kernels import index as kernels
from .fill import fill_one, fill_value, fill_zero
from .numeric import convert, wide_dtype

CONSTANT = "zero: it depends on no array"


@params_class
class InitParams(Params):
    shape: tuple[int, ...] = shape((), low=-1, doc="shape of the output; 0 and -1 are left to "
                                   "inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str = dtype("float32", doc="dtype of the output")


@params_class
class FullParams(Params):
    value: float = number(doc="what each element is")
    shape: tuple[int, ...] = shape((), low=-1, doc="shape of the output; 0 and -1 are left to "
                                   "inference")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str = dtype("float32", doc="dtype of the output")


@params_class
class ArangeParams(Params):
    start: float = number(finite=True, doc="first value; the end, counted from 0, if that is "
                          "missing")
    stop: float | None = optional_number(doc="end, not included")
    step: float = number(1.0, finite=True, doc="distance of values")
    repeat: int = integer(1, low=1, doc="how often each value appears")
    infer_range: bool = boolean(False, doc="let inference tell the length")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str = dtype("float32", doc="dtype of the output")

    def interval(self) -> tuple[float, float | None]:
        """(first value, end or None)."""
        if self.stop is None and not self.infer_range:
            return 0.0, self.start
        return self.start, self.stop


@params_class
class LinspaceParams(Params):
    start: float = number(finite=True, doc="first value")
    stop: float = number(finite=True, doc="last value, or the end if it is not included")
    num: int = integer(low=0, doc="how many values")
    endpoint: bool = boolean(True, doc="stop is the last value")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str = dtype("float32", doc="dtype of the output")


@params_class
class EyeParams(Params):
    N: int = integer(low=0, doc="rows")
    M: int = integer(0, low=0, doc="columns; 0 is as many as rows")
    k: int = integer(0, doc="which diagonal: above 0 to the right, below 0 to the left")
    ctx: str = text("", doc="accepted and ignored")
    dtype: str = dtype("float32", doc="dtype of the output")


P = InitParams | FullParams | ArangeParams | LinspaceParams | EyeParams


def infer_type(p: P, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    return [], [merge_types([outs[0], find_dtype(p.dtype)])]


def given_shape(target: Shape, out: Shape | None) -> Shape | None:
    """A `shape` parameter with what else is known: MXNet's 0 and -1, and (), are left to inference.

    So an RNN's first state, zeros of shape (0, hidden), gets its batch size from the data. Under
    np_shape only -1 is.
    """
    if is_np_shape():
        return merge(out, target, "output shapes")
    if not target:
        return out
    return merge(out, tuple(dim if dim > 0 else -1 for dim in target), "output shapes")


def infer_shape(p: InitParams | FullParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    return [], [given_shape(p.shape, outs[0])]


def infer_shape_arange(p: ArangeParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    start, stop = p.interval()
    if stop is None:
        return [], [merge(outs[0], (-1,), "output shapes")]
    # also wrong: an interval that is not finite, or that the step leads away from
    if p.step == 0 or not 0 < (stop - start) / p.step < math.inf:
        raise ShapeError(f"start={start}, stop={stop}, step={p.step} name no values")
    length = math.ceil((stop - start) / p.step) * p.repeat
    return [], [merge(outs[0], (length,), "output shapes")]


def infer_shape_linspace(p: LinspaceParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    return [], [merge(outs[0], (p.num,), "output shapes")]


def infer_shape_eye(p: EyeParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    return [], [merge(outs[0], (p.N, p.M or p.N), "output shapes")]


def compute_zeros(ctx: OpContext, p: InitParams, ins: list[AnyArray],
                  outs: list[NumpyOutput]) -> None:
    outs[0].write(np.zeros(outs[0].shape, outs[0].dtype))


def compute_ones(ctx: OpContext, p: InitParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(np.ones(outs[0].shape, outs[0].dtype))


def compute_full(ctx: OpContext, p: FullParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    outs[0].write(np.full(outs[0].shape, convert(np.float64(p.value), outs[0].dtype)))


def compute_ex_full(ctx: OpContext, p: FullParams, ins: list[NDArray],
                    outs: list[Output]) -> None:
    fill_value(ctx, p.value, outs[0])


def compute_arange(ctx: OpContext, p: ArangeParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    start, _ = p.interval()
    target = outs[0].dtype
    number_of = np.arange(outs[0].shape[0]) // p.repeat
    # start and step are cast first: an integer range has an integer step
    first, step = (convert(np.float64(value), target) for value in (start, p.step))
    if target.kind in "iub":
        outs[0].write(convert(first.astype(np.int64) + number_of * step.astype(np.int64), target))
        return
    steps = number_of.astype(wide_dtype(target)) * step.astype(wide_dtype(target))
    outs[0].write(convert(first + steps.astype(target), target))


def refuses_arange(p: ArangeParams, ins: list[NDArray]) -> str | None:
    return None if p.dtype == "float32" else f"dtype {p.dtype} is not float32"


def compute_ex_arange(ctx: OpContext, p: ArangeParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    desc = default_desc(FLOAT32, outs[0].shape)
    with outs[0].open(desc, ctx.stream) as y:
        ctx.kernel(kernels.arange(out=y, n=desc.nelems, repeat=p.repeat, start=p.interval()[0],
                                  step=p.step))


def compute_linspace(ctx: OpContext, p: LinspaceParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    values = np.linspace(p.start, p.stop, p.num, endpoint=p.endpoint)
    outs[0].write(convert(values, outs[0].dtype))


def compute_eye(ctx: OpContext, p: EyeParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    outs[0].write(np.eye(p.N, p.M or p.N, p.k, dtype=outs[0].dtype))


register(OpDef("_zeros", InitParams, inputs=(), infer_shape=infer_shape, infer_type=infer_type,
               compute=compute_zeros, compute_ex=fill_zero, no_gradient=CONSTANT,
               one_value=lambda p: 0.0,
               doc="Zeros of a shape and dtype.\n\nSource: MXNet's _zeros."))
register(OpDef("_ones", InitParams, inputs=(), infer_shape=infer_shape, infer_type=infer_type,
               compute=compute_ones, compute_ex=fill_one, no_gradient=CONSTANT,
               one_value=lambda p: 1.0,
               doc="Ones of a shape and dtype.\n\nSource: MXNet's _ones."))
register(OpDef("_full", FullParams, inputs=(), infer_shape=infer_shape, infer_type=infer_type,
               compute=compute_full, compute_ex=compute_ex_full, no_gradient=CONSTANT,
               one_value=lambda p: float(p.value),
               doc="One value everywhere, of a shape and dtype.\n\nSource: MXNet's _full."))
register(OpDef("_arange", ArangeParams, inputs=(), infer_shape=infer_shape_arange,
               infer_type=infer_type, compute=compute_arange, compute_ex=compute_ex_arange,
               refuses=refuses_arange, no_gradient=CONSTANT,
               doc="start, start + step, ... up to stop, which is not included, each repeat times."
                   "\n\nShape (ceil((stop - start) / step) * repeat,). Source: MXNet's _arange."))
register(OpDef("_linspace", LinspaceParams, inputs=(), infer_shape=infer_shape_linspace,
               infer_type=infer_type, compute=compute_linspace, no_gradient=CONSTANT,
               doc="num values from start to stop at equal distances.\n\nShape (num,). Source: "
                   "MXNet's _linspace."))
register(OpDef("_eye", EyeParams, inputs=(), infer_shape=infer_shape_eye, infer_type=infer_type,
               compute=compute_eye, no_gradient=CONSTANT,
               doc="An N x M matrix with ones on its k-th diagonal.\n\nSource: MXNet's _eye."))
