"""Walking from one implementation of a primitive to the next."""

from __future__ import annotations

from typing import Any

from ndarray_rt.errors import Unsupported
from ndarray_rt.native import ffi, lib
from tests.native.helpers import Prim, desc


def test_another_implementation() -> None:
    fields: dict[str, Any] = {
        "direction": lib.NDRT_FORWARD_INFERENCE, "src": desc((1, 16, 8, 8), "acdb"),
        "weights": desc((16, 16, 3, 3), "any"), "dst": desc((1, 16, 6, 6), "acdb"), "nspatial": 2,
        "strides": (1, 1)}
    names = []
    for index in range(100):
        try:
            names.append(Prim(lib.NDRT_CONVOLUTION, impl_index=index, **fields).impl())
        except Unsupported:
            break
    assert len(names) >= 2
    assert names[-1].startswith("ref")


def test_a_preferred_implementation() -> None:
    fields: dict[str, Any] = {
        "direction": lib.NDRT_FORWARD_INFERENCE, "src": desc((1, 16, 12, 12), "acdb"),
        "weights": desc((16, 1, 1, 3, 3), "any"), "dst": desc((1, 16, 10, 10), "acdb"),
        "nspatial": 2, "strides": (1, 1)}
    first = Prim(lib.NDRT_CONVOLUTION, **fields).impl()
    for wanted in (b"ref:", first.encode()):
        found = Prim(lib.NDRT_CONVOLUTION, prefer=ffi.new("char[]", wanted), **fields).impl()
        assert found.encode().startswith(wanted)
    absent = ffi.new("char[]", b"no such kernel")
    assert Prim(lib.NDRT_CONVOLUTION, prefer=absent, **fields).impl() == first


def test_another_implementation_of_a_backward() -> None:
    """The walk from one to the next asks the forward hint."""
    x, y, w = desc((4, 20, 12, 12), "any"), desc((4, 50, 8, 8), "any"), desc((50, 20, 5, 5), "any")
    names = []
    for index in range(100):
        try:
            names.append(Prim(lib.NDRT_CONVOLUTION, impl_index=index, nspatial=2, strides=(1, 1),
                              direction=lib.NDRT_BACKWARD_DATA, diff_src=x, diff_dst=y,
                              weights=w).impl())
        except Unsupported:
            break
    assert len(set(names)) >= 3
