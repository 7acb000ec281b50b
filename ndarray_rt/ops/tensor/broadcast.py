"""Functions of two arrays that are broadcast against each other, and the sum that undoes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X, Y
from ...op.infer import ShapeList, TypeList, merge, merge_types, same_type
from ...op.params import NoParams
from ...op.registry import Emit, Gradient, GradNode, OpDef, Shape, register
from .binary import ALGS, FORMULA, KERNELS
from .binary import compute as compute_elemwise
from .binary import compute_ex as compute_ex_elemwise
from .binary import refuses as refuses_elemwise
from .numeric import BINARY, LOGIC, SMOOTH, convert, is_integer, times_slope, wide
from .pointwise import binary_broadcast, reshape, sum_to
from .smooth_curves import second_order

COMMUTES = ("add", "mul", "equal", "not_equal")
ALIASES = {"add": ("broadcast_plus",), "sub": ("broadcast_minus",)}


def infer_shape(p: NoParams, ins: ShapeList, outs: ShapeList) -> tuple[ShapeList, ShapeList]:
    a, b = ins
    if a is None or b is None:
        return ins, outs
    rank = max(len(a), len(b))
    dims = []
    for x, y in zip(summed_dims(rank, a), summed_dims(rank, b), strict=True):
        if x != y and x > -1 and y > -1 and 1 not in (x, y):
            raise ShapeError(f"rhs has shape {b}, expected one that broadcasts with lhs {a}")
        dims.append(_broadcast_dim(x, y))
    return ins, [merge(outs[0], tuple(dims), "output shapes")]


def _broadcast_dim(x: int, y: int) -> int:
    """The dimension that x and y make together; an unknown one can only be 1 or the other."""
    if x == 1 or y == 1:
        return y if x == 1 else x
    return y if x == -1 else x


def compute_ex(key: str, ctx: OpContext, p: NoParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    a, b = ins
    if a.shape == b.shape:
        compute_ex_elemwise(key, ctx, p, ins, outs)
        return
    alg, _ = ALGS[key]
    turned = a.size != outs[0].array.size == b.size and key in (*COMMUTES, "sub")
    full, part = (b, a) if turned else (a, b)
    # a - b as b - a, turned round by a factor of -1, is exact
    binary_broadcast(ctx, "broadcast", alg, full, part, outs[0],
                     -1.0 if key == "sub" and turned else 1.0)


def refuses(key: str, p: NoParams, ins: list[NDArray]) -> str | None:
    a, b = ins
    if a.shape == b.shape:
        return refuses_elemwise(key, p, ins)
    if key not in ALGS:
        return f"oneDNN's {key} loses NaN"
    if ALGS[key][1]:
        return f"oneDNN's {key} finds NaN greater than anything"
    return need_float32(a, b)


# ---- gradients ---------------------------------------------------------------------------------


def _add_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [_reduced(emit, out_grads[0], entry) for entry in node.inputs]


def _sub_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    da, db = _add_gradient(emit, node, out_grads)
    return [da, emit("negative", None, db)[0]]


def _mul_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    a, b = node.inputs
    return [_reduced(emit, emit("broadcast_mul", None, out_grads[0], other)[0], entry)
            for entry, other in ((a, b), (b, a))]


def _div_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    a, b = node.inputs
    whole = emit("broadcast_div", None, out_grads[0], b)[0]
    db = _reduced(emit, emit("elemwise_mul", None, whole, node.outputs[0])[0], b)
    return [_reduced(emit, whole, a), emit("negative", None, db)[0]]


def _smooth_gradient(key: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(f"_backward_broadcast_{key}", None, out_grads[0], *node.inputs)


def _reduced(emit: Emit, grad: Any, entry: Any) -> Any:
    """A gradient summed to the shape of the input it belongs to."""
    return emit("_broadcast_reduce", None, grad, entry)[0]


GRADIENTS: dict[str, Gradient] = {
    "add": _add_gradient, "sub": _sub_gradient, "mul": _mul_gradient, "div": _div_gradient,
    **{key: partial(_smooth_gradient, key) for key in SMOOTH},
}


def infer_shape_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    _, (whole,) = infer_shape(p, ins[1:], [ins[0]])
    grads = [merge(outs[i], ins[i + 1], "gradient and input shapes") for i in (0, 1)]
    return [whole, *grads], grads


def compute_backward(key: str, ctx: OpContext, p: NoParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, a, b = ins
    function = BINARY[key]
    for out, slope in zip(outs, (function.slope_a, function.slope_b), strict=True):
        if not out.requested or slope is None:
            continue
        if is_integer(dy.dtype):
            grad = np.zeros_like(dy) if function.steps else times_slope(dy, slope(wide(a), wide(b)))
        else:
            grad = wide(dy) * slope(wide(a), wide(b))
        out.write(convert(sum_to_shape(grad, out.shape), dy.dtype))


# ---- the sum that undoes a broadcast ------------------------------------------------------------


def summed_dims(rank: int, target: Shape) -> Shape:
    """`target` with leading 1s up to a rank."""
    return (1,) * (rank - len(target)) + target


def sum_to_shape(x: AnyArray, shape: Shape) -> AnyArray:
    """`x` summed over the axes along which `shape` was broadcast to it."""
    if x.shape == shape:
        return x
    dims = summed_dims(x.ndim, shape)
    axes = tuple(i for i, (d, s) in enumerate(zip(x.shape, dims, strict=True)) if d != s)
    made: AnyArray = x.sum(axis=axes, dtype=x.dtype, keepdims=True)
    return made.reshape(shape)


def infer_shape_reduce(p: NoParams, ins: ShapeList, outs: ShapeList,
                       ) -> tuple[ShapeList, ShapeList]:
    data, like = ins
    target = merge(outs[0], like, "output and like")
    if data is not None and target is not None and (len(target) > len(data) or any(
            s not in (1, -1, d) and d != -1
            for d, s in zip(data, summed_dims(len(data), target), strict=False))):
        raise ShapeError(f"data has shape {data}, expected one that like {target} "
                         "broadcasts to")
    return [data, target], [target]


def infer_type_first(p: NoParams, ins: TypeList, outs: TypeList) -> tuple[TypeList, TypeList]:
    """The dtype of the first input; the second one's does not matter."""
    one = merge_types([ins[0], outs[0]])
    return [one, *ins[1:]], [one]


def compute_reduce(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    outs[0].write(convert(sum_to_shape(wide_float(ins[0]), outs[0].shape), ins[0].dtype))


def wide_float(x: AnyArray) -> AnyArray:
    """Halves as floats, so that a long sum keeps its digits; the rest as it is."""
    return wide(x) if x.dtype.kind not in "iub" else x


def compute_ex_reduce(ctx: OpContext, p: NoParams, ins: list[NDArray],
                      outs: list[Output]) -> None:
    data, out = ins[0], outs[0]
    if data.size == out.array.size:
        reshape(ctx, data, out)
    else:
        sum_to(ctx, "_broadcast_reduce", data, summed_dims(len(data.shape), out.shape), out)


def refuses_reduce(p: NoParams, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0])


def gradient_reduce(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [emit("broadcast_add", None, out_grads[0], emit.zeros_like(node.inputs[0]))[0], None]


def _define(key: str) -> OpDef:
    name = f"broadcast_{key}"
    native: Callable[..., None] | None = None
    if key in ALGS or key in KERNELS:
        native = partial(compute_ex, key)
    return OpDef(
        name, NoParams, inputs=("lhs", "rhs"), infer_shape=infer_shape, infer_type=same_type,
        compute=partial(compute_elemwise, key), compute_ex=native,
        refuses=partial(refuses, key) if native else None, gradient=GRADIENTS.get(key),
        no_gradient="zero: a step has no slope" if key in LOGIC else "",
        inplace={0: 0}, aliases=ALIASES.get(key, ()), elementwise=Elementwise(key, (X, Y)),
        doc=f"Of two arrays broadcast against each other: {FORMULA[key]}.\n\n"
            "Shapes are lined up at their last axes; axes of size 1 and missing ones repeat. "
            f"One dtype, which the output has too. Source: MXNet's {name}"
            + ("; oneDNN binary, a native kernel." if native else "; numpy."))


def _define_backward(key: str) -> OpDef:
    return OpDef(
        f"_backward_broadcast_{key}", NoParams, inputs=("out_grad", "lhs", "rhs"),
        outputs=("lhs_grad", "rhs_grad"), infer_shape=infer_shape_backward, infer_type=same_type,
        compute=partial(compute_backward, key), gradient=second_order(key), is_backward=True,
        doc=f"Both gradients of broadcast_{key}, each summed to the shape of its operand.")


for _key in FORMULA:
    register(_define(_key))
for _key in SMOOTH:
    register(_define_backward(_key))
register(OpDef("_broadcast_reduce", NoParams, inputs=("data", "like"),
               infer_shape=infer_shape_reduce, infer_type=infer_type_first, compute=compute_reduce,
               compute_ex=compute_ex_reduce, refuses=refuses_reduce, gradient=gradient_reduce,
               inplace={0: 0}, ignores=(1,),
               doc="Sums data to the shape of like, over the axes along which like was broadcast "
                   "to data.\n\nThe gradient of broadcasting. Source: oneDNN reduction and a "
                   "native kernel."))
