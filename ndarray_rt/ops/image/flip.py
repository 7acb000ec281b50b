"""_image_flip_...: images turned round, always or every other time."""

from __future__ import annotations

from functools import partial

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...op.context import OpContext
from ...op.infer import same_type
from ...op.params import NoParams
from ...op.registry import OpDef, register
from .shapes import SAME_GRADIENT, one_image, same_gradient


def compute(axis: int, ctx: OpContext, p: NoParams, ins: list[AnyArray],
            outs: list[NumpyOutput]) -> None:
    outs[0].write(ins[0][::-1] if axis == 0 else ins[0][:, ::-1])


def compute_random(axis: int, ctx: OpContext, p: NoParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    if ctx.random.uniform(1)[0] < 0.5:
        compute(axis, ctx, p, ins, outs)
    else:
        outs[0].write(ins[0])


_SHAPE = "data (height, width, channels) of 1 or 3 channels and any dtype. "

for _name, _axis, _what in (("left_right", 1, "its columns"), ("top_bottom", 0, "its rows")):
    register(OpDef(f"_image_flip_{_name}", NoParams, inputs=("data",), infer_shape=one_image,
                   infer_type=same_type, compute=partial(compute, _axis), gradient=same_gradient,
                   doc=f"An image with {_what} in the other order.\n\n{_SHAPE}{SAME_GRADIENT} "
                       f"Source: MXNet's _image_flip_{_name}."))
    register(OpDef(f"_image_random_flip_{_name}", NoParams, inputs=("data",),
                   infer_shape=one_image, infer_type=same_type,
                   compute=partial(compute_random, _axis), gradient=same_gradient,
                   is_random=True,
                   doc=f"An image, half of the times with {_what} in the other order.\n\n{_SHAPE}"
                       f"{SAME_GRADIENT} Source: MXNet's _image_random_flip_{_name}."))
