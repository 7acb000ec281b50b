"""_contrib_DeformableConvolution and its modulated form: each pixel of a window lies elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import ShapeList, merge
from ...op.params import Params, boolean, integer, optional_choice, params_class, shape
from ...op.registry import Emit, GradNode, OpDef, register
from ..blas import uses_blas
from ..floats import same_float_type, wide
from ..nn.conv_geometry import Geometry, geometry, output_dims
from .sampling import Corner, corners, data_gradient, place_gradients, sample
from .shared import fits


@params_class
class WindowParams(Params):
    kernel: tuple[int, ...] = shape(low=1, doc="height and width of the window")
    stride: tuple[int, ...] = shape((), low=1, doc="step of the window; () for 1")
    dilate: tuple[int, ...] = shape((), low=1, doc="step inside the window; () for 1")
    pad: tuple[int, ...] = shape((), low=0, doc="zeros on each side; () for 0")
    num_filter: int = integer(low=1, doc="channels of the output")
    num_group: int = integer(1, low=1, doc="groups of channels that are convolved apart")
    num_deformable_group: int = integer(1, low=1, doc="groups of channels with offsets of their "
                                                      "own")
    no_bias: bool = boolean(False, doc="there is no input bias")

    @property
    def geo(self) -> Geometry:
        """The window."""
        if len(self.kernel) != 2:
            raise ShapeError(f"kernel is {self.kernel}, expected (height, width)")
        return geometry(self.kernel, self.stride, self.dilate, self.pad, self.num_group)

    @property
    def points(self) -> int:
        """Pixels of the window."""
        return prod(self.kernel)


@params_class
class DeformableParams(WindowParams):
    layout: str | None = optional_choice("NCHW", doc="NCHW")


@params_class
class ModulatedParams(WindowParams):
    im2col_step: int = integer(64, low=1, doc="accepted and ignored: how many images at a time")
    layout: str | None = optional_choice("NCHW", doc="NCHW")


def _is_modulated(p: WindowParams) -> bool:
    return isinstance(p, ModulatedParams)


def _names(p: WindowParams) -> tuple[str, ...]:
    return ("data", "offset", *(("mask",) if _is_modulated(p) else ()), "weight",
            *(() if p.no_bias else ("bias",)))


def infer_shape(p: WindowParams, ins: ShapeList, outs: ShapeList,
                ) -> tuple[ShapeList, ShapeList]:
    given = dict(zip(_names(p), ins, strict=True))
    data = fits(given["data"], (-1,) * 4, "data") or (-1,) * 4
    size = output_dims(data[2:], p.geo)
    out = fits(merge(outs[0], (data[0], p.num_filter, *size), "output shapes"),
               (-1, p.num_filter, -1, -1), "the output")
    channels = data[1]
    for what, count in (("num_group", p.num_group),
                        ("num_deformable_group", p.num_deformable_group)):
        if channels != -1 and channels % count:
            raise ShapeError(f"data has {channels} channels, expected a multiple of {what}="
                             f"{count}")
    if p.num_filter % p.num_group:
        raise ShapeError(f"num_filter={p.num_filter}, expected a multiple of num_group="
                         f"{p.num_group}")
    batch, _, height, width = out or (-1,) * 4
    share = -1 if channels == -1 else channels // p.num_group
    wanted = {"offset": (batch, 2 * p.num_deformable_group * p.points, height, width),
              "mask": (batch, p.num_deformable_group * p.points, height, width),
              "weight": (p.num_filter, share, *p.kernel), "bias": (p.num_filter,)}
    for name in given:
        if name != "data":
            given[name] = merge(fits(given[name], wanted[name], name), wanted[name], name)
    for name in ("offset", "mask"):
        known = given.get(name)
        if known is not None:
            out = merge(out, (known[0], p.num_filter, *known[2:]), "shapes of offset and output")
    weight = given["weight"]
    if weight is not None and weight[1] != -1:
        channels = weight[1] * p.num_group
    given["data"] = (-1 if out is None else out[0], channels, *data[2:])
    for name in ("offset", "mask"):
        if name in given:
            given[name] = merge(given[name], (out[0], -1, *out[2:]) if out else None)
    return list(given.values()), [out]


class Sampled(NamedTuple):
    """What the windows of all images meet."""

    groups: AnyArray  # data (images * deformable groups, channels of one, height, width)
    places: list[Corner]
    values: AnyArray  # samples (images * deformable groups, channels of one, points * pixels)
    mask: AnyArray | None  # beside the samples

    @property
    def columns(self) -> AnyArray:
        """Samples times mask."""
        return self.values if self.mask is None else self.values * self.mask


def _sampled(p: WindowParams, data: AnyArray, offset: AnyArray,
             mask: AnyArray | None) -> Sampled:
    geo, count = p.geo, p.num_deformable_group
    batch, channels, height, width = data.shape
    size = offset.shape[2:]
    shifts = offset.reshape(batch * count, p.points, 2, *size)
    at = np.indices((*p.kernel, *size)).reshape(4, p.points, *size)
    places = []
    for axis in range(2):
        begin = at[2 + axis] * geo.stride[axis] + at[axis] * geo.dilate[axis] - geo.pad[axis]
        places.append((begin.astype(data.dtype) + shifts[:, :, axis]
                       ).reshape(batch * count, p.points * prod(size)))
    groups = data.reshape(batch * count, channels // count, height, width)
    # the plain form goes on from the last pixel to the end, as in MXNet
    found = corners(places[0], places[1], height, width, edge=mask is None)
    values = sample(groups, found)
    if mask is not None:
        mask = mask.reshape(batch * count, 1, p.points * prod(size))
    return Sampled(groups, found, values, mask)


def _split(p: WindowParams, met: Sampled, batch: int, pixels: int) -> AnyArray:
    """(images, groups, channels * points of one, pixels)."""
    rows = met.groups.shape[1] * p.num_deformable_group * p.points // p.num_group
    return met.columns.reshape(batch, p.num_group, rows, pixels)


def _inputs(p: WindowParams, ins: Sequence[AnyArray]) -> dict[str, AnyArray]:
    return {name: wide(x) for name, x in zip(_names(p), ins, strict=True)}


@uses_blas
def compute(ctx: OpContext, p: WindowParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    given = _inputs(p, ins)
    batch, _, *size = outs[0].shape
    met = _sampled(p, given["data"], given["offset"], given.get("mask"))
    columns = _split(p, met, batch, prod(size))
    weight = given["weight"].reshape(p.num_group, p.num_filter // p.num_group, columns.shape[2])
    made = (weight @ columns).reshape(outs[0].shape)
    if not p.no_bias:
        made = made + given["bias"][:, None, None]
    outs[0].write(made.astype(ins[0].dtype, copy=False))


def gradient(emit: Emit, node: GradNode, out_grads: Sequence[Any]) -> list[Any]:
    name = "Modulated" if _is_modulated(node.params) else ""
    return emit(f"_backward_{name}DeformableConvolution", node.params, out_grads[0],
                *node.inputs)


def infer_shape_backward(p: WindowParams, ins: ShapeList, outs: ShapeList,
                         ) -> tuple[ShapeList, ShapeList]:
    given: ShapeList = [merge(a, b) for a, b in zip(ins[1:], outs, strict=True)]
    known, (out,) = infer_shape(p, given, [ins[0]])
    return [out, *known], known


def _grad_names(p: WindowParams) -> tuple[str, ...]:
    return tuple(f"{name}_grad" for name in _names(p))


@uses_blas
def compute_backward(ctx: OpContext, p: WindowParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    given = _inputs(p, ins[1:])
    batch, _, *size = ins[0].shape
    pixels = prod(size)
    data, weight = given["data"], given["weight"]
    met = _sampled(p, data, given["offset"], given.get("mask"))
    columns = _split(p, met, batch, pixels)
    flat = weight.reshape(p.num_group, p.num_filter // p.num_group, columns.shape[2])
    dy = wide(ins[0]).reshape(batch, p.num_group, flat.shape[1], pixels)
    made = {"weight": np.einsum("ngop,ngkp->gok", dy, columns).reshape(weight.shape),
            "bias": dy.sum((0, 3)).reshape(p.num_filter)}
    slope = (flat.swapaxes(1, 2) @ dy).reshape(met.values.shape)
    if met.mask is not None:
        made["mask"] = (slope * met.values).sum(1).reshape(given["mask"].shape)
        slope = slope * met.mask
    made["data"] = data_gradient(slope, met.places, met.groups.shape).reshape(data.shape)
    both = [x.reshape(-1 if x.size else 0, p.points, pixels)
            for x in place_gradients(slope, met.groups, met.places)]
    made["offset"] = np.stack(both, 2).reshape(given["offset"].shape)
    for name, out in zip(_names(p), outs, strict=True):
        out.write(made[name].astype(ins[0].dtype, copy=False))


def _register(name: str, params: type[Params], what: str, more: str) -> None:
    register(OpDef(f"_contrib_{name}", params, inputs=_names, infer_shape=infer_shape,
                   infer_type=same_float_type, compute=compute, gradient=gradient,
                   doc=f"Convolution whose windows meet pixels elsewhere{what}.\n\n"
                       "data (N, C, H, W); offset (N, 2 * groups * points, h, w): for each group "
                       "and pixel of the window, how far it lies down and to the right; "
                       f"{more}weight (num_filter, C / num_group, *kernel), bias (num_filter,); "
                       "the output (N, num_filter, h, w). Samples are bilinear, beyond the image "
                       "zero. One float dtype. Source: Dai et al. 2017, Zhu et al. 2018; MXNet's "
                       f"_contrib_{name}."))
    register(OpDef(f"_backward_{name}", params, inputs=lambda p: ("out_grad", *_names(p)),
                   outputs=_grad_names, infer_shape=infer_shape_backward,
                   infer_type=same_float_type, compute=compute_backward, is_backward=True,
                   no_gradient="MXNet has no second-order gradient of it"))


_register("DeformableConvolution", DeformableParams, "", "")
_register("ModulatedDeformableConvolution", ModulatedParams, ", each with a weight of its own",
          "mask (N, groups * points, h, w): these weights; ")
