"""Steps of optimizers: numbers that arrays hold, 16 bits, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels import optimizer as kernels
from tests.native.helpers import kernel, over_arrays, run_kernel
from tests.native.optimizer_steps import NUMBERS, STEPS, arguments

N = 1000


def given(step: Any) -> dict[str, Any]:
    return arguments(step, N, lambda i: np.abs(
        np.random.default_rng(i).standard_normal(N)).astype("f4"))


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_16_bits_are_widened_and_narrowed(step: Any) -> None:
    """The same numbers as in float32, rounded at the end; the master copy changes or stays."""
    plain, half = given(step), given(step)
    gradient = "grad" if "grad" in plain else "step"
    if gradient == "grad":
        narrow = half["grad"].astype("f2")
        half["grad"], plain["grad"] = narrow, narrow.astype("f4")
    run_kernel(step(**plain), 2)
    half["out"], before = np.zeros(N, "f2"), half["weight"].copy()
    run_kernel(step(**half, half_grad=gradient == "grad", half_out=True), 2)
    np.testing.assert_array_equal(half["out"], plain["out"].astype("f2"))
    np.testing.assert_array_equal(half["weight"], plain["out"])
    half = given(step) | {"out": half["out"], gradient: half[gradient]}
    run_kernel(step(**half, half_grad=gradient == "grad", half_out=True, keep_master=True), 2)
    np.testing.assert_array_equal(half["out"], plain["out"].astype("f2"))
    np.testing.assert_array_equal(half["weight"], before)


@pytest.mark.parametrize("step", [kernels.sgd, kernels.sgd_mom])
def test_rates_of_one_weight_of_many(step: Any) -> None:
    plain, other = given(step), given(step)
    other["lr"] = other["wd"] = 7.0
    rates = {"lrs": np.array([5, NUMBERS["lr"]], "f4"), "wds": np.array([5, NUMBERS["wd"]], "f4")}
    run_kernel(step(**plain))
    run_kernel(step(**other, **rates, which=2))
    np.testing.assert_array_equal(other["out"], plain["out"])


@pytest.mark.parametrize("factor", [0.0, np.inf, np.nan])
def test_adamw_changes_nothing_by_such_a_factor(factor: float) -> None:
    made = given(kernels.adamw) | {"rescale_grad": np.array([factor], "f4")}
    before = {name: array.copy() for name, array in made.items() if isinstance(array, np.ndarray)}
    run_kernel(kernels.adamw(**made), 2)
    for name in ("weight", "mean", "var"):
        np.testing.assert_array_equal(made[name], before[name])
    np.testing.assert_array_equal(made["out"], before["weight"])


def test_refusals() -> None:
    a = np.zeros(4, "f4")
    made: dict[str, Any] = {"out": a, "weight": a, "grad": a, "mom": a, "lr": 1, "wd": 0,
                            "rescale_grad": 1, "clip_gradient": -1, "momentum": 0}
    with pytest.raises(ParameterError, match="nag with momentum: a count below 0"):
        run_kernel(over_arrays(kernels.nag_mom)(**made, count=-1))
    with pytest.raises(ParameterError, match="array 0 has no bytes"):
        kernel(lib.NDRT_KERNEL_NAG_MOM, [4], [])
    with pytest.raises(ParameterError, match="sgd with momentum: rates of number -1"):
        run_kernel(over_arrays(kernels.sgd_mom)(**made, count=4, which=-1))
    with pytest.raises(ParameterError, match="sgd with momentum: rates have no bytes"):
        run_kernel(over_arrays(kernels.sgd_mom)(**made, count=4, which=1, lrs=a))
    with pytest.raises(ParameterError, match="adamw: array 5 has no bytes"):
        kernel(lib.NDRT_KERNEL_ADAMW, [0], [a] * 5)
