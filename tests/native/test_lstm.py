"""The kernel for the steps of an LSTM layer: cells updated in place, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.cpu_level import lanes
from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.storage.kernels.rnn import lstm_steps
from tests.native.helpers import kernel, over_arrays, run_kernel

RNG = np.random.default_rng(6)


def draw(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def packed_of(between: Any) -> Any:
    """(gate, unit, feature) in blocks of the gates of a vector of units."""
    size = between.shape[1]
    return np.ascontiguousarray(
        between.reshape(4, size // lanes(), lanes(), size).transpose(1, 3, 0, 2))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("nthreads", [1, 2, 3])
def test_cells_are_updated_where_they_lie(nthreads: int) -> None:
    steps, batch, size = 3, 2, 32
    gates, hidden, cell = draw(steps, batch, 4, size), draw(batch, size), draw(batch, size)
    between = draw(4, size, size) * 0.1  # gate, unit, feature
    packed = packed_of(between)
    out = np.empty((steps, batch, size), "f4")
    cells = cell.copy()
    run_kernel(over_arrays(lstm_steps)(
        out=out, gates=gates, weights=packed, hidden=hidden, cell=cells, cells=cells, steps=steps,
        batch=batch, size=size, holds=False), nthreads)
    h, c = hidden.astype("f8"), cell.astype("f8")
    for t in range(steps):
        i, f, g, o = np.moveaxis(gates[t] + np.einsum("gus,bs->bgu", between, h), 1, 0)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(out[t], h, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(cells, c, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("holds", [False, True])
@pytest.mark.parametrize(("steps", "batch"), [(1, 1), (4, 1), (5, 3), (6, 4)])
def test_steps_that_do_not_count(steps: int, batch: int, holds: bool, nthreads: int) -> None:
    size = 32
    gates, hidden, cell = draw(steps, batch, 4, size), draw(batch, size), draw(batch, size)
    between = draw(4, size, size) * 0.1
    packed = packed_of(between)
    counts = RNG.integers(0, 2, (steps, batch)).astype("u1")
    out, cells, states = (np.full(shape, np.nan, "f4") for shape in (
        (steps, batch, size), (batch, size), (2, batch, size)))
    run_kernel(over_arrays(lstm_steps)(
        out=out, gates=gates, weights=packed, hidden=hidden, cell=cell, cells=cells, counts=counts,
        states=states, steps=steps, batch=batch, size=size, holds=holds), nthreads)
    h, c = hidden.astype("f8"), cell.astype("f8")
    for t in range(steps):
        i, f, g, o = np.moveaxis(gates[t] + np.einsum("gus,bs->bgu", between, h), 1, 0)
        new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        kept = counts[t, :, None] == 0
        h, c = (np.where(kept, old, made) for old, made in (
            (h, sigmoid(o) * np.tanh(new)), (c, new)))
        np.testing.assert_allclose(out[t], h if holds else np.where(kept, 0, h), rtol=1e-5,
                                   atol=1e-6)
    np.testing.assert_allclose(cells, c, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(states[(steps - 1) % 2], h, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("batch", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [16, 80, 272, 528])
def test_every_batch_and_size(size: int, batch: int) -> None:
    gates, hidden, cell = draw(2, batch, 4, size), draw(batch, size), draw(batch, size)
    between = (draw(4, size, size) / size ** 0.5).astype("f4")
    out, cells = (np.full(shape, np.nan, "f4") for shape in ((2, batch, size), (batch, size)))
    run_kernel(over_arrays(lstm_steps)(
        out=out, gates=gates, weights=packed_of(between), hidden=hidden, cell=cell, cells=cells,
        steps=2, batch=batch, size=size, holds=False))
    h, c = hidden.astype("f8"), cell.astype("f8")
    for t in range(2):
        i, f, g, o = np.moveaxis(gates[t] + np.einsum("gus,bs->bgu", between, h), 1, 0)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(out[t], h, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(cells, c, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("dims", [(0, 1, 16), (1, 0, 16), (1, 5, 16), (1, 1, 0), (1, 1, 20)])
def test_refuses(dims: tuple[int, ...]) -> None:
    data = [np.zeros(4096, "f4")] * 6
    with pytest.raises(ParameterError, match="lstm steps"):
        kernel(lib.NDRT_KERNEL_LSTM_STEPS, dims, data)
    with pytest.raises(ParameterError, match="-1 threads"):
        kernel(lib.NDRT_KERNEL_LSTM_STEPS, (1, 1, 16), data, nthreads=-1)


def test_refuses_what_has_no_bytes() -> None:
    with pytest.raises(ParameterError, match="lstm steps: array 5 has no bytes"):
        kernel(lib.NDRT_KERNEL_LSTM_STEPS, (1, 1, 16), [np.zeros(4096, "f4")] * 5)
    with pytest.raises(ParameterError, match="lstm steps: array 7 has no bytes"):
        kernel(lib.NDRT_KERNEL_LSTM_STEPS, (1, 1, 16), [np.zeros(4096, "f4")] * 7)
