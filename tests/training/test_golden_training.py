"""Training gives what it gave in MXNet 1.9.1 (data/make_mxnet_training.py)."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

from . import golden
from .golden import DOORS, LENET, RESNET, Values, sketch

DATA = Path(__file__).parents[1] / "data" / "mxnet_training"
over_doors = pytest.mark.parametrize("door", DOORS)


@lru_cache(maxsize=4)
def known(name: str, part: str) -> Values:
    with np.load(DATA / f"{name}.npz") as data:
        return {key.split(".", 1)[1]: value for key, value in data.items()
                if key.split(".", 1)[0] == part}


def apart(got: Any, want: Any) -> float:
    """The norm of the difference, as a part of the norm."""
    return float(np.linalg.norm(np.float64(got) - want) / np.linalg.norm(np.float64(want)))


def all_apart(got: Values, want: Values) -> float:
    """The same of all weights and states together, after the last step."""
    names = sorted(name for name in want if name.startswith("last "))
    return apart(*(np.concatenate([values[name].ravel() for name in names])
                   for values in (got, want)))


@over_doors
def test_lenet(door: str) -> None:
    got, want = DOORS[door](mx, LENET), known("lenet", door)
    assert set(got) == set(want)
    assert max(apart(got[name], value) for name, value in want.items()) < 1e-4


def test_lenet_operator_by_operator() -> None:
    got, want = golden.gluon(mx, LENET, is_hybrid=False), known("lenet", "gluon")
    assert max(apart(got[name], value) for name, value in want.items()) < 1e-4


@over_doors
def test_resnet18(door: str) -> None:
    """The first step within 1e-4; after the last one no further from MXNet, which computes with
    oneDNN or without it, than these two are from each other."""
    got, on, off = DOORS[door](mx, RESNET), known("resnet18", "on"), known("resnet18", "off")
    assert set(got) == set(on) == set(off)
    assert apart(got["output"], on["output"]) < 1e-4
    grads = [name for name in on if name.startswith("grad ")]
    assert len(grads) == 60
    assert max(apart(got[name], on[name]) for name in grads) < 1e-4
    assert min(all_apart(got, on), all_apart(got, off)) <= all_apart(off, on)


def test_sketches_tell_how_far_apart_arrays_are() -> None:
    draw = np.random.default_rng(0)
    x = draw.standard_normal((300, 400))
    for share in (1e-3, 1e-6):
        y = x + share * draw.standard_normal(x.shape)
        assert apart(sketch(y), sketch(x)) == pytest.approx(apart(y, x), rel=0.4)
    y = x.copy()
    y[17, 5] += 1
    assert np.count_nonzero(sketch(y) - sketch(x)) == 1
    assert sketch(np.ones(5)).tolist() == [1] * 5
