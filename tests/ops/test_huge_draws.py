"""Draws of very many numbers: in parts, between which an interrupt is served."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd
from ndarray_rt.ops.random import native

DRAWS = ["uniform", "normal", "exponential", "gamma", "poisson"]
PROGRAM = """
from ndarray_rt import nd
print("ready", flush=True)
nd._internal._random_gamma(shape=2 ** 29, dtype="float16")
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", DRAWS)
def test_parts_are_the_whole(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> np.ndarray:
        mx.random.seed(7)
        first = getattr(nd.random, name)(shape=(37, 11), dtype=dtype)
        return np.append(first.asnumpy(), nd.random.uniform(shape=3).asnumpy())
    whole = draw()
    monkeypatch.setattr(native, "MOST_AT_ONCE", 64)
    np.testing.assert_array_equal(draw(), whole)
    with config.override(NDRT_ONEDNN=False):
        np.testing.assert_allclose(draw(), whole, rtol=1e-3 if dtype == "float16" else 1e-5)


def test_parts_of_a_bound_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    def draw() -> list[np.ndarray]:
        bound = mx.sym.random.exponential(shape=(37, 11)).simple_bind(mx.cpu())
        mx.random.seed(7)
        return [bound.forward()[0].asnumpy() for _ in range(4)]
    whole = draw()
    monkeypatch.setattr(native, "MOST_AT_ONCE", 64)
    np.testing.assert_array_equal(draw(), whole)


def test_an_interrupt_is_served() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            _, errors = child.communicate(timeout=20)
        finally:
            child.kill()
    assert errors.rstrip().endswith("KeyboardInterrupt")
