"""topk, sort, argsort: elements of rows in order, and their places.

NaN counts as the greatest number; elements that tie stay in the order of their places.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, get_default
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32, INT32, DType, find_dtype
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.infer import ShapeList, TypeList, merge, merge_types, normalize_axis
from ...op.params import (
    Params,
    boolean,
    choice,
    dtype,
    integer,
    optional_integer,
    params_class,
)
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import default_desc, strided_desc
from ...storage.kernels import reduce as kernels
from ...storage.reorder import reorder_mem
from ...storage.stream import Mem
from .numeric import convert, ordered
from .places import can_add, need_places, whole

VALUES, PLACES = 1, 2  # what the kernel is asked for
AXIS = "the axis along which; None: data as one row"


@params_class
class TopkParams(Params):
    axis: int | None = optional_integer(-1, doc=AXIS)
    k: int = integer(1, doc="how many; below 1 all of them")
    ret_typ: str = choice("both", "indices", "mask", "value", default="indices",
                          doc="values, places, both of them, or data's shape with 1 at the places")
    is_ascend: bool = boolean(False, doc="the smallest first")
    dtype: str = dtype("float32", doc="dtype of the places")


@params_class
class SortParams(Params):
    axis: int | None = optional_integer(-1, doc=AXIS)
    is_ascend: bool = boolean(True, doc="the smallest first")


@params_class
class ArgsortParams(Params):
    axis: int | None = optional_integer(-1, doc=AXIS)
    is_ascend: bool = boolean(True, doc="the smallest first")
    dtype: str = dtype("float32", doc="dtype of the places")


P = TopkParams | SortParams | ArgsortParams


def _returns(p: P) -> str:
    if isinstance(p, TopkParams):
        return p.ret_typ
    return "value" if isinstance(p, SortParams) else "indices"


def has_places(p: P) -> bool:
    """The places are a second output: the gradient reads them."""
    return _returns(p) in ("value", "both")


def output_names(p: P) -> tuple[str, ...]:
    return ("output0", "output1") if has_places(p) else ("output",)


def visible(p: P) -> int:
    return 2 if _returns(p) == "both" else 1


def _rows(p: P, data: Shape) -> tuple[int, int, int, int]:
    """(elements before the axis, its length, elements behind it, how many are wanted)."""
    if p.axis is None:
        outer, n, inner = 1, prod(data), 1
    else:
        axis = normalize_axis(p.axis, len(data))
        outer, n, inner = prod(data[:axis]), data[axis], prod(data[axis + 1:])
    k = p.k if isinstance(p, TopkParams) and p.k > 0 else n
    if k > n:
        raise ShapeError(f"data has shape {data}, expected at least k={k} elements along axis "
                         f"{p.axis}")
    return outer, n, inner, k


def _chosen_shape(p: P, data: Shape) -> Shape:
    """The shape of values and places."""
    k = _rows(p, data)[3]
    if p.axis is None:
        return (k,)
    axis = p.axis % len(data)
    return (*data[:axis], k, *data[axis + 1:])


def infer_shape(p: P, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    data = ins[0]
    if _returns(p) == "mask":
        data = merge(data, outs[0], "shapes of data and output")
    if data is None or -1 in data:
        return [data], outs
    made = _chosen_shape(p, data)
    if _returns(p) != "mask":
        need_places(_rows(p, data)[1], _places_dtype(p), data)
    if _returns(p) == "mask":
        return [data], [data]
    return [data], [merge(out, made, "output shapes") for out in outs]


def _places_dtype(p: P) -> DType:
    # hidden places have no dtype that a user chose: they are exact
    if isinstance(p, SortParams) or (isinstance(p, TopkParams) and p.ret_typ == "value"):
        return INT32
    return find_dtype(p.dtype)


def infer_type(p: P, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    if _returns(p) == "indices":
        return ins, [merge_types([outs[0], _places_dtype(p)])]
    one = merge_types([ins[0], outs[0]])
    return [one], [one, *(_places_dtype(p) for _ in outs[1:])]


# ---- numpy --------------------------------------------------------------------------------------


def _ordered(p: P, rows: AnyArray, k: int) -> AnyArray:
    """Places of the first k along the middle axis."""
    rows = ordered(rows)
    if p.is_ascend:
        return np.argsort(rows, axis=1, kind="stable")[:, :k]
    n = rows.shape[1]
    # turned round twice, those that tie are in the order of their places again
    made: AnyArray = n - 1 - np.argsort(rows[:, ::-1], axis=1, kind="stable")[:, ::-1]
    return made[:, :k]


def compute(ctx: OpContext, p: P, ins: list[AnyArray], outs: list[NumpyOutput]) -> None:
    outer, n, inner, k = _rows(p, ins[0].shape)
    rows = ins[0].reshape(outer, n, inner)
    at = _ordered(p, rows, k)
    if _returns(p) == "mask":
        mask = np.zeros(rows.shape, outs[0].dtype)
        np.put_along_axis(mask, at, mask.dtype.type(1), 1)
        outs[0].write(mask.reshape(outs[0].shape))
        return
    places = [outs[-1]]
    if has_places(p):
        outs[0].write(np.take_along_axis(rows, at, 1).reshape(outs[0].shape))
    for out in places:
        out.write(convert(at.reshape(out.shape), out.dtype))


# ---- native -------------------------------------------------------------------------------------


def refuses(p: P, ins: list[NDArray]) -> str | None:
    if _returns(p) == "mask":
        return "a mask"
    if ins[0].dtype not in (FLOAT32, INT32):
        return f"data of dtype {ins[0].dtype}"
    if _places_dtype(p) not in (FLOAT32, INT32):
        return f"places of dtype {_places_dtype(p)}"
    if ins[0].size == 0 or ins[0].size >= 2**31:
        return "no elements, or too many for one count"
    return None


def _code(dtype: DType) -> int:
    return int(lib.NDRT_F32 if dtype == FLOAT32 else lib.NDRT_S32)


def _turned(dtype: DType, outer: int, length: int, inner: int) -> Any:
    """Rows of an inner axis, seen as (outer, inner, length)."""
    return strided_desc(dtype, (outer, inner, length), (length * inner, 1, inner))


def _row_source(x: NDArray, ctx: OpContext, outer: int, n: int, inner: int) -> Mem:
    """x with the axis last, in row-major order."""
    mem = get_default(x, ctx.stream)
    if inner == 1:
        return mem
    rows = ctx.stream.scratch(default_desc(x.dtype, (outer, inner, n)))
    reorder_mem(ctx.stream, mem.as_desc(_turned(x.dtype, outer, n, inner)), rows)
    return rows


def compute_ex(ctx: OpContext, p: P, ins: list[NDArray], outs: list[Output]) -> None:
    data, stream = ins[0], ctx.stream
    outer, n, inner, k = _rows(p, data.shape)
    wanted = [out for out in outs if out.requested]
    for out in wanted:
        can_add(out)
    if not wanted:
        return
    rows, x = outer * inner, _row_source(data, ctx, outer, n, inner)
    slots = min(rows, int(lib.ndrt_threads_get()))
    scratch = stream.scratch(default_desc(INT32, (
        slots * 2 * int(lib.ndrt_topk_pairs(n, k)),)))
    dtypes = (data.dtype, _places_dtype(p))
    targets: list[Output | None] = [outs[0] if has_places(p) else None, outs[-1]]
    what = sum(bit for bit, out in zip((VALUES, PLACES), targets, strict=True)
               if out is not None and out.requested)
    mems = [stream.scratch(default_desc(dtype, (outer, inner, k) if what & bit else (1,)))
            if inner > 1 or not what & bit else None
            for bit, dtype in zip((VALUES, PLACES), dtypes, strict=True)]

    def run(values: Mem, places: Mem) -> None:
        ctx.kernel(kernels.topk(
            values=values, places=places, data=x, scratch=scratch, rows=rows, n=n, k=k,
            slots=slots, dtype=_code(data.dtype), descending=not p.is_ascend, what=what,
            places_dtype=_code(dtypes[1])))
    _into(ctx, list(zip(targets, mems, dtypes, strict=True)), (outer, k, inner), [], run)


def _into(ctx: OpContext, left: list[tuple[Output | None, Mem | None, DType]],
          dims: tuple[int, int, int], made: list[Mem], run: Callable[[Mem, Mem], None]) -> None:
    """Opens the outputs that are left, runs with all of them, and turns back what was turned."""
    if not left:
        run(*made)
        return
    (out, mem, dtype), *rest = left
    if out is None or not out.requested:
        assert mem is not None
        _into(ctx, rest, dims, [*made, mem], run)
        return
    with out.open(default_desc(dtype, out.shape), ctx.stream) as y:
        _into(ctx, rest, dims, [*made, y if mem is None else mem], run)
        if mem is not None:
            reorder_mem(ctx.stream, mem, y.as_desc(_turned(dtype, *dims)))


# ---- gradients ----------------------------------------------------------------------------------


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    p: P = node.params
    if not has_places(p):
        # places are whole numbers: nothing comes back
        return [emit.zeros_like(node.inputs[0])]
    whole_params = TopkParams(
        axis=p.axis, k=p.k if isinstance(p, TopkParams) else 0, ret_typ="both",
        is_ascend=p.is_ascend, dtype=_places_dtype(p).name)
    return emit("_backward_topk", whole_params, out_grads[0], node.inputs[0], node.outputs[1])


def infer_shape_backward(p: TopkParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "data and its gradient")
    _, made = infer_shape(p, [data], [merge(ins[0], ins[2]), None])
    return [made[0], data, made[0]], [data]


def infer_type_backward(p: TopkParams, ins: TypeList, outs: TypeList,
                        ) -> tuple[TypeList, TypeList]:
    one = merge_types([*ins[:2], outs[0]])
    return [one, one, merge_types([ins[2], _places_dtype(p)])], [one]


def compute_backward(ctx: OpContext, p: TopkParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, data, places = ins
    outer, n, inner, k = _rows(p, data.shape)
    made = np.zeros((outer, n, inner), dy.dtype)
    at = whole(places).reshape(outer, k, inner)
    np.put_along_axis(made, at, dy.reshape(outer, k, inner), 1)
    outs[0].write(made.reshape(data.shape))


def refuses_backward(p: TopkParams, ins: list[NDArray]) -> str | None:
    inner = _rows(p, ins[1].shape)[2]
    if ins[0].dtype != FLOAT32 or ins[2].dtype not in (FLOAT32, INT32):
        return f"gradient of dtype {ins[0].dtype}, places of {ins[2].dtype}"
    if inner != 1 or ins[1].size == 0:
        return "rows that do not lie in one piece, or no elements"
    return None


def compute_ex_backward(ctx: OpContext, p: TopkParams, ins: list[NDArray],
                        outs: list[Output]) -> None:
    if not outs[0].requested:
        return
    dy, data, places = ins
    outer, n, _, k = _rows(p, data.shape)
    source, at = get_default(dy, ctx.stream), get_default(places, ctx.stream)
    with outs[0].open(default_desc(dy.dtype, data.shape), ctx.stream) as dx:
        ctx.kernel(kernels.topk_grad(dx=dx, dy=source, places=at, rows=outer, n=n, k=k,
                                     places_dtype=_code(places.dtype)))


_define = partial(OpDef, inputs=("data",), outputs=output_names, visible_outputs=visible,
                  infer_shape=infer_shape, infer_type=infer_type, compute=compute,
                  compute_ex=compute_ex, refuses=refuses, gradient=gradient)
_SHARED = ("Along one axis, or of data as one row. NaN counts as the greatest number; elements "
           "that tie stay in the order of their places.")

register(_define("topk", TopkParams,
                 doc="The k greatest, or smallest, elements of each row in order, or their places."
                     f"\n\n{_SHARED} The axis gets length k; a mask has data's shape and dtype. "
                     "Raises ShapeError where k is more than there are. Source: MXNet's topk; a "
                     "native kernel."))
register(_define("sort", SortParams,
                 doc=f"The elements of each row in order.\n\n{_SHARED} Shape (but for axis=None) "
                     "and dtype stay. Source: MXNet's sort; a native kernel."))
register(_define("argsort", ArgsortParams,
                 doc=f"The places of the elements of each row in order.\n\n{_SHARED} The gradient "
                     "is zero. Source: MXNet's argsort; a native kernel."))
register(OpDef("_backward_topk", TopkParams, inputs=("out_grad", "data", "places"),
               outputs=("data_grad",), infer_shape=infer_shape_backward,
               infer_type=infer_type_backward, compute=compute_backward,
               compute_ex=compute_ex_backward, refuses=refuses_backward, is_backward=True,
               no_gradient="there is no second-order gradient of it",
               doc="Zeros shaped as data, with out_grad at the places."))
