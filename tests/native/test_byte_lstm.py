"""An LSTM on numbers of 8 bits, step by step in NumPy, and its weights as int8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.quantization.ranges import rounded
from tests.native.helpers import DTYPES, kernel

F = np.float32
S8 = np.dtype("i1")
SCALE, SHIFT = F(60), F(70)
BEHIND = 4096  # bytes that no call may write


def one(value: Any) -> Any:
    return np.array([value], "f4")


def rounded_rows(data: Any, most: Any) -> Any:
    scale = np.where(most > 0, F(127) / np.where(most > 0, most, 1), F(1)).astype("f4")
    with np.errstate(all="ignore"):
        return rounded(data * scale[:, None], S8)


def packed(i2h: Any, h2h: Any, most: Any, bias: Any) -> Any:
    """Weights of int8 as the steps read them."""
    rows, size = h2h.shape
    made = np.full(lib.ndrt_byte_lstm_packed(size) + BEHIND, 7, "u1")
    kernel(lib.NDRT_KERNEL_PACK_BYTE_LSTM, (size, i2h.shape[1]),
           [made, h2h, i2h, most, bias, np.zeros(rows, "f4")])
    assert (made[-BEHIND:] == 7).all()
    return made


@pytest.mark.parametrize("width", [1, 5, 16, 100])
def test_rows_are_rounded_by_their_greatest(width: int) -> None:
    drawn = np.random.default_rng(width)
    data = drawn.standard_normal((6, width)).astype("f4")
    data[1] = 0
    data[2, -1] = np.nan
    data[3, 0] = np.inf
    most = np.array([0, 0, 0, 0, 9, np.nan, 7], "f4")
    want = np.maximum(most[:-1], abs(data).max(axis=1))
    kernel(lib.NDRT_KERNEL_ROW_MOST, (6, width), [most, data])
    np.testing.assert_array_equal(most, [*want, 7])
    made = np.full(6 * width + 1, 7, "i1")
    kernel(lib.NDRT_KERNEL_ROUND_ROWS, (6, width), [made, data, most])
    np.testing.assert_array_equal(made[:-1].reshape(6, width), rounded_rows(data, most[:-1]))
    assert made[-1] == 7


def numpy_steps(sums: Any, h2h: Any, i2h: Any, scales: Any, bias: Any, state: Any, cell: Any,
                backwards: bool) -> tuple[Any, Any]:
    """uint8 of all steps, and the last cells, in float64 but for what is rounded."""
    around = np.float64(SHIFT) * (i2h.sum(axis=1, dtype="f8") + h2h.sum(axis=1, dtype="f8"))
    last = rounded(state * SCALE + SHIFT, np.dtype("u1"))
    made = np.empty((*sums.shape[:2], state.shape[1]), "u1")
    for t in range(len(sums))[::-1 if backwards else 1]:
        total = sums[t] + last.astype("f8") @ h2h.T.astype("f8") - around
        gates = (total / (SCALE * scales)).astype("f4") + bias
        i, f, g, o = np.split(gates.astype("f8"), 4, axis=1)
        i, f, o = (1 / (1 + np.exp(-x)) for x in (i, f, o))
        cell = f * cell + i * np.tanh(g)
        last = made[t] = rounded(F(o * np.tanh(cell)) * SCALE + SHIFT, np.dtype("u1"))
    return made, cell


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("kind", ["u1", "f4"])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("size", [1, 3, 8, 17, 33])
def test_steps_equal_numpy(size: int, backwards: bool, kind: str, nthreads: int) -> None:
    drawn = np.random.default_rng(size)
    for steps, batch in ((1, 1), (3, 2), (2, 3), (4, 7)):
        rows, features, columns, first = 4 * size, 5, size + 3, 2
        i2h, h2h = (drawn.uniform(-1, 1, (rows, n)).astype("f4") for n in (features, size))
        most = np.maximum(abs(i2h).max(axis=1), abs(h2h).max(axis=1))
        i2h, h2h = rounded_rows(i2h, most), rounded_rows(h2h, most)
        bias = drawn.standard_normal(rows).astype("f4")
        x = drawn.integers(0, 256, (steps, batch, features))
        sums = (x @ i2h.T.astype("i4")).astype("i4")
        state, cell = drawn.uniform(-1, 1, (2, batch, size)).astype("f4")
        out, cells, hidden = np.full((steps, batch, columns), 9, kind), np.empty_like(cell), (
            np.empty_like(state))
        scratch = np.full(lib.ndrt_byte_lstm_scratch(size, batch) + BEHIND, 7, "u1")
        kernel(lib.NDRT_KERNEL_BYTE_LSTM,
               (steps, batch, size, columns, first, backwards, DTYPES[out.dtype]),
               [out, sums, packed(i2h, h2h, most, bias), one(SCALE), one(SHIFT), state, cell, cells,
                scratch, hidden], (), nthreads)
        want, last = numpy_steps(sums, h2h, i2h, F(127) / most, bias, state, cell, backwards)
        back = (want.astype("f4") - SHIFT) / SCALE
        np.testing.assert_array_equal(out[..., first:first + size], want if kind == "u1" else back)
        assert (np.delete(out, range(first, first + size), axis=2) == 9).all()
        np.testing.assert_allclose(cells, last, rtol=2e-6, atol=1e-6)
        np.testing.assert_array_equal(hidden, back[0 if backwards else -1])
        assert (scratch[-BEHIND:] == 7).all()


ONE = np.zeros(64, "f4")


@pytest.mark.parametrize(("which", "counts", "error"), [
    (lib.NDRT_KERNEL_BYTE_LSTM, (0, 1, 1, 1, 0, 0, lib.NDRT_U8), "0 steps of 1 samples"),
    (lib.NDRT_KERNEL_BYTE_LSTM, (1, 1, 65794, 65794, 0, 0, lib.NDRT_U8), "states of 65794"),
    (lib.NDRT_KERNEL_BYTE_LSTM, (1, 1, 4, 5, 2, 0, lib.NDRT_U8), "states of 4"),
    (lib.NDRT_KERNEL_BYTE_LSTM, (1, 1, 4, 4, 0, 0, lib.NDRT_S8), "a kind that there is no form"),
    (lib.NDRT_KERNEL_PACK_BYTE_LSTM, (4, 65794), "-1 rows of 65798"),
    (lib.NDRT_KERNEL_ROUND_ROWS, (-1, 2), "round rows: -1 rows"),
    (lib.NDRT_KERNEL_ROW_MOST, (1 << 40, 1 << 40), "row most: ")])
def test_numbers_out_of_range_are_refused(which: int, counts: Any, error: str) -> None:
    with pytest.raises(ParameterError, match=error):
        kernel(which, counts, [ONE] * 10)


@pytest.mark.parametrize("place", [3, 4])
def test_a_scale_of_nan_is_refused(place: int) -> None:
    arrays = [np.ones(64, "f4") for _ in range(10)]
    arrays[place][0] = np.nan
    with pytest.raises(ParameterError, match="an end of a range is nan"):
        kernel(lib.NDRT_KERNEL_BYTE_LSTM, (1, 1, 1, 1, 0, 0, lib.NDRT_U8), arrays)


def test_arrays_must_be_there() -> None:
    for which, counts, most in ((lib.NDRT_KERNEL_BYTE_LSTM, (1, 1, 1, 1, 0, 0, lib.NDRT_U8), 9),
                                (lib.NDRT_KERNEL_PACK_BYTE_LSTM, (1, 1), 6),
                                (lib.NDRT_KERNEL_ROUND_ROWS, (1, 1), 3),
                                (lib.NDRT_KERNEL_ROW_MOST, (1, 1), 2)):
        for missing in range(most):
            given = [None if i == missing else ONE for i in range(most)]
            with pytest.raises(ParameterError, match=f"array {missing} has no bytes"):
                kernel(which, counts, given)
