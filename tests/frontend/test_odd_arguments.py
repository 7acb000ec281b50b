"""Arrays of no elements, numbers as text, and arguments that once raised what is not ours."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config, nd
from ndarray_rt.errors import MXNetError, ParameterError, ShapeError, TypeMismatch
from ndarray_rt.io.params_file import save_tobuffer

HALF = nd.array([0.5, 0.5])
DRAWS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda shape: nd.random.uniform(0, 1, shape=shape),
    "normal": lambda shape: nd.random.normal(0, 1, shape=shape),
    "gamma": lambda shape: nd.random.gamma(1, 1, shape=shape),
    "exponential": lambda shape: nd.random.exponential(1, shape=shape),
    "poisson": lambda shape: nd.random.poisson(1, shape=shape),
    "negative_binomial": lambda shape: nd.random.negative_binomial(1, 0.5, shape=shape),
    "generalized": lambda shape: nd.random.generalized_negative_binomial(1, 0.5, shape=shape),
    "randint": lambda shape: nd.random.randint(0, 5, shape=shape),
    "randn": lambda shape: nd.random.randn(*shape),
}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0,)])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_of_nothing(name: str, shape: tuple[int, ...], native: bool) -> None:
    with config.override(NDRT_ONEDNN=native):
        for _ in range(3):
            assert DRAWS[name](shape).shape == shape
            assert nd.random.uniform(HALF, HALF + 1, shape=shape).shape == (2, *shape)
            assert nd.random.multinomial(HALF, shape=shape).shape == shape


def test_a_zero_in_a_symbol_is_still_unknown() -> None:
    drawn = mx.sym.random.uniform(shape=(0, 3)) + mx.sym.Variable("x")
    assert drawn.infer_shape(x=(2, 3))[1] == [(2, 3)]


@pytest.mark.parametrize("native", [False, True])
def test_parts_of_nothing(native: bool) -> None:
    x = nd.ones((3, 4))
    x.attach_grad()
    with config.override(NDRT_ONEDNN=native):
        for begin, end in ((1, 1), (3, 3), (-1, 2), (0, 0), (3, None)):
            with mx.autograd.record():
                y = nd.slice_axis(x, axis=0, begin=begin, end=end)
            assert y.shape == (0, 4)
            y.backward()
            assert not x.grad.asnumpy().any()
        with pytest.raises(ShapeError, match="name no part"):
            nd.slice_axis(x, axis=0, begin=2, end=1)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float16", "int8", None])
def test_numbers_as_text(dtype: str | None) -> None:
    for given in (["12", "7"], np.array(["12", "7"]), [b"12", b"7"], ("12", "7")):
        got = nd.array(given, dtype=dtype)
        assert got.dtype == np.dtype(dtype or "float32")
        assert got.asnumpy().tolist() == [12, 7]
    assert nd.array([["1.5"], ["-2"]]).asnumpy().tolist() == [[1.5], [-2]]
    for wrong in (["x"], ["1", "2.5"] if dtype == "int32" else [""], [["1"], "2"]):
        with pytest.raises(TypeMismatch, match="source_array"):
            nd.array(wrong, dtype=dtype)


BOXES = nd.zeros((3, 6))
NUMBER: Any = 5
WRONG: dict[str, tuple[Callable[[Path], Any], type[MXNetError], str]] = {
    "SoftmaxOutput of rank 0": (lambda _: nd.SoftmaxOutput(nd.zeros(()), nd.zeros(())),
                                ShapeError, r"data has shape \(\)"),
    "unravel of a huge shape": (lambda _: nd.unravel_index(nd.array([1]), shape=(2**62,) * 3),
                                ShapeError, "more places than can be counted"),
    "surrogate in a name": (lambda d: nd.save(str(d / "x"), {"a\ud800": HALF}), ParameterError,
                            "surrogates"),
    "surrogate in a file's name": (lambda d: nd.save(f"{d}/\ud800", HALF), MXNetError, "writing"),
    "zero byte in a file's name": (lambda d: nd.save(f"{d}/\0", HALF), MXNetError, "null byte"),
    "load of such a name": (lambda d: nd.load(f"{d}/\0"), MXNetError, "null byte"),
    "symbol with a surrogate": (lambda d: mx.sym.Variable("a\ud800").save(str(d / "s.json")),
                                ParameterError, "surrogates"),
    "symbol of such a name": (lambda d: mx.sym.load(f"{d}/\0"), MXNetError, "null byte"),
    "reorder to a number": (lambda _: nd.zeros((1, 2, 3, 4)).reorder(NUMBER), TypeMismatch,
                            "layout got 5"),
    "reorder to no letters": (lambda _: nd.zeros((1, 2, 3, 4)).reorder("\ud800"), ParameterError,
                              "no layout"),
    "uniform beyond float32": (lambda _: nd.random.uniform(-1e308, 1e308), ParameterError,
                               "'low' got -1e.308, expected a number of float32"),
    "uniform too wide": (lambda _: nd.random.uniform(-1.7e308, 1.7e308, dtype="float64"),
                         ParameterError, "further apart"),
    "normal beyond float16": (lambda _: nd.random.normal(0, 1e5, dtype="float16"), ParameterError,
                              "'scale' got 100000.0"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong(name: str, tmp_path: Path) -> None:
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("native", [False, True])
def test_no_class_is_any_number_below_zero(native: bool) -> None:
    boxes = nd.array(np.random.default_rng(0).uniform(0, 1, (5, 6)))
    with config.override(NDRT_ONEDNN=native):
        wanted = nd.contrib.box_nms(boxes, id_index=-1).asnumpy()
        np.testing.assert_array_equal(nd.contrib.box_nms(boxes, id_index=-2).asnumpy(), wanted)


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no endless device")
@pytest.mark.parametrize("load", [nd.load, mx.sym.load])
def test_endless_files_are_left_after_their_first_bytes(load: Callable[[str], Any]) -> None:
    with pytest.raises(ParameterError, match="/dev/zero"):
        load("/dev/zero")


def test_a_pipe_is_read_to_its_end() -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(save_tobuffer({"x": HALF}))
    try:
        assert nd.load(f"/dev/fd/{reader}")["x"].asnumpy().tolist() == [0.5, 0.5]
    finally:
        os.close(reader)
