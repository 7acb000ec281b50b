"""LeakyReLU: its six functions, and the shapes that gamma may have."""

from __future__ import annotations

import math

import numpy as np

from ndarray_rt.testing.case import Array, Case, Input

ALPHA, LAMBDA = 1.6732632423543772, 1.0507009873554805
PHI = np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))), otypes=[float])
NUMPY_OF = {
    "leaky": lambda x: np.where(x > 0, x, 0.25 * x),
    "elu": lambda x: np.where(x > 0, x, 0.25 * np.expm1(x)),
    "selu": lambda x: LAMBDA * np.where(x > 0, x, ALPHA * np.expm1(x)),
    "gelu": lambda x: x * PHI(x),
}
SHAPES = ((2, 3), (7,), (1, 20, 3, 3), (2, 16, 2, 3), (2, 3, 5), (1, 3, 2, 2, 2))


def selu_gradient(x: Array, dy: Array) -> Array:
    """MXNet's: where x is below zero it is not the slope."""
    y = NUMPY_OF["selu"](x)
    return dy * LAMBDA * np.where(x > 0, 1.0, ALPHA + y)


def _case(act: str, shape: tuple[int, ...]) -> Case:
    return Case("LeakyReLU", {"act_type": act}, [Input(shape, kind="away", low=-3, high=3)],
                reference=NUMPY_OF[act], gradients=selu_gradient if act == "selu" else None,
                native=True, native_backward=True)


def prelu(data: tuple[int, ...], gamma: tuple[int, ...], dims: tuple[int, ...],
          native: bool = True) -> Case:
    """`dims`: gamma's shape as numpy broadcasts it."""
    return Case("LeakyReLU", {"act_type": "prelu"}, [Input(data, kind="away"), Input(gamma)],
                reference=lambda x, g: np.where(x > 0, x, x * g.reshape(dims)),
                native=data[0] > 0, native_backward=native)


def check_rrelu(inputs: list[Array], outputs: list[Array]) -> None:
    x, (y, slopes) = inputs[0], outputs
    assert (slopes >= 0.2).all()
    assert (slopes < 0.4).all()
    assert np.unique(slopes).size > slopes.size // 2
    np.testing.assert_allclose(y, np.where(x > 0, x, x * slopes), rtol=1e-6)


BOUNDS = {"act_type": "rrelu", "lower_bound": 0.2, "upper_bound": 0.4}
CASES = [_case(act, shape) for act in NUMPY_OF for shape in SHAPES]
CASES += [
    Case("LeakyReLU", {"slope": -0.5}, [Input((3, 5), kind="away")], native=True,
         native_backward=True, reference=lambda x: np.where(x > 0, x, -0.5 * x)),
    Case("LeakyReLU", {"act_type": "gelu"}, [(0, 4)], reference=lambda x: x, native=False,
         native_backward=False, note="no elements"),
    prelu((2, 3), (3,), (1, 3)),
    prelu((2, 20, 3, 2), (20,), (1, 20, 1, 1)),
    prelu((2, 16, 3, 2), (1, 16), (1, 16, 1, 1)),
    prelu((2, 5, 3, 2), (1,), (1,)),
    prelu((2, 3, 4), (3,), (1, 3, 1)),
    prelu((2, 3, 2, 2, 2), (3,), (1, 3, 1, 1, 1)),
    prelu((6,), (6,), (6,)),
    prelu((6,), (1,), (1,), native=False),
    prelu((2, 3, 4), (2, 3), (2, 3, 1), native=False),
    prelu((2, 3, 4), (2,), (2, 1, 1), native=False),
    prelu((4, 3), (4, 1), (4, 1), native=False),
    prelu((0, 3), (3,), (1, 3), native=False),
    *[Case("LeakyReLU", BOUNDS, [Input(shape, kind="away")], check=check_rrelu, is_train=True,
           native=True, native_backward=True) for shape in ((4, 5), (2, 20, 3, 5))],
    Case("LeakyReLU", BOUNDS, [Input((2, 3, 4, 5), kind="away")], native=True,
         reference=lambda x: (np.where(x > 0, x, 0.3 * x), np.full(x.shape, 0.3)),
         exempt={"gradient": "gradients run in training, where slopes are random"},
         note="inference"),
]
