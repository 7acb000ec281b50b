"""BatchNorm in training (statistics of the batch) and inference (moving statistics)."""

from __future__ import annotations

import dataclasses

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input, Native


def columns(x: Array, axis: int) -> Array:
    """(channels, everything else)."""
    moved = np.moveaxis(x, axis, 0)
    return moved.reshape(moved.shape[0], int(np.prod(moved.shape[1:])))


def apply(x: Array, axis: int, f: Array, shift: Array) -> Array:
    """f * x + shift with one number a channel."""
    shape = [1] * x.ndim
    shape[axis] = -1
    return x * f.reshape(shape) + shift.reshape(shape)


def normalize(x: Array, gamma: Array, beta: Array, mean: Array, var: Array, *, axis: int,
              eps: float, fix: bool, batch: bool) -> tuple[Array, Array, Array, Array]:
    if batch and x.size:
        parts = columns(x, axis)
        mean, var = parts.mean(axis=1), ((parts - parts.mean(axis=1)[:, None]) ** 2).mean(axis=1)
    scale = (var + eps) ** -0.5
    slope = scale if fix else scale * gamma
    return apply(x, axis, slope, beta - mean * slope), mean, scale, var


def slopes(x: Array, gamma: Array, beta: Array, mean: Array, var: Array, dy: Array, *, axis: int,
           eps: float, fix: bool, batch: bool) -> tuple[Array, Array, Array]:
    """By the chain rule, with the n x n matrix of derivatives of normalization by a batch."""
    parts, grads = columns(x, axis), columns(dy, axis)
    _, mean, scale, _ = normalize(x, gamma, beta, mean, var, axis=axis, eps=eps, fix=fix,
                                  batch=batch)
    normal = (parts - mean[:, None]) * scale[:, None]
    n = parts.shape[1]
    dx = np.empty_like(parts)
    for c in range(len(parts)):
        matrix = np.eye(n) * scale[c]
        if batch:
            matrix -= scale[c] / n * (1 + np.outer(normal[c], normal[c]))
        dx[c] = matrix @ grads[c] * (1 if fix else gamma[c])
    moved = np.moveaxis(x, axis, 0).shape
    return (np.moveaxis(dx.reshape(moved), 0, axis),
            np.zeros_like(gamma) if fix else (grads * normal).sum(axis=1), grads.sum(axis=1))


def case(data: tuple[int, ...], axis: int | None = None, fix: bool = False,
         train: bool = True, moving: bool = False, outputs: bool = False, eps: float = 1e-3,
         note: str = "", native: Native = True) -> Case:
    at = 1 if axis is None else axis
    params: dict[str, object] = {"fix_gamma": fix, "eps": eps}
    if axis is not None:
        params["axis"] = axis
    if moving:
        params["use_global_stats"] = True
    if outputs:
        params["output_mean_var"] = True
    one = (data[at],)
    at %= len(data)

    def reference(x: Array, *vectors: Array) -> tuple[Array, ...]:
        y, mean, scale, var = normalize(x, *vectors, axis=at, eps=eps, fix=fix,
                                        batch=train and not moving)
        return (y, mean, scale, var) if outputs else (y, mean, var)

    def gradients(x: Array, *rest: Array) -> tuple[Array, Array, Array]:
        gamma, beta, mean, var, dy = rest[:5]  # the gradients of mean and var are not looked at
        return slopes(x, gamma, beta, mean, var, dy, axis=at, eps=eps, fix=fix, batch=not moving)
    return Case("BatchNorm", params, [Input(data, low=-2, high=3), Input(one, kind="positive"),
                                      Input(one)],
                [Input(one), Input(one, kind="positive")], reference=reference,
                gradients=gradients, is_train=train, native=native, native_backward=native,
                rtol={"float32": 1e-4, "float64": 1e-8}, atol={"float32": 1e-4, "float64": 1e-8},
                note=note or ("training" if train else "inference"))


CASES = [
    case((2, 3, 4, 4)),
    case((2, 3, 4, 4), train=False),
    case((2, 20, 3, 3), note="20 channels"),
    case((2, 20, 3, 3), train=False, note="20 channels, inference"),
    case((3, 16, 2, 3), fix=True),
    case((3, 16, 2, 3), fix=True, train=False),
    case((2, 5, 3, 2), moving=True),
    case((2, 5, 3, 2), moving=True, fix=True),
    case((2, 6, 3, 2), outputs=True),
    case((2, 6, 3, 2), outputs=True, train=False),
    case((4, 20, 1, 1), note="one pixel"),
    case((1, 3, 1, 1), note="one element of a channel"),
    case((5, 7)),
    case((5, 3), train=False),
    case((3, 4, 5)),
    case((2, 3, 2, 3, 2)),
    case((2, 3, 2, 2, 2, 2), note="rank 6"),
    case((6,), axis=0, note="rank 1"),
    case((2, 3, 4, 5), axis=-1),
    case((2, 3, 4, 5), axis=-1, train=False),
    case((2, 3, 4, 5), axis=2),
    case((4, 3, 2), axis=0),
    case((4, 5), axis=0),
    case((2, 3, 4, 4), eps=0.0, note="no eps"),
    case((0, 3, 2, 2), train=False, native=False, note="no images"),
    case((2, 0, 2, 2), native=False, note="no channels"),
]


def rectified(data: tuple[int, ...], axis: int = 1, fix: bool = False, train: bool = True,
              moving: bool = False, outputs: bool = False) -> Case:
    """BatchNormWithReLU."""
    plain = case(data, axis, fix, train, moving, outputs)
    assert plain.reference is not None
    assert plain.gradients is not None
    whole, slopes_of = plain.reference, plain.gradients
    at = axis % len(data)

    def reference(x: Array, *vectors: Array) -> tuple[Array, ...]:
        y, *rest = whole(x, *vectors)
        return np.maximum(y, 0), *rest

    def gradients(x: Array, *rest: Array) -> tuple[Array, Array, Array]:
        vectors, dy = rest[:4], rest[4]
        y, *_ = normalize(x, *vectors, axis=at, eps=1e-3, fix=fix, batch=not moving)
        return slopes_of(x, *vectors, dy * (y > 0))
    return dataclasses.replace(plain, op="_contrib_BatchNormWithReLU", reference=reference,
                               gradients=gradients)


CASES += [
    rectified((2, 3, 4, 4)),
    rectified((2, 3, 4, 4), train=False),
    rectified((2, 20, 3, 3), fix=True),
    rectified((2, 5, 3, 2), moving=True),
    rectified((2, 6, 3, 2), outputs=True),
    rectified((2, 3, 4, 5), axis=-1),
    rectified((4, 5)),
]
