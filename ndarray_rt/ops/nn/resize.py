"""BilinearResize2D and AdaptiveAvgPooling2D: images to another size, one axis after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray, get_data, get_data_reorder, need_float32
from ..._array.ndarray import NDArray
from ..._array.output import NumpyOutput, Output
from ...dtypes import FLOAT32
from ...errors import ShapeError
from ...native import lib
from ...op.context import OpContext
from ...op.epilogue import Epilogue
from ...op.infer import ShapeList, merge, need_rank
from ...op.params import (
    Params,
    boolean,
    choice,
    integer,
    optional_number,
    params_class,
    shape,
)
from ...op.registry import Emit, GradNode, OpDef, Shape, register
from ...storage.desc import channels_last_desc, default_desc
from ...storage.kernels.vision import resize_axis
from ...storage.primitive import eltwise_post
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..fused.params import PostOpParams, with_post_ops
from ..fused.post_ops import ELTWISE, apply_chain, chain_of_params
from .pool_onednn import PoolKernel, run_forward
from .pool_window import Windows

MODES = ("size", "odd_scale", "like", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up")


@params_class
class BilinearResize2DParams(Params):
    height: int = integer(1, low=1, doc="rows of the output, with mode size")
    width: int = integer(1, low=1, doc="columns of the output, with mode size")
    scale_height: float | None = optional_number(low=0.0, high=1e4,
                                                 doc="rows of the output by those of data, with "
                                                     "modes size and odd_scale")
    scale_width: float | None = optional_number(low=0.0, high=1e4, doc="the same of columns")
    mode: str = choice(*MODES, default="size",
                       doc="size: height and width, or scales; odd_scale: n columns become "
                           "scale n of them, or scale (n - 1) + 1 where n is odd; like: the size "
                           "of a second input; else to the next even or odd number")
    align_corners: bool = boolean(True, doc="pixels at the corners stay there; else the image's "
                                            "edges do")


@params_class
class AdaptiveAvgPooling2DParams(Params):
    output_size: tuple[int, ...] = shape((), low=1, doc="(rows, columns), one number for both, "
                                                        "or () for one pixel")


@params_class
class FusedAdaptiveAvgPooling2DParams(AdaptiveAvgPooling2DParams, PostOpParams):
    """AdaptiveAvgPooling2D's parameters and the post-ops, which are elementwise functions."""


Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


# a matrix has as many elements as the two sizes multiplied
@lru_cache(maxsize=32)
def _bilinear(size: int, made: int, align: bool) -> Matrix:
    """What each of `made` places takes of each of `size` places: two neighbours."""
    if size == 0:  # of no images
        return np.zeros((made, 0))
    k = np.arange(made)
    if made == 1:
        at = k * 0.0
    elif align:
        at = k * ((size - 1) / (made - 1))
    else:
        at = np.maximum((k + 0.5) * (size / made) - 0.5, 0.0)
    first = np.minimum(at.astype(np.int64), size - 1)
    second, share = np.minimum(first + 1, size - 1), at - first
    matrix = np.zeros((made, size))
    matrix[k, first] = 1 - share
    matrix[k, second] += share
    return matrix


@lru_cache(maxsize=32)
def _mean(size: int, made: int) -> Matrix:
    """Means of windows that cover `size` places evenly, and may overlap by one."""
    k = np.arange(made)
    begin, end = k * size // made, -(-(k + 1) * size // made)
    places = np.arange(size)
    inside = (places >= begin[:, None]) & (places < end[:, None])
    matrix: Matrix = inside / np.maximum(end - begin, 1)[:, None]
    return matrix


@uses_blas
def _both(x: AnyArray, rows: Matrix, columns: Matrix) -> AnyArray:
    """rows x columns^T of each image."""
    made: AnyArray = rows.astype(x.dtype) @ x @ columns.astype(x.dtype).T
    return made


def resize_images(ctx: OpContext, kind: int, data: NDArray, out: Output) -> None:
    """The native kernel along columns, then along rows, in the layout that the data has, or in
    channels-last."""
    stream, (n, c, height, width), (*_, rows, columns) = ctx.stream, data.shape, out.shape
    is_plain = get_data(data, stream).desc.same_as == default_desc(FLOAT32, data.shape).same_as
    layout = default_desc if is_plain else channels_last_desc
    outer, inner = (n * c, 1) if is_plain else (n, c)
    x = get_data_reorder(data, layout(FLOAT32, data.shape), stream)
    between = stream.scratch(layout(FLOAT32, (n, c, height, columns)))
    with out.open(layout(FLOAT32, out.shape), stream) as y:
        ctx.kernel(resize_axis(out=between, data=x, outer=outer * height, size=width, made=columns,
                               inner=inner, kind=kind, back=False))
        ctx.kernel(resize_axis(out=y, data=between, outer=outer, size=height, made=rows,
                               inner=columns * inner, kind=kind, back=False))


def resize_back(ctx: OpContext, kind: int, grad: NDArray, out: Output) -> None:
    """The gradient of `resize_images`."""
    stream, (n, c, rows, columns), (*_, height, width) = ctx.stream, grad.shape, out.shape
    dy = get_data_reorder(grad, default_desc(FLOAT32, grad.shape), stream)
    between = stream.scratch(default_desc(FLOAT32, (n, c, height, columns)))
    with out.open(default_desc(FLOAT32, out.shape), stream) as dx:
        ctx.kernel(resize_axis(out=between, data=dy, outer=n * c, size=height, made=rows,
                               inner=columns, kind=kind, back=True))
        ctx.kernel(resize_axis(out=dx, data=between, outer=n * c * height, size=width,
                               made=columns, inner=1, kind=kind, back=True))


class Family(NamedTuple):
    """One operator: the size of its output, its matrix from one size to another, and what the
    native kernel calls that."""

    name: str
    size: Callable[[Any, tuple[int, int], Shape | None], tuple[int, int]]
    matrix: Callable[[Any, int, int], Matrix]
    kind: Callable[[Any], int]


def _resized(p: BilinearResize2DParams, size: tuple[int, int], like: Shape | None,
             ) -> tuple[int, int]:
    if p.mode == "like":
        return (-1, -1) if like is None else (like[2], like[3])
    for scale in (p.scale_height, p.scale_width):
        if scale is not None and not 0 <= scale < math.inf:
            raise ShapeError(f"scale_height={p.scale_height}, scale_width={p.scale_width}, "
                             "expected finite numbers of at least 0")
    made = []
    for n, given, scale in zip(size, (p.height, p.width), (p.scale_height, p.scale_width),
                               strict=True):
        if p.mode == "size" and scale is None:
            made.append(given)
        elif n == -1:
            made.append(-1)
        elif p.mode == "size":
            assert scale is not None
            made.append(int(n * scale))
        elif p.mode == "odd_scale":
            if scale is None:
                raise ShapeError("mode 'odd_scale' needs scale_height and scale_width")
            made.append(int((n - n % 2) * scale) + n % 2)
        else:
            fits = n % 2 == (0 if "even" in p.mode else 1)
            made.append(n if fits else n + (1 if p.mode.endswith("up") else -1))
    return made[0], made[1]


def _pooled(p: AdaptiveAvgPooling2DParams, size: tuple[int, int], like: Shape | None,
            ) -> tuple[int, int]:
    given = p.output_size or (1,)
    if len(given) > 2:
        raise ShapeError(f"output_size {given} has {len(given)} numbers, expected at most 2")
    return given[0], given[-1]


RESIZE = Family("_contrib_BilinearResize2D", _resized,
                lambda p, size, made: _bilinear(size, made, p.align_corners),
                lambda p: int(lib.NDRT_RESIZE_CORNERS if p.align_corners
                              else lib.NDRT_RESIZE_EDGES))
POOL = Family("_contrib_AdaptiveAvgPooling2D", _pooled, lambda p, size, made: _mean(size, made),
              lambda p: int(lib.NDRT_RESIZE_MEAN))


def input_names(p: BilinearResize2DParams) -> tuple[str, ...]:
    return ("data", "like") if p.mode == "like" else ("data",)


def infer_shape(family: Family, p: Any, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    data, out = ins[0], outs[0]
    like = ins[1] if len(ins) > 1 else None
    for given, name in ((data, "data"), (like, "like"), (out, "the output")):
        need_rank(given, (4,), name)
    if data is None:
        return ins, outs
    height, width = family.size(p, (data[2], data[3]), like)
    if 0 in (height, width) or (0 in data[2:] and data[0] and data[1]):
        raise ShapeError(f"data has shape {data}: images of {height} x {width} can not be made "
                         "of it")
    out = merge(out, (*data[:2], height, width), "output shapes")
    if out is not None:
        data = (*out[:2], *data[2:])
    return [data, *ins[1:]], [out]


def compute(family: Family, ctx: OpContext, p: Any, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    x, made = wide(ins[0]), outs[0].shape
    rows = family.matrix(p, x.shape[2], made[2])
    columns = family.matrix(p, x.shape[3], made[3])
    y = apply_chain(chain_of_params(p), _both(x, rows, columns), ())
    outs[0].write(y.astype(ins[0].dtype, copy=False))


def refuses(p: Any, ins: list[NDArray]) -> str | None:
    return need_float32(ins[0])


def compute_ex(family: Family, ctx: OpContext, p: Any, ins: list[NDArray],
               outs: list[Output]) -> None:
    resize_images(ctx, family.kind(p), ins[0], outs[0])


def compute_ex_pool(ctx: OpContext, p: AdaptiveAvgPooling2DParams, ins: list[NDArray],
                    outs: list[Output]) -> None:
    chain, size = chain_of_params(p), ins[0].shape[2:]
    if not chain:
        resize_images(ctx, lib.NDRT_RESIZE_MEAN, ins[0], outs[0])
        return
    kernel = PoolKernel(lib.NDRT_POOLING_AVG_EXCLUDE_PADDING,
                        Windows(size, (1, 1), (0, 0), size, (1, 1)), False)
    run_forward(ctx, kernel, ins[0], outs[0], tuple([
        eltwise_post(ELTWISE[op.name][0], op.alpha, op.beta) for op in chain]))


def gradient(family: Family, emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    made = emit(f"_backward{family.name}", node.params, out_grads[0], node.inputs[0])
    return [made[0], *[None] * (len(node.inputs) - 1)]


def gradient_backward(family: Family, emit: Emit, node: GradNode, out_grads: Sequence[Any],
                      ) -> list[Any]:
    # the gradient of the output has the size that a second input would give
    like = node.inputs[:1] if getattr(node.params, "mode", "") == "like" else []
    return [emit(family.name, node.params, out_grads[0], *like)[0], None]


def infer_shape_backward(p: Any, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    data = merge(ins[1], outs[0], "shapes of data and its gradient")
    return [ins[0], data], [data]


def compute_backward(family: Family, ctx: OpContext, p: Any, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    dy, size = wide(ins[0]), ins[1].shape
    rows = family.matrix(p, size[2], dy.shape[2])
    columns = family.matrix(p, size[3], dy.shape[3])
    outs[0].write(_both(dy, rows.T, columns.T).astype(ins[0].dtype, copy=False))


def compute_ex_backward(family: Family, ctx: OpContext, p: Any, ins: list[NDArray],
                        outs: list[Output]) -> None:
    resize_back(ctx, family.kind(p), ins[0], outs[0])


def _register(family: Family, params: type[Params], inputs: Any, run: Any, doc: str,
              epilogue: Epilogue | None = None) -> OpDef:
    made = register(OpDef(
        family.name, params, inputs=inputs, infer_shape=partial(infer_shape, family),
        infer_type=same_float_type, compute=partial(compute, family), compute_ex=run,
        refuses=refuses, gradient=partial(gradient, family),
        ignores=lambda p: tuple(range(1, len(inputs(p)))) if callable(inputs) else (),
        epilogue=epilogue, doc=doc))
    register(OpDef(f"_backward{family.name}", params, inputs=("out_grad", "data"),
                   outputs=("data_grad",), infer_shape=infer_shape_backward,
                   infer_type=same_float_type, compute=partial(compute_backward, family),
                   compute_ex=partial(compute_ex_backward, family), refuses=refuses,
                   ignores=(1,), gradient=partial(gradient_backward, family),
                   is_backward=True))
    return made


_register(RESIZE, BilinearResize2DParams, input_names, partial(compute_ex, RESIZE),
          "Images of another size, each pixel from its four neighbours.\n\n"
          "data (N, C, H, W); the output's size follows from mode. One float dtype. Raises "
          "ShapeError for an output without pixels. Source: MXNet's contrib.BilinearResize2D; a "
          "native kernel.")
# several windows may overlap: these have no primitive, so nothing is fused into them
ADAPTIVE = _register(
    POOL, AdaptiveAvgPooling2DParams, ("data",), compute_ex_pool,
    "Images of another size, each pixel the mean of a window; windows cover the image evenly.\n\n"
    "data (N, C, H, W), output (N, C, *output_size). Row i of n is made of rows floor(i H / n) up "
    "to ceil((i + 1) H / n). One float dtype. Source: MXNet's contrib.AdaptiveAvgPooling2D; a "
    "native kernel.",
    Epilogue(f"_fused_{POOL.name}", takes=lambda p: set(p.output_size) <= {1}))
register(with_post_ops(
    ADAPTIVE, FusedAdaptiveAvgPooling2DParams,
    "AdaptiveAvgPooling2D to one pixel, and what is done to its result.\n\n"
    "data (N, C, H, W). Made by passes. Source: oneDNN pooling with post-ops."))
