"""GroupNorm, InstanceNorm and L2Normalization."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

LOOSE = {"float32": 1e-4, "float16": 1e-2}


def single(eps: float) -> float:
    """eps is a float32 number, as MXNet's."""
    return float(np.float32(eps))


def normalize(x: Array, gamma: Array, beta: Array, groups: int, eps: float,
              ) -> tuple[Array, Array, Array]:
    """One group after the other."""
    y, mean, std = np.empty(x.shape), np.empty((len(x), groups)), np.empty((len(x), groups))
    size = x.shape[1] // groups if groups else 0
    for n in range(len(x)):
        for g in range(groups):
            own = slice(g * size, (g + 1) * size)
            part = x[n, own]
            mean[n, g] = part.sum() / part.size
            std[n, g] = (((part - mean[n, g]) ** 2).sum() / part.size + single(eps)) ** 0.5
            y[n, own] = (part - mean[n, g]) / std[n, g] * gamma[g] + beta[g]
    return y, mean, std


def group(data: tuple[int, ...], groups: int, eps: float = 1e-5, outputs: bool = False,
          native: bool = True, note: str = "") -> Case:
    params = {"num_groups": groups, "eps": eps, "output_mean_var": outputs}
    return Case("GroupNorm", params,
                [data, Input((groups,), low=0.5, high=1.5), (groups,)],
                reference=lambda x, g, b: normalize(x, g, b, groups, eps), native=native,
                native_backward=native, rtol=LOOSE, atol=LOOSE,
                exempt={"gradient": "mean and std have no gradient of their own"} if outputs
                else {},
                dtypes=("float32", "float64", "float16"), note=note)


def instance(data: tuple[int, ...], eps: float = 1e-3, native: bool = True,
             note: str = "") -> Case:
    vector = (data[1],)
    return Case("InstanceNorm", {"eps": eps},
                [data, Input(vector, low=0.5, high=1.5), vector],
                reference=lambda x, g, b: normalize(x, g, b, data[1], eps), native=native,
                native_backward=native, rtol=LOOSE, atol=LOOSE,
                dtypes=("float32", "float64", "float16"), note=note)


AXES: dict[str, Callable[[int], tuple[int, ...]]] = {
    "instance": lambda n: tuple(range(1, n)), "channel": lambda n: (1,),
    "spatial": lambda n: tuple(range(2, n))}


def l2(data: tuple[int, ...], mode: str, eps: float = 1e-10, native: bool = True) -> Case:
    axes = AXES[mode](len(data))
    return Case("L2Normalization", {"mode": mode, "eps": eps}, [data],
                reference=lambda x: x / np.sqrt((x * x).sum(axes, keepdims=True) + single(eps)),
                native=native, native_backward=native, dtypes=("float32", "float64", "float16"))


CASES = [
    group((2, 4, 3), 2),
    group((3, 6, 2, 2), 3, eps=1e-3),
    group((2, 20, 3, 3), 5),
    group((2, 4, 5), 4, outputs=True),
    group((1, 2, 50, 90), 1, note="blocks"),
    group((2, 4, 2, 3, 2), 1, note="rank 5"),
    group((0, 4, 3), 2, native=False, note="no samples"),
    instance((2, 3, 5)),
    instance((2, 20, 3, 3), eps=1e-5),
    instance((1, 2, 2, 3, 4)),
    instance((0, 3, 2), native=False, note="no samples"),
    *(l2(data, mode) for data in ((2, 3, 4), (2, 20, 3, 3), (1, 3, 2, 2, 3)) for mode in AXES),
    l2((3, 70), "instance"),
    l2((4,), "instance", eps=0.5),
    l2((2, 3, 90), "channel", eps=1e-3),
    l2((0, 3, 2), "channel", native=False),
]
