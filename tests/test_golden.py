"""Operators give what the real MXNet 1.9.1 gave: outputs, gradients, changed inputs."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.dtypes import find_dtype

from .oracle import calls
from .oracle.call import Call, answer

ANSWERS = Path(__file__).parent / "oracle" / "answers"
TOLERANCE = {"float16": 2e-3, "float32": 2e-5, "float64": 1e-10}


@lru_cache(maxsize=1)
def all_calls() -> list[tuple[str, int, Call]]:
    """(family, its number there, call) of all calls."""
    found = []
    for module in pkgutil.iter_modules(calls.__path__):
        loaded = importlib.import_module(f"{calls.__name__}.{module.name}")
        found += [(module.name, i, call) for i, call in enumerate(loaded.CALLS)]
    return found


@lru_cache(maxsize=4)
def answers(family: str) -> dict[str, Any]:
    with np.load(ANSWERS / f"{family}.npz") as data:
        return dict(data)


def case(family: str, i: int, call: Call) -> Any:
    return pytest.param(family, i, call, id=f"{family}-{i}-{call.name}")


@pytest.mark.parametrize("native", [True, False], ids=["native", "numpy"])
@pytest.mark.parametrize(("family", "i", "call"), [case(*found) for found in all_calls()])
def test_answers(family: str, i: int, call: Call, native: bool) -> None:
    known = answers(family)
    assert known["signs"][i] == call.sign, "the call has changed: its answer must be made anew"
    with config.override(NDRT_ONEDNN=native):
        got = answer(mx, call)
    want = {key.split(".", 1)[1]: value for key, value in known.items()
            if key.startswith(f"{i}.")}
    assert set(got) == set(want)
    finite_here = 0
    for name, value in want.items():
        assert got[name].dtype == value.dtype, name
        assert got[name].shape == value.shape, name
        if call.finite_here and name.startswith("grad"):
            apart = np.isfinite(got[name]) & ~np.isfinite(value)
            finite_here += np.count_nonzero(apart)
            _assert_close(got[name][~apart], value[~apart], call, name)
        elif not call.differs:
            _assert_close(got[name], value, call, name)
    assert bool(finite_here) == bool(call.finite_here)


def _assert_close(got: Any, want: Any, call: Call, name: str) -> None:
    if find_dtype(want.dtype).kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    tolerance = TOLERANCE[want.dtype.name]
    finite = np.abs(want[np.isfinite(want)]).max(initial=1.0)
    np.testing.assert_allclose(got, want, rtol=max(call.rtol, tolerance),
                               atol=max(call.atol, tolerance * float(finite)), err_msg=name)


def test_there_are_calls() -> None:
    assert len(all_calls()) > 20
