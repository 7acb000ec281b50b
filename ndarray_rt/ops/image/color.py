"""_image_random_...: brightness, contrast, saturation, hue and light of images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._array.layout import AnyArray
from ..._array.output import NumpyOutput
from ...errors import ShapeError
from ...op.context import OpContext
from ...op.infer import same_type
from ...op.params import Params, number, numbers, params_class
from ...op.registry import OpDef, register
from ..blas import uses_blas
from .shapes import SAME_GRADIENT, one_image, same_gradient, saturated, single

Adjust = Callable[[AnyArray, Any], AnyArray]

_GRAY = np.array([0.299, 0.587, 0.114], np.float32)  # how bright red, green and blue look
# main directions of the colors of natural images, in units of their deviations (AlexNet)
_LIGHT = np.array([[55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
                   [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
                   [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203]], np.float32)


@params_class
class FactorParams(Params):
    min_factor: float = number(low=0.0, finite=True, doc="the least factor")
    max_factor: float = number(low=0.0, finite=True, doc="the largest factor")


@params_class
class JitterParams(Params):
    brightness: float = number(finite=True, doc="factors are within 1 - and 1 + this; 0 or less: "
                                                "none")
    contrast: float = number(finite=True, doc="the same")
    saturation: float = number(finite=True, doc="the same")
    hue: float = number(finite=True, doc="the hue is turned by up to this share of the circle")


@params_class
class LightingParams(Params):
    alpha: tuple[float, ...] = numbers(length=3, doc="how much of each direction of light")


@params_class
class RandomLightingParams(Params):
    alpha_std: float = number(0.05, finite=True, doc="the standard deviation of these")


def brightness(image: AnyArray, factor: Any) -> AnyArray:
    made: AnyArray = single(image) * factor
    return made


@uses_blas
def contrast(image: AnyArray, factor: Any) -> AnyArray:
    x = single(image)
    gray = x @ _GRAY if x.shape[2] == 3 else x[..., 0]
    mean = gray.mean(dtype=np.float32) if gray.size else np.float32(0)
    made: AnyArray = x * factor + (1 - factor) * mean
    return made


def saturation(image: AnyArray, factor: Any) -> AnyArray:
    x = single(image)
    if x.shape[2] == 1:
        return x
    # as in MXNet, which takes the share of blue for the whole of the gray
    made: AnyArray = x[..., 2:] * _GRAY[2] * (1 - factor) + x * factor
    return made


def to_hls(x: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Hue in degrees, lightness, saturation of colors within 0 and 1."""
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    high, low = x.max(-1), x.min(-1)
    spread, light = high - low, (high + low) * np.float32(0.5)
    colored = spread > np.finfo(np.float32).eps
    step = 60 / np.where(colored, spread, 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # black and white have no colour
        share = np.where(light < 0.5, spread / (high + low), spread / (2 - high - low))
    hue = np.where(high == r, (g - b) * step, np.where(high == g, (b - r) * step + 120,
                                                       (r - g) * step + 240))
    hue = np.where(hue < 0, hue + 360, hue)
    return np.where(colored, hue, 0), light, np.where(colored, share, 0)


def from_hls(hue: AnyArray, light: AnyArray, share: AnyArray) -> AnyArray:
    top = np.where(light <= 0.5, light * (1 + share), light + share - light * share)
    bottom = 2 * light - top
    made = []
    for turn in (120, 0, -120):  # red, green, blue
        at = np.mod((hue + turn) / np.float32(60), 6)
        slope = np.clip(np.minimum(at, 4 - at), 0, 1)
        made.append(np.where(share == 0, light, bottom + (top - bottom) * slope))
    return np.stack(made, -1).astype(np.float32) * 255


def hue(image: AnyArray, turn: Any) -> AnyArray:
    x = single(image)
    if x.shape[2] == 1 or not x.size:
        return x
    angle, light, share = to_hls(x / np.float32(255))
    return from_hls(angle + turn * np.float32(360), light, share)


@uses_blas
def lighting(image: AnyArray, alpha: AnyArray) -> AnyArray:
    x = single(image)
    return x if x.shape[2] == 1 else x + _LIGHT @ alpha


def _between(ctx: OpContext, low: float, high: float) -> Any:
    """A number from [low, high), in single precision."""
    unit = ctx.random.uniform(1)[0]
    return np.float32(low) + (np.float32(high) - np.float32(low)) * unit


def _factor(adjust: Adjust) -> Callable[..., None]:
    def compute(ctx: OpContext, p: FactorParams, ins: list[AnyArray],
                outs: list[NumpyOutput]) -> None:
        if p.max_factor < p.min_factor:
            raise ShapeError(f"min_factor={p.min_factor} is above max_factor={p.max_factor}")
        made = adjust(ins[0], _between(ctx, p.min_factor, p.max_factor))
        outs[0].write(saturated(made, ins[0].dtype))
    return compute


_JITTERS: tuple[tuple[str, Adjust, float], ...] = (
    ("brightness", brightness, 1.0), ("contrast", contrast, 1.0),
    ("saturation", saturation, 1.0), ("hue", hue, 0.0))


def compute_jitter(ctx: OpContext, p: JitterParams, ins: list[AnyArray],
                   outs: list[NumpyOutput]) -> None:
    made = ins[0]
    for at in np.argsort(ctx.random.uniform(len(_JITTERS)), kind="stable"):
        name, adjust, middle = _JITTERS[at]
        most = getattr(p, name)
        if most > 0:
            made = saturated(adjust(made, _between(ctx, middle - most, middle + most)),
                             ins[0].dtype)
    outs[0].write(made)


def compute_lighting(ctx: OpContext, p: LightingParams, ins: list[AnyArray],
                     outs: list[NumpyOutput]) -> None:
    made = lighting(ins[0], np.array(p.alpha, np.float32))
    outs[0].write(saturated(made, ins[0].dtype))


def compute_random_lighting(ctx: OpContext, p: RandomLightingParams, ins: list[AnyArray],
                            outs: list[NumpyOutput]) -> None:
    alpha = (ctx.random.normal(3) * p.alpha_std).astype(np.float32)
    outs[0].write(saturated(lighting(ins[0], alpha), ins[0].dtype))


_SHAPE = ("data (height, width, channels) of 1 or 3 channels; the output has its shape and dtype, "
          "bytes do not leave 0 to 255. ")


def _register(name: str, params: type[Params], compute: Callable[..., None], what: str,
              random: bool = True) -> None:
    register(OpDef(f"_image_{name}", params, inputs=("data",), infer_shape=one_image,
                   infer_type=same_type, compute=compute, gradient=same_gradient,
                   is_random=random, inplace={0: 0},
                   doc=f"{what}\n\n{_SHAPE}{SAME_GRADIENT} Source: MXNet's _image_{name}."))


_register("random_brightness", FactorParams, _factor(brightness),
          "An image times a factor that is drawn evenly.")
_register("random_contrast", FactorParams, _factor(contrast),
          "An image away from its mean gray, by a factor that is drawn evenly.")
_register("random_saturation", FactorParams, _factor(saturation),
          "An image away from gray, by a factor that is drawn evenly.")
_register("random_hue", FactorParams, _factor(hue),
          "An image whose hue is turned by a share of the circle that is drawn evenly.")
_register("random_color_jitter", JitterParams, compute_jitter,
          "Brightness, contrast, saturation and hue changed at random, in random order.")
_register("adjust_lighting", LightingParams, compute_lighting,
          "An image in other light: main directions of colors are added.", random=False)
_register("random_lighting", RandomLightingParams, compute_random_lighting,
          "An image in other light, drawn from the normal distribution.")
