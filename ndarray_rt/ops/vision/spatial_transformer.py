"""GridGenerator, BilinearSampler and SpatialTransformer: images sampled at computed places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import NoParams, Params, choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, register
from ..blas import uses_blas
from ..floats import same_float_type, wide
from .sampling import Corner, corners, data_gradient, place_gradients, sample
from .shared import fits


@params_class
class GridGeneratorParams(Params):
    transform_type: str = choice("affine", "warp", doc="affine: data are matrices; warp: data are "
                                                       "shifts of each pixel")
    target_shape: tuple[int, ...] = shape((0, 0), low=0, doc="height and width for affine")

    def target(self) -> tuple[int, int]:
        """Height and width for affine."""
        if len(self.target_shape) != 2 or 0 in self.target_shape:
            raise ShapeError(f"target_shape is {self.target_shape}, expected a height and a width "
                             "above 0 with affine")
        return self.target_shape[0], self.target_shape[1]


@params_class
class SpatialTransformerParams(Params):
    transform_type: str = choice("affine", doc="loc are matrices")
    sampler_type: str = choice("bilinear", doc="samples are bilinear")
    target_shape: tuple[int, ...] = shape((0, 0), low=0, doc="height and width of the output")


# ---- GridGenerator ------------------------------------------------------------------------------

def infer_shape_grid(p: GridGeneratorParams, ins: ShapeList, outs: ShapeList,
                     ) -> tuple[ShapeList, ShapeList]:
    if p.transform_type == "warp":
        both = fits(merge(ins[0], outs[0], "shapes of data and output"), (-1, 2, -1, -1), "data")
        return [both], [both]
    data = fits(ins[0], (-1, 6), "data")
    out = fits(outs[0], (-1, 2, *p.target()), "the output")
    out = merge(out, (-1 if data is None else data[0], 2, *p.target()), "batches")
    return [merge(data, (-1 if out is None else out[0], 6), "batches")], [out]


def _targets(height: int, width: int, dtype: Any) -> AnyArray:
    """x, y and 1 for each pixel, (3, pixels); x and y within -1 and 1."""
    y, x = np.divmod(np.arange(height * width), width)
    made = [-1 + at * (np.float64(2) / (length - 1)) for at, length in ((x, width), (y, height))]
    return np.stack([*made, np.ones(height * width)]).astype(dtype)


def _middles(height: int, width: int, dtype: Any) -> AnyArray:
    """Half of width and height less one, beside a warp."""
    return np.array([(width - 1) / 2, (height - 1) / 2], dtype)[:, None, None]


@uses_blas
def compute_grid(ctx: OpContext, p: GridGeneratorParams, ins: list[AnyArray],
                 outs: list[NumpyOutput]) -> None:
    data = wide(ins[0])
    out = outs[0].shape
    if p.transform_type == "affine":
        made = data.reshape(out[0] * 2, 3) @ _targets(out[2], out[3], data.dtype)
    else:
        y, x = np.indices(out[2:], dtype=data.dtype)
        made = (data + np.stack([x, y])) / _middles(out[2], out[3], data.dtype) - 1
    outs[0].write(made.reshape(out).astype(ins[0].dtype, copy=False))


def gradient_grid(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_GridGenerator", node.params, out_grads[0])


def infer_shape_grid_backward(p: GridGeneratorParams, ins: ShapeList, outs: ShapeList,
                              ) -> tuple[ShapeList, ShapeList]:
    data, out = infer_shape_grid(p, outs, ins)
    return out, data


@uses_blas
def compute_grid_backward(ctx: OpContext, p: GridGeneratorParams, ins: list[AnyArray],
                          outs: list[NumpyOutput]) -> None:
    dy = wide(ins[0])
    batch, _, height, width = dy.shape
    if p.transform_type == "affine":
        made = (dy.reshape(batch * 2, height * width) @ _targets(height, width, dy.dtype).T
                ).reshape(batch, 6)
    else:
        made = dy / _middles(height, width, dy.dtype)
    outs[0].write(made.astype(ins[0].dtype, copy=False))


# ---- BilinearSampler ----------------------------------------------------------------------------

def infer_shape_sampler(p: NoParams, ins: ShapeList, outs: ShapeList,
                        ) -> tuple[ShapeList, ShapeList]:
    data, out = fits(ins[0], (-1,) * 4, "data"), fits(outs[0], (-1,) * 4, "the output")
    grid = fits(ins[1], (-1 if data is None else data[0], 2, -1, -1), "grid")
    made = (*(data[:2] if data else (-1, -1)), *(grid[2:] if grid else (-1, -1)))
    if grid is not None:
        made = (max(made[0], grid[0]), *made[1:])
    out = merge(out, made, "output shapes")
    if out is not None:
        data = merge(data, (*out[:2], -1, -1), "batches and channels")
        grid = merge(grid, (out[0], 2, *out[2:]), "shapes of grid and output")
    return [data, grid], [out]


def _places(grid: AnyArray, height: int, width: int) -> list[Corner]:
    flat = grid.reshape(grid.shape[0], 2, grid.shape[2] * grid.shape[3])
    x, y = ((flat[:, i] + 1) * (length - 1) / 2 for i, length in ((0, width), (1, height)))
    return corners(y, x, height, width)


def compute_sampler(ctx: OpContext, p: Any, ins: list[AnyArray],
                    outs: list[NumpyOutput]) -> None:
    data, grid = wide(ins[0]), wide(ins[1])
    made = sample(data, _places(grid, *data.shape[2:]))
    outs[0].write(made.reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


def gradient_sampler(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    return emit("_backward_BilinearSampler", None, out_grads[0], *node.inputs)


def infer_shape_sampler_backward(p: NoParams, ins: ShapeList, outs: ShapeList,
                                 ) -> tuple[ShapeList, ShapeList]:
    given = [merge(a, b) for a, b in zip(ins[1:], outs, strict=True)]
    known, (out,) = infer_shape_sampler(p, given, [ins[0]])
    return [out, *known], known


def compute_sampler_backward(ctx: OpContext, p: NoParams, ins: list[AnyArray],
                             outs: list[NumpyOutput]) -> None:
    dy, data, grid = (wide(x) for x in ins)
    height, width = data.shape[2:]
    flat = dy.reshape(*dy.shape[:2], dy.shape[2] * dy.shape[3])
    places = _places(grid, height, width)
    rows, columns = place_gradients(flat, data, places)
    both = np.stack([columns * (width - 1) / 2, rows * (height - 1) / 2], 1)
    dtype = ins[0].dtype
    outs[0].write(data_gradient(flat, places, data.shape).astype(dtype, copy=False))
    outs[1].write(both.reshape(grid.shape).astype(dtype, copy=False))


# ---- SpatialTransformer -------------------------------------------------------------------------

def _grid_params(p: SpatialTransformerParams) -> GridGeneratorParams:
    return GridGeneratorParams.parse({"transform_type": "affine", "target_shape": p.target_shape},
                                     "GridGenerator")


def infer_shape_transformer(p: SpatialTransformerParams, ins: ShapeList, outs: ShapeList,
                            ) -> tuple[ShapeList, ShapeList]:
    (loc,), (grid,) = infer_shape_grid(_grid_params(p), [ins[1]], [None])
    (data, grid), outs = infer_shape_sampler(NoParams(), [ins[0], grid], outs)
    (loc,), _ = infer_shape_grid(_grid_params(p), [loc], [grid])
    return [data, loc], outs


@uses_blas
def compute_transformer(ctx: OpContext, p: SpatialTransformerParams, ins: list[AnyArray],
                        outs: list[NumpyOutput]) -> None:
    data, loc = wide(ins[0]), wide(ins[1])
    height, width = p.target_shape
    grid = (loc.reshape(-1, 3) if loc.size else loc.reshape(0, 3)) @ _targets(height, width,
                                                                              loc.dtype)
    made = sample(data, _places(grid.reshape(loc.shape[0], 2, height, width), *data.shape[2:]))
    outs[0].write(made.reshape(outs[0].shape).astype(ins[0].dtype, copy=False))


def gradient_transformer(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    data, loc = node.inputs
    params = _grid_params(node.params)
    grid = emit("GridGenerator", params, loc)[0]
    d_data, d_grid = emit("_backward_BilinearSampler", None, out_grads[0], data, grid)
    return [d_data, emit("_backward_GridGenerator", params, d_grid)[0]]


_OUTSIDE = "Pixels beyond the image count as zero. One float dtype. "

register(OpDef("GridGenerator", GridGeneratorParams, inputs=("data",),
               infer_shape=infer_shape_grid, infer_type=same_float_type, compute=compute_grid,
               gradient=gradient_grid, names_data=True,
               doc="Places for BilinearSampler: x and y within -1 and 1 for each pixel.\n\n"
                   "affine: data (N, 6), matrices of two rows that take (x, y, 1); warp: data (N, "
                   "2, H, W), shifts in pixels. The output (N, 2, H, W). One float dtype. Source: "
                   "Jaderberg et al. 2015; MXNet's GridGenerator."))
register(OpDef("_backward_GridGenerator", GridGeneratorParams, inputs=("out_grad",),
               outputs=("data_grad",), infer_shape=infer_shape_grid_backward,
               infer_type=same_float_type, compute=compute_grid_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))
register(OpDef("BilinearSampler", NoParams, inputs=("data", "grid"),
               infer_shape=infer_shape_sampler, infer_type=same_float_type,
               compute=compute_sampler, gradient=gradient_sampler,
               doc="Bilinear samples of images at the places of a grid.\n\n"
                   "data (N, C, H, W); grid (N, 2, h, w): x and y, from -1, the first pixel, to "
                   f"1, the last; the output (N, C, h, w). {_OUTSIDE}Source: Jaderberg et al. "
                   "2015; MXNet's BilinearSampler."))
register(OpDef("_backward_BilinearSampler", NoParams, inputs=("out_grad", "data", "grid"),
               outputs=("data_grad", "grid_grad"), infer_shape=infer_shape_sampler_backward,
               infer_type=same_float_type, compute=compute_sampler_backward, is_backward=True,
               no_gradient="MXNet has no second-order gradient of it"))
register(OpDef("SpatialTransformer", SpatialTransformerParams, inputs=("data", "loc"),
               infer_shape=infer_shape_transformer, infer_type=same_float_type,
               compute=compute_transformer, gradient=gradient_transformer,
               doc="Images seen through affine transformations: GridGenerator, then "
                   "BilinearSampler.\n\ndata (N, C, H, W); loc (N, 6); the output (N, C, "
                   f"*target_shape). {_OUTSIDE}Source: Jaderberg et al. 2015; MXNet's "
                   "SpatialTransformer."))
