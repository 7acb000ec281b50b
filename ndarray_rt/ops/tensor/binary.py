"""Functions of two arrays of one shape, element by element: elemwise_add and its family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..._array.layout import AnyArray, get_default, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...native import lib
from ...op.context import OpContext
from ...op.elementwise import Elementwise, X, Y
from ...op.infer import same_shape, same_type
from ...op.params import NoParams
from ...op.registry import Emit, Gradient, GradNode, OpDef, register
from ...storage.kernels.reduce import arithmetic
from .axis_kernels import kernel_kind, need_kind
from .numeric import BINARY, LOGIC, SMOOTH
from .places import can_add
from .pointwise import FLOAT_NUM, binary

# (algorithm, are the operands swapped). oneDNN's max and min lose a NaN, its > and >= find it
# greater than anything.
ALGS = {
    "add": (lib.NDRT_BINARY_ADD, False), "sub": (lib.NDRT_BINARY_SUB, False),
    "mul": (lib.NDRT_BINARY_MUL, False), "div": (lib.NDRT_BINARY_DIV, False),
    "equal": (lib.NDRT_BINARY_EQ, False), "not_equal": (lib.NDRT_BINARY_NE, False),
    "lesser": (lib.NDRT_BINARY_LT, False), "lesser_equal": (lib.NDRT_BINARY_LE, False),
    "greater": (lib.NDRT_BINARY_LT, True), "greater_equal": (lib.NDRT_BINARY_LE, True),
}
NAMES: dict[str, tuple[str, ...]] = {
    "add": ("elemwise_add", "_add", "_plus", "_Plus", "_grad_add"),
    "sub": ("elemwise_sub", "_sub", "_minus", "_Minus"),
    "mul": ("elemwise_mul", "_mul", "_Mul"),
    "div": ("elemwise_div", "_div", "_Div"),
    "mod": ("_mod", "_Mod"),
    "power": ("_power", "_Power"),
    "maximum": ("_maximum", "_Maximum"),
    "minimum": ("_minimum", "_Minimum"),
    "hypot": ("_hypot", "_Hypot"),
    "equal": ("_equal", "_Equal"),
    "not_equal": ("_not_equal", "_Not_Equal"),
    "greater": ("_greater", "_Greater"),
    "greater_equal": ("_greater_equal", "_Greater_Equal"),
    "lesser": ("_lesser", "_Lesser"),
    "lesser_equal": ("_lesser_equal", "_Lesser_Equal"),
    "logical_and": ("_logical_and", "_Logical_And"),
    "logical_or": ("_logical_or", "_Logical_Or"),
    "logical_xor": ("_logical_xor", "_Logical_Xor"),
}
FORMULA = {
    "add": "lhs + rhs", "sub": "lhs - rhs", "mul": "lhs * rhs",
    "div": "lhs / rhs; integers are divided towards zero",
    "mod": "lhs - rhs * floor(lhs / rhs), with the sign of rhs; 0 where rhs is 0",
    "power": "lhs to the power of rhs", "maximum": "the greater of the two; NaN if either is",
    "minimum": "the lesser of the two; NaN if either is",
    "hypot": "sqrt(lhs**2 + rhs**2)", "equal": "1 where lhs == rhs, else 0",
    "not_equal": "1 where lhs != rhs, else 0", "greater": "1 where lhs > rhs, else 0",
    "greater_equal": "1 where lhs >= rhs, else 0", "lesser": "1 where lhs < rhs, else 0",
    "lesser_equal": "1 where lhs <= rhs, else 0",
    "logical_and": "1 where both are not 0, else 0",
    "logical_or": "1 where one of them is not 0, else 0",
    "logical_xor": "1 where just one of them is not 0, else 0",
}


def compute(key: str, ctx: OpContext, p: NoParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(BINARY[key].forward(ins[0], ins[1]))


# what a native kernel computes in other dtypes, and where oneDNN loses NaN
KERNELS = {
    "add": lib.NDRT_ARITHMETIC_ADD, "sub": lib.NDRT_ARITHMETIC_SUB,
    "mul": lib.NDRT_ARITHMETIC_MUL, "maximum": lib.NDRT_ARITHMETIC_MAX,
    "minimum": lib.NDRT_ARITHMETIC_MIN, "equal": lib.NDRT_ARITHMETIC_EQ,
    "not_equal": lib.NDRT_ARITHMETIC_NE, "greater": lib.NDRT_ARITHMETIC_GT,
    "greater_equal": lib.NDRT_ARITHMETIC_GE, "lesser": lib.NDRT_ARITHMETIC_LT,
    "lesser_equal": lib.NDRT_ARITHMETIC_LE,
}


def refuses(key: str, p: NoParams, ins: list[NDArray]) -> str | None:
    reason = need_float32(*ins)
    return reason and (need_kind(*ins) if key in KERNELS else reason)


def _kernel(key: str, ctx: OpContext, a: NDArray, b: NDArray, out: Output) -> None:
    if not out.requested:
        return
    can_add(out)
    left, right = get_default(a, ctx.stream), get_default(b, ctx.stream)
    with out.open(left.desc, ctx.stream, inplace_of=left) as y:
        ctx.kernel(arithmetic(out=y, left=left, right=right, n=a.size,
                              kind=kernel_kind(a.dtype) or 0, what=KERNELS[key]))


def compute_ex(key: str, ctx: OpContext, p: NoParams, ins: list[NDArray],
               outs: list[Output]) -> None:
    if key not in ALGS or ins[0].dtype.num != FLOAT_NUM:
        _kernel(key, ctx, ins[0], ins[1], outs[0])
        return
    alg, swapped = ALGS[key]
    a, b = reversed(ins) if swapped else ins
    binary(ctx, "binary", alg, a, b, outs[0])


# ---- gradients ---------------------------------------------------------------------------------


def _add_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0], out_grads[0]]


def _sub_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return [out_grads[0], emit("negative", None, out_grads[0])[0]]


def _mul_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    a, b = node.inputs
    return [emit("elemwise_mul", None, out_grads[0], b)[0],
            emit("elemwise_mul", None, out_grads[0], a)[0]]


def _div_gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    da = emit("elemwise_div", None, out_grads[0], node.inputs[1])[0]
    return [da, emit("negative", None, emit("elemwise_mul", None, da, node.outputs[0])[0])[0]]


def _smooth_gradient(key: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(f"_backward_broadcast_{key}", None, out_grads[0], *node.inputs)


GRADIENTS: dict[str, Gradient] = {
    "add": _add_gradient, "sub": _sub_gradient, "mul": _mul_gradient, "div": _div_gradient,
    **{key: partial(_smooth_gradient, key) for key in SMOOTH},
}


def _define(key: str) -> OpDef:
    name, *aliases = NAMES[key]
    native: Callable[..., None] | None = None
    if key in ALGS or key in KERNELS:
        native = partial(compute_ex, key)
    return OpDef(
        name, NoParams, inputs=("lhs", "rhs"), infer_shape=same_shape, infer_type=same_type,
        compute=partial(compute, key), compute_ex=native,
        refuses=partial(refuses, key) if native else None,
        gradient=GRADIENTS.get(key),
        no_gradient="zero: a step has no slope" if key in LOGIC else "",
        inplace={0: 0}, aliases=tuple(aliases), elementwise=Elementwise(key, (X, Y)),
        per_sample=True,
        doc=f"Of two arrays of one shape, element by element: {FORMULA[key]}.\n\n"
            f"lhs and rhs have one shape and one dtype, which the output has too. Source: MXNet's "
            f"{name}" + ("; oneDNN binary, a native kernel." if native else "; numpy."))


for _key in NAMES:
    register(_define(_key))
