"""Quantized layers bring their sums to 8 bits themselves where nobody else reads the sums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.passes import optimize
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.pass_checks import operators

SHAPES = {"data": (2, 3, 9, 8), "weight": (5, 3, 3, 3), "dense": (4, 5 * 7 * 6)}
GIVEN: dict[str, Any] = {"min_calib_range": -400.0, "max_calib_range": 350.0}


def ends(name: str) -> list[Symbol]:
    return [mx.sym.var(f"{name}_{end}", shape=(1,)) for end in ("min", "max")]


def inputs(data: Iterable[Symbol], name: str) -> dict[str, Any]:
    x, low, high = data
    weight_low, weight_high = ends(name)
    return {"data": x, "weight": mx.sym.var(name, dtype="int8"), "min_data": low,
            "max_data": high, "min_weight": weight_low, "max_weight": weight_high}


def conv() -> Symbol:
    data = mx.sym.var("data", dtype="uint8")
    return mx.sym.contrib.quantized_conv(**inputs([data, *ends("data")], "weight"),
                                         kernel=(3, 3), num_filter=5, no_bias=True, name="conv")


def requantize(sums: Symbol, **given: Any) -> Symbol:
    return mx.sym.contrib.requantize(*sums, **(given or GIVEN))


def relu(whole: Symbol) -> Symbol:
    return mx.sym.contrib.quantized_act(*whole, act_type="relu")


def dense(whole: Symbol) -> Symbol:
    flat = mx.sym.contrib.quantized_flatten(*whole)
    return mx.sym.contrib.quantized_fully_connected(**inputs(flat, "dense"), num_hidden=4,
                                                    no_bias=True)


def add(left: Symbol, right: Symbol, **given: Any) -> Symbol:
    return mx.sym.contrib.quantized_elemwise_add(left[0], right[0], left[1], left[2], right[1],
                                                 right[2], **given)


def values(symbol: Symbol) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    made: dict[str, Any] = {}
    for name in symbol.list_arguments():
        if name in SHAPES:
            dtype = "uint8" if name == "data" else "int8"
            made[name] = mx.nd.array(rng.integers(0 if dtype == "uint8" else -128, 128,
                                                  SHAPES[name]), dtype=dtype)
        else:
            made[name] = mx.nd.array([-1.5 if name.endswith("min") else 2.25])
    return made


def check(symbol: Symbol, wanted: list[str], left: list[str]) -> None:
    """Which operators are there afterwards, which are gone, and that results are the same."""
    given = values(symbol)
    found = operators(optimize(symbol.entries, {name: x.shape for name, x in given.items()},
                               {name: x.dtype for name, x in given.items()}).heads)
    assert sorted(name for name in found if name.startswith("_fused_quantized")) == sorted(wanted)
    assert sorted(name for name in found if name.startswith("_contrib")) == sorted(left)
    net = symbol.bind(mx.cpu(), given, grad_req="null")
    want = [out.asnumpy() for out in symbol.bind(mx.cpu(), given, grad_req="write").forward(
        is_train=True)]
    for _ in range(3):
        for got, expected in zip(net.forward(), want, strict=True):
            np.testing.assert_array_equal(got.asnumpy(), expected)
    # the range is read at each run
    given["weight_max"][:] = 3.5
    again = symbol.bind(mx.cpu(), given, grad_req="null").forward()
    for got, expected in zip(net.forward(), again, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), expected.asnumpy())


CONV, DENSE, ADD = (f"_fused_quantized_{name}" for name in ("conv", "fully_connected",
                                                            "elemwise_add"))
REQUANTIZE, ACT = "_contrib_requantize", "_contrib_quantized_act"
SUMS = "_contrib_quantized_conv"


def test_layers_take_their_requantization_and_relu() -> None:
    check(requantize(conv()), [CONV], [])
    check(relu(requantize(conv())), [CONV], [])
    check(relu(requantize(conv(), out_type="uint8", min_calib_range=0.0, max_calib_range=300.0)),
          [CONV], [])
    whole = relu(requantize(conv()))
    check(requantize(dense(whole)), [CONV, DENSE], ["_contrib_quantized_flatten"])
    check(relu(requantize(add(whole, whole))), [CONV, ADD], [])


def test_relu_of_relu_stays() -> None:
    check(relu(relu(requantize(conv()))), [CONV], [ACT])


@pytest.mark.parametrize("which", range(5))
def test_what_others_read_stays(which: int) -> None:
    sums = conv()
    whole = requantize(sums)
    symbol, wanted, left = (
        (requantize(conv(), out_type="int8"), [], [SUMS, REQUANTIZE]),
        (mx.sym.Group([sums[0], requantize(sums)]), [], [SUMS, REQUANTIZE]),
        (mx.sym.Group([sums[2], requantize(sums)]), [], [SUMS, REQUANTIZE]),
        (mx.sym.Group([relu(whole), whole[0]]), [CONV], [ACT]),
        (add(whole, whole, **GIVEN), [CONV], ["_contrib_quantized_elemwise_add"]))[which]
    check(symbol, wanted, left)


def test_a_range_from_elsewhere_stays() -> None:
    sums = conv()
    low, high = ends("other")
    whole = mx.sym.contrib.requantize(sums[0], low, high, **GIVEN)
    check(whole, [], [SUMS, REQUANTIZE])
