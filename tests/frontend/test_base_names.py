"""Names of mx.base that programs written for MXNet import."""

from __future__ import annotations

import ctypes

import pytest

import ndarray_rt as mx
from ndarray_rt.base import _LIB, NDArrayHandle, SymbolHandle, c_str, check_call, mx_uint


def test_operators_are_listed() -> None:
    size, names = mx_uint(), ctypes.POINTER(ctypes.c_char_p)()
    check_call(_LIB.MXListAllOpNames(ctypes.byref(size), ctypes.byref(names)))
    listed = [names[i] for i in range(size.value)]
    assert b"Convolution" in listed
    assert len(set(listed)) == len(listed) > 300


def test_values_of_c() -> None:
    assert c_str("fc1_weight").value == b"fc1_weight"
    assert NDArrayHandle is SymbolHandle is ctypes.c_void_p


def test_failed_calls_raise() -> None:
    with pytest.raises(mx.MXNetError, match="returned -1"):
        check_call(-1)


def test_there_is_no_more_of_the_c_api() -> None:
    with pytest.raises(AttributeError, match=r"_LIB\.MXSymbolCopy: ndarray_rt has no C API"):
        _LIB.MXSymbolCopy(None, None)
