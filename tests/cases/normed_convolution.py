"""_fused_normed_Convolution, _affine_batch_norm and _scale_batch_norm against their parts written
out."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Reference

from .convolution import convolve


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def case(parts: list[tuple[int, ...]], filters: int, post_ops: str = "",
         after: Reference | None = None, act_type: str = "relu", bias: bool = True,
         note: str = "") -> Case:
    channels = sum(part[1] for part in parts)
    ones = (1,) * (len(parts[0]) - 2)
    inputs = [*map(Input, parts), Input((channels,), low=0.5, high=1.5), Input((channels,)),
              Input((filters, channels, *ones), weight_groups=1)]
    if bias:
        inputs.append(Input((filters,)))

    def reference(*given: Array) -> Array:
        n = len(parts)
        x = np.concatenate(given[:n], axis=1)
        vector = (1, channels, *ones)
        x = x * given[n].reshape(vector) + given[n + 1].reshape(vector)
        y = convolve(relu(x) if act_type == "relu" else x, given[n + 2],
                     given[n + 3] if bias else None, ones, ones, tuple(0 for _ in ones), 1)
        return y if after is None else after(y)
    return Case("_fused_normed_Convolution",
                {"num_args": len(parts), "kernel": ones, "num_filter": filters,
                 "act_type": act_type, "no_bias": not bias, "post_ops": post_ops},
                inputs, reference=reference, native=True, rtol={"float32": 1e-4},
                atol={"float32": 1e-4}, note=note)


def affine(eps: float, fix: bool) -> Case:
    def reference(gamma: Array, beta: Array, mean: Array, var: Array) -> tuple[Array, Array]:
        scale = np.array([(1 if fix else g) / (v + eps) ** 0.5
                          for g, v in zip(gamma, var, strict=True)])
        return scale, np.array([b - m * s for b, m, s in zip(beta, mean, scale, strict=True)])
    return Case("_affine_batch_norm", {"eps": eps, "fix_gamma": fix},
                [Input((5,)), Input((5,)), Input((5,)), Input((5,), kind="positive")],
                reference=reference, native=False)


def scaled(kind: str, fix: bool, shape: tuple[int, ...]) -> Case:
    def reference(gamma: Array, beta: Array, values: Array) -> tuple[Array, Array]:
        value, one = values.reshape(-1), np.ones(5) if fix else gamma
        return (one * value, beta * value) if kind == "mul" else (one, beta + value)
    return Case("_scale_batch_norm", {"kind": kind, "fix_gamma": fix},
                [Input((5,)), Input((5,)), Input(shape)], reference=reference, native=False)


CASES = [
    case([(2, 3, 4, 5), (2, 16, 4, 5)], 20),
    case([(1, 20, 3, 3), (1, 1, 3, 3), (1, 7, 3, 3)], 16, "relu", relu, bias=False),
    case([(2, 4, 6)], 5, act_type="none"),
    case([(2, 3, 2, 2, 3), (2, 2, 2, 2, 3)], 4, "clip:0.0:6.0", lambda y: np.clip(y, 0, 6)),
    case([(1, 8, 12, 40), (1, 600, 12, 40)], 3, note="several strips, the last one shorter"),
    case([(2, width, 3, 3) for width in (3, 1, 4, 1, 5, 9, 2, 6, 5)], 4,
         note="more tensors than one call gathers"),
    case([(3, 8, 23, 25), (3, 20, 23, 25)], 5, note="image by image"),
    case([(1, 300, 1, 600), (1, 1, 1, 600)], 5, note="one large image in strips"),
    affine(1e-3, True),
    affine(0.1, False),
    scaled("mul", False, (5, 1, 1)),
    scaled("mul", True, (1, 5, 1, 1)),
    scaled("add", False, (5,)),
    scaled("add", True, (1,)),
]
