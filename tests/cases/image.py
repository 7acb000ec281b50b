"""Operators on images, in loops written out; random ones with factors that leave no choice."""

from __future__ import annotations

import colorsys
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

KINDS = ("float32", "uint8", "float64", "int32")
GRAY = np.array([0.299, 0.587, 0.114])
SINGLE = {"float64": 1e-5, "float32": 1e-5, "float16": 1e-2}


def image(*shape: int) -> Input:
    return Input(shape, low=0, high=1)


def bilinear(x: Array, height: int, width: int) -> Array:
    made = np.empty((*x.shape[:-3], height, width, x.shape[-1]))
    for i, j in np.ndindex(height, width):
        y, z = (i + 0.5) * x.shape[-3] / height - 0.5, (j + 0.5) * x.shape[-2] / width - 0.5
        total = np.zeros(x[..., 0, 0, :].shape)
        for a in (int(np.floor(y)), int(np.floor(y)) + 1):
            for b in (int(np.floor(z)), int(np.floor(z)) + 1):
                pixel = x[..., min(max(a, 0), x.shape[-3] - 1), min(max(b, 0), x.shape[-2] - 1), :]
                total += pixel * (1 - abs(y - a)) * (1 - abs(z - b))
        made[..., i, j, :] = total
    return made


def nearest(x: Array, height: int, width: int) -> Array:
    rows = [i * x.shape[-3] // height for i in range(height)]
    columns = [j * x.shape[-2] // width for j in range(width)]
    return x[..., rows, :, :][..., columns, :]


def turned(x: Array, turn: float) -> Array:
    made = np.empty(x.shape)
    for at in np.ndindex(x.shape[:2]):
        h, light, s = colorsys.rgb_to_hls(*(x[at] / 255))
        made[at] = colorsys.hls_to_rgb((h + turn) % 1, light, s)
    return made * 255


def same(name: str, params: dict[str, Any], shape: tuple[int, ...], reference: Any,
         dtypes: tuple[str, ...] = ("float32", "float64"), note: str = "",
         low: float = 0, high: float = 1) -> Case:
    """The gradient is passed on as it is."""
    return Case(f"_image_{name}", params, [Input(shape, low=low, high=high)], reference=reference,
                gradients=lambda x, dy: (dy,), native=False, dtypes=dtypes, rtol=SINGLE,
                atol=SINGLE, note=note)


def fixed(factor: float) -> dict[str, float]:
    return {"min_factor": factor, "max_factor": factor}


def changed(inputs: list[Array], outputs: list[Array]) -> None:
    """Nearly each pixel changes, all stay finite."""
    assert np.isfinite(outputs[0]).all()
    assert (inputs[0] != outputs[0]).mean() > 0.5


def flipped(inputs: list[Array], outputs: list[Array]) -> None:
    ways = (inputs[0], inputs[0][::-1], inputs[0][:, ::-1])
    assert any(np.array_equal(outputs[0], way) for way in ways)


def drawn(name: str, params: dict[str, Any], check: Any, dtypes: tuple[str, ...] = ("float32",),
          ) -> Case:
    return Case(f"_image_{name}", params, [Input((4, 6, 3), low=5, high=250)], check=check,
                gradients=lambda x, dy: (dy,), native=False, dtypes=dtypes)


MARGIN = {"top": 1, "bot": 2, "left": 3, "right": 0}


def filled(x: Array) -> Array:
    """A margin of a number for each channel, 0 for those that are left."""
    made = np.zeros((x.shape[0] + 3, x.shape[1] + 3, 3), x.dtype)
    made[:] = np.array([1, 2, 0]).astype(x.dtype)
    made[1:-2, 3:] = x
    return made


HALF = {"min_factor": 0.5, "max_factor": 0.6}
LIGHT = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140],
                  [-0.5836, -0.6948, 0.4203]]) * [55.46, 4.794, 1.148]

CASES = [
    Case("_image_to_tensor", {}, [image(3, 4, 3)], native=False, dtypes=("float32",),
         reference=lambda x: x.transpose(2, 0, 1) / 255),
    Case("_image_to_tensor", {}, [Input((2, 3, 4, 1), "uint8")], native=False, dtypes=("float32",),
         reference=lambda x: x.transpose(0, 3, 1, 2) / 255),
    *(Case("_image_normalize", params, [shape], native=False, rtol=SINGLE, atol=SINGLE,
           dtypes=("float32", "float64", "float16"), reference=reference)
      for params, shape, reference in (
          ({"mean": (0.5, 0.25, 1), "std": (2, 4, 0.5)}, (3, 4, 5),
           lambda x: (x - np.array([0.5, 0.25, 1])[:, None, None])
           / np.array([2, 4, 0.5])[:, None, None]),
          ({"mean": 0.5}, (2, 1, 3, 3), lambda x: x - 0.5), ({}, (1, 2, 2), lambda x: x))),
    *(Case("_image_resize", {"size": size}, [shape], native=True, dtypes=("float32", "float64"),
           reference=lambda x, s=size: bilinear(x, s[1], s[0]), rtol=SINGLE, atol=SINGLE)
      for size, shape in (((3, 4), (5, 7, 3)), ((9, 8), (2, 5, 7, 1)), ((1, 1), (3, 3, 20)))),
    Case("_image_resize", {"size": (3, 2)}, [(4, 6, 3)], native=True, rtol=SINGLE, atol=SINGLE,
         dtypes=("float32", "float64"), note="means",
         reference=lambda x: x.reshape(2, 2, 3, 2, 3).mean((1, 3))),
    Case("_image_resize", {"size": 3, "keep_ratio": True, "interp": 0}, [image(4, 6, 3)],
         reference=lambda x: nearest(x, 3, 4), native=False, dtypes=KINDS[:3]),
    Case("_image_resize", {"size": (3, 2), "interp": 3}, [(4, 6, 3)], native=False, rtol=SINGLE,
         atol=SINGLE, reference=lambda x: x.reshape(2, 2, 3, 2, 3).mean((1, 3))),
    *(Case("_image_crop", {"x": 1, "y": 2, "width": 3, "height": 2}, [Input(shape)],
           reference=lambda x: x[..., 2:4, 1:4, :], native=False, dtypes=KINDS)
      for shape in ((5, 6, 3), (2, 4, 4, 1))),
    same("flip_left_right", {}, (3, 4, 3), lambda x: x[:, ::-1], KINDS),
    same("flip_top_bottom", {}, (3, 4, 1), lambda x: x[::-1], KINDS),
    drawn("random_flip_left_right", {}, flipped),
    drawn("random_flip_top_bottom", {}, flipped),
    same("random_brightness", fixed(1.5), (3, 4, 3), lambda x: x * 1.5),
    same("random_contrast", fixed(0.5), (3, 4, 3), lambda x: x / 2 + (x @ GRAY).mean() / 2),
    same("random_contrast", fixed(0.5), (3, 4, 1), lambda x: x / 2 + x.mean() / 2),
    same("random_saturation", fixed(0.5), (3, 4, 3), lambda x: x / 2 + x[..., 2:] * 0.114 / 2),
    same("random_saturation", fixed(0.5), (3, 4, 1), lambda x: x),
    same("random_hue", fixed(0.25), (3, 4, 3), lambda x: turned(x, 0.25), low=5, high=250),
    same("random_hue", fixed(0.25), (3, 4, 1), lambda x: x),
    same("adjust_lighting", {"alpha": (0.5, 0.25, 1)}, (3, 4, 3),
         lambda x: x + LIGHT @ [0.5, 0.25, 1]),
    *(drawn(f"random_{what}", HALF, changed, ("float32", "uint8"))
      for what in ("brightness", "contrast", "saturation", "hue")),
    drawn("random_color_jitter", {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3,
                                  "hue": 0.3}, changed),
    drawn("random_lighting", {"alpha_std": 0.5}, changed),
    *(Case("_cvimresize", {"w": 3, "h": 4}, [shape], native=True, dtypes=("float32", "float64"),
           reference=lambda x: bilinear(x, 4, 3), rtol=SINGLE, atol=SINGLE)
      for shape in ((5, 7, 3), (3, 2, 1))),
    Case("_cvimresize", {"w": 4, "h": 3, "interp": 0}, [image(4, 6, 3)], dtypes=KINDS[:3],
         reference=lambda x: nearest(x, 3, 4), native=False),
    *(Case("_cvcopyMakeBorder", {**MARGIN, "type": kind}, [Input((4, 5, 3))], native=False,
           reference=lambda x, m=mode: np.pad(x, ((1, 2), (3, 0), (0, 0)), m), dtypes=KINDS)
      for kind, mode in ((1, "edge"), (2, "symmetric"), (3, "wrap"), (4, "reflect"))),
    Case("_cvcopyMakeBorder", {**MARGIN, "value": 7}, [Input((2, 3, 3))], native=False,
         reference=lambda x: np.pad(x, ((1, 2), (3, 0), (0, 0)), constant_values=7), dtypes=KINDS),
    Case("_cvcopyMakeBorder", {**MARGIN, "type": 16, "values": (1, 2)}, [Input((2, 3, 3))],
         reference=filled, native=False, dtypes=KINDS),
]
