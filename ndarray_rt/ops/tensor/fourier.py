"""_contrib_fft and _contrib_ifft: discrete Fourier transforms along the last axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge, need_rank
from ...op.params import Params, integer, params_class
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ..floats import same_float_type

RANKS = (2, 4)


@params_class
class FourierParams(Params):
    compute_size: int = integer(128, low=1, doc="accepted and without effect: rows that a GPU "
                                                "transforms at a time")


def _doubled(shape: Shape) -> Shape:
    return (*shape[:-1], shape[-1] if shape[-1] == -1 else 2 * shape[-1])


def _halved(shape: Shape, what: str) -> Shape:
    if shape[-1] == -1:
        return shape
    if shape[-1] % 2:
        raise ShapeError(f"{what} has shape {shape}, expected an even last axis: a real and an "
                         "imaginary part of each number")
    return (*shape[:-1], shape[-1] // 2)


def _ranks(data: Shape | None, out: Shape | None) -> None:
    need_rank(data, RANKS, "data")
    need_rank(out, RANKS, "the output")


def infer_shape_fft(p: FourierParams, ins: ShapeList, outs: ShapeList,
                    ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    _ranks(data, out)
    if out is not None:
        data = merge(data, _halved(out, "the output"), "shapes of data and output")
    if data is not None:
        out = merge(out, _doubled(data), "output shapes")
    return [data], [out]


def infer_shape_ifft(p: FourierParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    _ranks(data, out)
    if out is not None:
        data = merge(data, _doubled(out), "shapes of data and output")
    if data is not None:
        out = merge(out, _halved(data, "data"), "output shapes")
    return [data], [out]


def compute_fft(ctx: OpContext, p: FourierParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
    made = np.zeros(outs[0].shape, np.float64)
    if made.size:
        found = np.fft.fft(ins[0].astype(np.float64))
        made[..., ::2], made[..., 1::2] = found.real, found.imag
    outs[0].write(made.astype(ins[0].dtype))


def compute_ifft(ctx: OpContext, p: FourierParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    made = np.zeros(outs[0].shape, np.float64)
    if made.size:
        x = ins[0].astype(np.float64)
        # norm="forward": the backward transform is not divided by the length
        made = np.fft.ifft(x[..., ::2] + 1j * x[..., 1::2], norm="forward").real
    outs[0].write(made.astype(ins[0].dtype))


def gradient(other: str, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit(other, node.params, out_grads[0])


def _register(name: str, other: str, infer_shape: Callable[..., Any],
              compute: Callable[..., None], doc: str) -> None:
    register(OpDef(name, FourierParams, inputs=("data",), infer_shape=infer_shape,
                   infer_type=same_float_type, compute=compute, gradient=partial(gradient, other),
                   doc=f"{doc} One float dtype. Source: MXNet's {name}, which runs on GPUs only; "
                       "numpy, in double precision."))


_register("_contrib_fft", "_contrib_ifft", infer_shape_fft, compute_fft,
          "The discrete Fourier transform of each row of real numbers.\n\n(n, d), or rank 4, to "
          "(n, 2 d): real and imaginary part of each number in turn.")
_register("_contrib_ifft", "_contrib_fft", infer_shape_ifft, compute_ifft,
          "The real part of the inverse Fourier transform of each row of complex numbers.\n\n"
          "(n, 2 d), or rank 4, to (n, d): real and imaginary part of each number in turn. It is "
          "not divided by d: of _contrib_fft(x) it gives d x.")
