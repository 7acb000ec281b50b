"""SVMOutput, CTCLoss, IdentityAttachKLSparseReg, SoftmaxActivation, SyncBatchNorm."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def hinge(x: Array, label: Array, margin: float, scale: float, linear: bool) -> Array:
    dx = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        sign = 1 if at[-1] == int(label[at[:-1]]) else -1
        lack = margin - sign * x[at]
        if lack > 0:
            dx[at] = -sign * scale * (1 if linear else 2 * lack)
    return dx


def svm(shape: tuple[int, ...], labels: Any, linear: bool, margin: float = 1.0,
        scale: float = 1.0) -> Case:
    params = {"use_linear": linear, "margin": margin, "regularization_coefficient": scale}
    return Case("SVMOutput", params, [Input(shape, low=-2, high=2),
                                      Input(shape[:-1], values=labels)],
                reference=lambda x, t: x,
                gradients=lambda x, t, dy: (hinge(x, t, margin, scale, linear), None),
                dtypes=("float32", "float64", "float16"))


def ctc(x: Array, label: Array, steps: list[int], counts: list[int], blank: int) -> Array:
    """The sum over all paths that are spelled as the label."""
    y, loss = softmax(x, 2), np.zeros(x.shape[1])
    for n in range(x.shape[1]):
        wanted = [int(v) for v in label[n][:counts[n]]]
        total = 0.0
        for path in product(range(x.shape[2]), repeat=steps[n]):
            kept = [c for i, c in enumerate(path) if i == 0 or path[i - 1] != c]
            if [c for c in kept if c != blank] == wanted:
                total += float(np.prod([y[t, n, c] for t, c in enumerate(path)]))
        loss[n] = -np.log(total) if total and steps[n] else 0.0
    return loss


def speech(labels: list[list[int]], counts: list[int], steps: list[int] | None = None,
           first: bool = True, lengths: bool = False, data: tuple[int, int, int] = (4, 3, 3),
           note: str = "") -> Case:
    params: dict[str, Any] = {"blank_label": "first" if first else "last"}
    inputs: list[Any] = [Input(data, low=-2, high=2),
                         Input((data[1], len(labels[0])), values=labels)]
    if steps is not None:
        params["use_data_lengths"] = True
        inputs.append(Input((data[1],), values=steps))
    if lengths:
        params["use_label_lengths"] = True
        inputs.append(Input((data[1],), values=counts))
    blank = 0 if first else data[2] - 1
    full = [data[0]] * data[1] if steps is None else steps
    return Case("CTCLoss", params, inputs,
                reference=lambda x, t, *more: ctc(x, t, full, counts, blank),
                no_grad=set(range(1, len(inputs))), dtypes=("float32", "float64", "float16"),
                rtol={"float16": 1e-2}, atol={"float16": 1e-2}, note=note)


def sparse_grad(x: Array, mean: Array, dy: Array, target: float, penalty: float,
                momentum: float) -> tuple[Array, None]:
    m = momentum * mean + (1 - momentum) * x.reshape(-1, x.shape[-1]).mean(0)
    return dy + penalty * ((1 - target) / (1 - m) - target / m), None


def sparse(shape: tuple[int, ...]) -> Case:
    return Case("IdentityAttachKLSparseReg",
                {"sparseness_target": 0.2, "penalty": 0.5, "momentum": 0.8},
                [Input(shape, low=0.1, high=0.9)], aux=[Input(shape[-1:], low=0.3, high=0.6)],
                reference=lambda x, m: x,
                gradients=lambda x, m, dy: sparse_grad(x, m, dy, 0.2, 0.5, 0.8))


def normalized(x: Array, gamma: Array, beta: Array, mean: Array, var: Array, fix: bool,
               batch: bool, outputs: bool) -> Any:
    if batch:
        axes = (0, *range(2, x.ndim))
        mean, var = x.mean(axes), x.var(axes)
    column = (-1, *(1,) * (x.ndim - 2))
    y = ((x - mean.reshape(column)) / np.sqrt(var + 1e-3).reshape(column)
         * (1 if fix else gamma.reshape(column)) + beta.reshape(column))
    return y, mean, var


def sync(shape: tuple[int, ...], fix: bool = True, train: bool = True, outputs: bool = False,
         frozen: bool = False) -> Case:
    vector = shape[1:2]
    return Case("_contrib_SyncBatchNorm", {"key": "k", "fix_gamma": fix,
                                           "output_mean_var": outputs, "use_global_stats": frozen},
                [shape, Input(vector, low=0.5, high=1.5), vector],
                aux=[vector, Input(vector, low=0.5, high=1.5)],
                reference=lambda x, g, b, m, v: normalized(x, g, b, m, v, fix, train and not frozen,
                                                           outputs),
                is_train=train, no_grad={1} if fix else frozenset(),
                native=True, rtol=1e-4, atol=1e-4,
                exempt={"gradient": "mean and var have no gradient of their own"} if outputs
                else {})


CASES = [
    svm((4, 5), [0, 3, 4, 7], False),
    svm((4, 5), [0, 3, 4, 7], True, 0.5, 0.3),
    svm((2, 3, 4), [[0, 1, 2], [3, 3, 1]], False, 0.5),
    speech([[1, 2, 0], [2, 2, 0], [0, 0, 0]], [2, 2, 0]),
    speech([[0, 1, -1], [1, 1, 1], [-1, -1, -1]], [2, 3, 0], first=False, note="one impossible"),
    speech([[1, 2, 0], [2, 2, 0], [0, 0, 0]], [2, 2, 0], steps=[3, 4, 2]),
    speech([[1, 2, 1], [2, 2, 1], [1, 1, 1]], [2, 1, 0], steps=[4, 2, 0], lengths=True),
    speech([[1], [2], [0]], [1, 1, 0], data=(1, 3, 3), note="one step"),
    sparse((3, 4)),
    sparse((2, 3, 4)),
    Case("SoftmaxActivation", {}, [(3, 5)], reference=lambda x: softmax(x, -1), native=True,
         native_backward=True, dtypes=("float32", "float64", "float16")),
    Case("SoftmaxActivation", {"mode": "channel"}, [(2, 20, 3, 2)],
         reference=lambda x: softmax(x, 1), native=True, native_backward=True),
    Case("SoftmaxActivation", {}, [(2, 3, 4)], reference=lambda x: softmax(x, -1), native=True,
         native_backward=True),
    sync((3, 4, 5)),
    sync((2, 20, 3, 3), fix=False),
    sync((2, 4, 3, 3), fix=False, train=False),
    sync((2, 4, 3, 3), fix=False, outputs=True),
    sync((2, 4, 3, 3), fix=False, frozen=True),
]
