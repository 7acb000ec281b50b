"""Operators and functions with one fault each, for the checks to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ndarray_rt as mx
from ndarray_rt import op
from ndarray_rt._array.req import Req
from ndarray_rt.native import ffi
from ndarray_rt.storage.handle import Handle

SHAPE = (2, 20, 2, 3)
KEPT: list[Any] = []


def softsquare(x: np.ndarray) -> np.ndarray:
    """What the operators here compute when they are right: smooth, and 0 at 0."""
    return np.square(x)


def right(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(softsquare(ins[0]))


def right_ex(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    x = op.get_data(ins[0], ctx.stream)

    def build() -> Any:
        return op.make_primitive(op.Kind.ELTWISE, op.Direction.FORWARD_INFERENCE,
                                 alg=op.lib.NDRT_ELTWISE_SQUARE, src=x.desc, dst=x.desc)
    with outs[0].open(x.desc, ctx.stream, inplace_of=x) as y:
        ctx.run(ctx.primitive(("square_under_test", x.desc.id), build),
                ((op.Arg.SRC, x), (op.Arg.DST, y)))


def slope(emit: Any, node: Any, out_grads: Any) -> list[Any]:
    twice = emit("_mul_scalar", {"scalar": 2.0}, node.inputs[0])
    return emit("elemwise_mul", None, out_grads[0], *twice)


def wrong_slope(emit: Any, node: Any, out_grads: Any) -> list[Any]:
    return emit("elemwise_mul", None, out_grads[0], node.inputs[0])


def operator(compute: Callable[..., None] = right, compute_ex: Callable[..., None] | None = None,
             gradient: Any = slope, **facts: Any) -> op.OpDef:
    return op.OpDef("square_under_test", op.NoParams, inputs=("data",),
                    infer_shape=op.same_shape, infer_type=op.same_type, compute=compute,
                    compute_ex=compute_ex, gradient=gradient, doc="A square.",
                    refuses=None if compute_ex is None else (lambda p, i: op.need_float32(*i)),
                    **facts)


def wrong_number(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    y = softsquare(ins[0])
    y[1, 19, 1, 2] += 0.01
    outs[0].write(y)


def wrong_number_in_blocks(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    right_ex(ctx, p, ins, outs)
    chunk = outs[0].array._chunk
    if chunk.is_special and not outs[0].array.is_view:
        np.frombuffer(ffi.buffer(chunk.handle.ptr, 4), np.float32)[0] += 1


def changes_input(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].write(softsquare(ins[0]))
    outs[0].own()
    ins[0].flat[0] = 7


def ignores_request(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    outs[0].req = Req.kWriteTo
    outs[0].write(softsquare(ins[0]))


def dirties_padding(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    right_ex(ctx, p, ins, outs)
    chunk = outs[0].array._chunk
    if chunk.mkl_mem is not None and chunk.mkl_mem.is_padded:
        np.frombuffer(ffi.buffer(chunk.handle.ptr, chunk.mkl_mem.nbytes), np.float32)[-1] = 1


def leaks(ctx: Any, p: Any, ins: list[Any], outs: list[Any]) -> None:
    KEPT.append(Handle(100))
    right(ctx, p, ins, outs)


# ---- functions of arrays ----------------------------------------------------------------------


def square(x: Any) -> Any:
    return x * x


def square_of_default_only(x: Any) -> Any:
    """Wrong for an array in a special layout."""
    return x * x + (1.0 if x.is_special else 0.0)


def square_in_place(x: Any) -> Any:
    """Right, and writes into its argument."""
    if mx.autograd.is_recording():
        return x * x
    y = x * x
    x[:] = 1
    return y


def square_that_keeps(x: Any) -> Any:
    KEPT.append(Handle(100))
    return x * x


class BadSquare(mx.autograd.Function):
    """A square whose gradient is that of half of it."""

    def forward(self, x: Any) -> Any:
        self.save_for_backward(x)
        return x * x

    def backward(self, dy: Any) -> Any:
        return dy * self.saved_tensors[0]


class SquareWithLostChannel(mx.autograd.Function):
    """A square whose gradient is wrong for arrays in a special layout."""

    def forward(self, x: Any) -> Any:
        self.save_for_backward(x)
        return x * x

    def backward(self, dy: Any) -> Any:
        x, = self.saved_tensors
        return dy * x * (3 if x.is_special else 2)
