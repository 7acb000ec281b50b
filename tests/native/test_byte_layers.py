"""Weights and biases as whole numbers, against NumPy; what the kernels refuse."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import lib
from ndarray_rt.ops.fused import bent_sums
from ndarray_rt.ops.quantization import whole_layers
from ndarray_rt.ops.quantization.whole_sums import Bend
from tests.native.helpers import DTYPES, kernel

SMALL = 1e-37  # no float says how many steps of it 1 has
NUMBERS = st.sampled_from((0.0, -1e-30, 1e-9, 0.5, -0.7, 1.0, 3e5, np.inf, np.nan, -1e30))
F = np.float32


class Norm:
    eps, fix_gamma = 1e-3, False


def some(rng: Any, *shape: int) -> Any:
    return rng.normal(size=shape).astype("f4")


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 5), st.integers(1, 40), st.booleans(), st.booleans(), st.booleans(),
       st.booleans(), st.sampled_from(("int8", "uint8")), NUMBERS, NUMBERS,
       st.sampled_from((0.0, SMALL, 1e-9, 2.5, 1e9)), st.sampled_from((1.0, 3.5)),
       st.sampled_from((None, 0.0, 1e-9, 10.0, 1e30)), st.integers(0, 3), st.integers(0, 9))
def test_layers_are_rounded_as_numpy_does(
        rows: int, width: int, with_bias: bool, with_norm: bool, by_rows: bool, flat: bool,
        dtype: str, weight_end: float, bias_end: float, high: float, growth: float,
        summand: float | None, nthreads: int, seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    weight, bias = some(rng, rows, width), some(rng, rows) if with_bias else None
    weight[0] = weight_end if flat else weight[0]
    weight.flat[-1] = weight_end
    if bias is not None:
        bias[-1] = bias_end
    norm = [some(rng, rows), some(rng, rows), some(rng, rows), abs(some(rng, rows))]
    factors = shifts = None
    ends = [np.zeros(1, "f4"), np.array([high], "f4")]
    want_weight, want_bias = weight, bias
    if with_norm:
        factors, shifts = np.zeros(rows, "f4"), np.zeros(rows, "f4")
        kernel(lib.NDRT_KERNEL_LAYER_FACTORS, (rows,), [factors, shifts, *norm, bias], (Norm.eps,))
        want_weight, want_bias = whole_layers.folded(weight, bias, Norm, *norm)
    data_scale = whole_layers.scale_of(np.dtype(dtype), *(end[0] for end in ends))
    added = None if summand is None else np.array([summand], "f4")
    want = whole_layers.whole_layer(
        want_weight, want_bias, data_scale, by_rows,
        whole_layers.Headroom(growth, F(0 if summand is None else F(summand) * F(1.5))))
    made = np.zeros((rows, width), "i1")
    kind = "f4" if by_rows else "i4"
    given_bias = shifts if with_norm else bias
    made_bias = None if given_bias is None else np.zeros(rows, kind)
    scale = np.zeros(rows, "f4") if by_rows else None
    told: Any = None if by_rows else np.zeros(3, "f4")
    extent = whole_layers.extent(want_weight)
    refused = not by_rows and np.isnan(extent[1])
    with (pytest.raises(ParameterError, match="an end of a range is nan") if refused
          else nullcontext()):
        kernel(lib.NDRT_KERNEL_ROUND_LAYER,
               (rows, width, dtype == "int8", 1, by_rows, DTYPES[np.dtype(kind)]),
               [made, made_bias, scale, told, weight, factors, given_bias, *ends, added],
               (0.75, growth, 1.5),
               nthreads)
    if refused:
        return
    np.testing.assert_array_equal(made, want.weight)
    if want.bias is not None:
        np.testing.assert_array_equal(made_bias, want.bias.astype(kind))
    if told is not None:
        with np.errstate(over="ignore"):
            assert told[2] == F(data_scale * want.scales[0])
    if scale is not None:
        np.testing.assert_allclose(scale, want.factors(data_scale, F(0.75)), rtol=0, atol=1e-37)
    elif high != SMALL:  # steps of that have no full precision, which native code may take as 0
        np.testing.assert_allclose(
            told[:2], np.ravel(want.ends(np.dtype(dtype), [*ends, *extent])), rtol=0, atol=1e-30)


@pytest.mark.parametrize("data_high", [0.0, 1e-38, 1e-6, 2.0])
@pytest.mark.parametrize("weight_high", [0.0, 1e-40, 1e-9, 0.5])
@pytest.mark.parametrize("bias_high", [None, 0.0, 1e-40, 1e-9, 0.7, 1e6])
@pytest.mark.parametrize(("kind", "growth"), [("f4", 1.0), ("i4", 1.0), ("i4", 3.5)])
def test_int8_layers_are_scaled_as_numpy_does(data_high: float, weight_high: float,
                                              bias_high: float | None, kind: str, growth: float,
                                              ) -> None:
    rng = np.random.default_rng(2)
    weight, bias = (rng.integers(-128, 128, shape).astype("i1") for shape in ((4, 9), (4,)))
    ends = [np.array([-end, end], F) for end in (data_high, weight_high, bias_high or 0.0)]
    data_scale = whole_layers.scale_of(np.dtype("int8"), *ends[0])
    want = whole_layers.rescaled_layer(weight, (ends[1][0], ends[1][1]),
                                       None if bias_high is None else bias,
                                       (ends[2][0], ends[2][1]), data_scale, growth)
    ratio, factor, scale, told = (np.zeros(count, "f4") for count in (1, 1, 1, 3))
    arrays: list[Any] = [end[i:i + 1].copy() for end in ends for i in (0, 1)]
    given_arrays = arrays if bias_high is not None else [*arrays[:4], None, None]
    kernel(lib.NDRT_KERNEL_DENSE_SCALES, (1,), [ratio, factor, scale, *given_arrays, told],
           (0.75, growth))
    # native code may take as 0 what has no full precision
    np.testing.assert_allclose(told[:2], want.ends(np.dtype("int8"), arrays[:4]), rtol=0,
                               atol=1e-32)
    assert told[2] == F(data_scale * want.scales[0])
    made, made_bias = np.zeros((4, 9), "i1"), np.zeros(4, kind)
    kernel(lib.NDRT_KERNEL_ROUND_AWAY, (36, lib.NDRT_S8), [made, weight, ratio])
    np.testing.assert_array_equal(made, want.weight)
    np.testing.assert_array_equal(scale, want.factors(data_scale, F(0.75)))
    if want.bias is not None:
        kernel(lib.NDRT_KERNEL_ROUND_AWAY, (4, DTYPES[np.dtype(kind)]), [made_bias, bias, factor])
        np.testing.assert_array_equal(made_bias, want.bias.astype(kind))


def test_what_a_summand_is_multiplied_by() -> None:
    for dtype, low, high in (("int8", -0.5, 0.25), ("uint8", 0.0, 3.0), ("int8", 0.0, 0.0)):
        made = np.zeros(1, "f4")
        kernel(lib.NDRT_KERNEL_ADDED_SCALE, (dtype == "int8",),
               [made, *np.array([[low], [high]], F)], (7.5,))
        assert made[0] == F(7.5) / whole_layers.scale_of(np.dtype(dtype), low, high)


@pytest.mark.parametrize("nthreads", [1, 2])
@pytest.mark.parametrize("dtype", ["i1", "u1", None])
def test_functions_and_a_summand_behind_sums(dtype: str | None, nthreads: int) -> None:
    """In float64; the ends of int32 and NaN."""
    inf, rng, count = np.inf, np.random.default_rng(4), 137
    data = np.rint(rng.normal(scale=1e4, size=count)).astype("i4")
    data[:3] = 2**31 - 1, -2**31, 0
    added = None if dtype is None else rng.integers(-9, 100, count).astype(dtype)
    low, high = np.array([-2.0], F), np.array([1.5], F)
    for steps in (F(300.3), F(1e-4), F(0), F(1e30)):
        for bends in ((1, -inf, inf, 1, 0, inf), (0.1, -0.7, 6, -1, -inf, 3.3),
                      (1, -inf, 20, -3, -inf, inf)):
            made = np.full(count + 1, 7, "i4")
            kernel(lib.NDRT_KERNEL_BEND_SUMS, (count, dtype == "i1"),
                   [made, data, np.array([steps]), added,
                    *((None, None) if dtype is None else (low, high))], bends, nthreads)
            with np.errstate(all="ignore"):
                y = bent_sums.bent(data.astype("f8"), Bend(*bends[:3]), steps)
                if dtype is not None and added is not None:
                    own = whole_layers.scale_of(np.dtype(dtype), -2.0, 1.5)
                    y = y + added.astype("f8") * F(steps / own)
                want = whole_layers.to_int32(bent_sums.bent(y, Bend(*bends[3:]), steps))
            np.testing.assert_array_equal(made[:-1], want)
            assert made[-1] == 7


def refuse(which: int, error: str, dims: Any, arrays: Any, numbers: Any = (1.0, 1.0, 1.0),
           ) -> None:
    with pytest.raises(ParameterError, match=error):
        kernel(which, dims, arrays, numbers)


def test_refuses() -> None:
    x, nan, b = np.ones(4, "f4"), np.array([np.nan], F), np.ones(4, "i1")
    layer = lib.NDRT_KERNEL_ROUND_LAYER
    arrays = [b, None, x, None, x, None, None, -x, x, None]
    refuse(layer, "data is uint8 and has a range from -1", (2, 2, 0, 1, 1, lib.NDRT_F32), arrays)
    refuse(layer, "an end of a range is nan", (2, 2, 1, 1, 1, lib.NDRT_F32),
           [*arrays[:7], nan, x, None])
    refuse(layer, "round layer: a count is out of range", (-1, 2, 1, 1, 1, lib.NDRT_F32), arrays)
    refuse(layer, "a kind that there is no form for", (2, 2, 1, 1, 1, lib.NDRT_S8), arrays)
    refuse(layer, "an array is missing", (2, 2, 1, 1, 1, lib.NDRT_F32), [b, x, *arrays[2:]])
    refuse(layer, "an array is missing", (2, 2, 1, 1, 1, lib.NDRT_F32), [*arrays[:4], None])
    refuse(lib.NDRT_KERNEL_LAYER_FACTORS, "an array is missing", (4,), [x, x, x, x, x], (1.0,))
    refuse(lib.NDRT_KERNEL_DENSE_SCALES, "an array is missing", (1,), [x] * 8, (1.0, 1.0))
    refuse(lib.NDRT_KERNEL_DENSE_SCALES, "an end of a range is nan", (1,), [*[x] * 6, nan],
           (1.0, 1.0))
    refuse(lib.NDRT_KERNEL_ROUND_AWAY, "a kind that there is no form for", (4, lib.NDRT_U8),
           [b, b, x], ())
    whole, bends = np.ones(4, "i4"), (1.0,) * 6
    refuse(lib.NDRT_KERNEL_BEND_SUMS, "an array is missing", (4, 1), [whole, whole, x, b, x, None],
           bends)
    refuse(lib.NDRT_KERNEL_BEND_SUMS, "a count is out of range", (-1, 1), [whole, whole, x], bends)
    refuse(lib.NDRT_KERNEL_BEND_SUMS, "an end of a range is nan", (4, 1),
           [whole, whole, x, b, x, nan], bends)
    refuse(lib.NDRT_KERNEL_ADDED_SCALE, "an end of a range is nan", (1,), [x, nan, x], (1.0,))
