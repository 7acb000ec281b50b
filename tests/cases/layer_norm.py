"""LayerNorm, its hidden outputs and its gradient."""

from __future__ import annotations

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input


# eps is a float32 number, as MXNet's
def normalize(x: Array, gamma: Array, beta: Array, axis: int, eps: float,
              ) -> tuple[Array, Array, Array]:
    moved = np.moveaxis(x, axis, -1)
    y, mean, std = np.empty(moved.shape), np.empty(moved.shape[:-1]), np.empty(moved.shape[:-1])
    for at in np.ndindex(*moved.shape[:-1]):
        row = moved[at]
        mean[at] = sum(row) / len(row)
        std[at] = (sum((row - mean[at]) ** 2) / len(row) + float(np.float32(eps))) ** 0.5
        y[at] = (row - mean[at]) / std[at] * gamma + beta
    return (np.moveaxis(y, -1, axis), np.expand_dims(mean, axis), np.expand_dims(std, axis))


def case(data: tuple[int, ...], axis: int = -1, eps: float = 1e-5, outputs: bool = False,
         native: bool = True, note: str = "") -> Case:
    vector = (data[axis],)
    params = {"axis": axis, "eps": eps, "output_mean_var": outputs}
    return Case("LayerNorm", params, [data, Input(vector, low=0.5, high=1.5), vector],
                reference=lambda x, g, b: normalize(x, g, b, axis, eps), native=native,
                native_backward=native, rtol={"float32": 1e-4, "float16": 1e-2},
                atol={"float32": 1e-4, "float16": 1e-2},
                # gradients of the statistics go nowhere, as in MXNet
                exempt={"gradient": "mean and std have no gradient of their own"} if outputs
                else {},
                dtypes=("float32", "float64", "float16"), note=note)


CASES = [
    case((3, 5)),
    case((2, 3, 20)),
    case((2, 16, 3, 17), eps=1e-3),
    case((7,), note="rank 1"),
    case((2, 3, 4), axis=1),
    case((2, 20, 3, 3), axis=1, note="channels"),
    case((5, 3, 2), axis=0),
    case((4, 90), axis=-2, outputs=True),
    case((3, 8), outputs=True),
    case((2, 1, 2, 1, 2, 6), note="rank 6"),
    case((0, 4), native=False, note="no rows"),
]
