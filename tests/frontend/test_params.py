"""Parameter classes: what they are made of, compared, shown and kept as."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError
from ndarray_rt.op.params import Params, integer, params_class, shape


@params_class
class Window(Params):
    kernel: tuple[int, ...] = shape(doc="its size")
    stride: int = integer(1, low=1, doc="how far it moves")


@params_class
class PaddedWindow(Window):
    """One more parameter."""

    pad: int = integer(0, doc="beside the data")


def test_defaults_stand_for_what_is_not_given() -> None:
    made = PaddedWindow(kernel=(2, 2), pad=3)
    assert (made.kernel, made.stride, made.pad) == ((2, 2), 1, 3)
    assert repr(made) == "PaddedWindow(kernel=(2, 2), stride=1, pad=3)"
    assert [field.name for field in dataclasses.fields(made)] == ["kernel", "stride", "pad"]


def test_are_equal_by_class_and_values() -> None:
    assert Window(kernel=(2,)) == Window(kernel=(2,), stride=1) != Window(kernel=(2,), stride=2)
    assert Window(kernel=(2,)) != PaddedWindow(kernel=(2,))
    assert len({Window(kernel=(2,)), Window(kernel=(2,)), PaddedWindow(kernel=(2,))}) == 2


@pytest.mark.parametrize(("values", "wrong"), [
    ({}, "missing or unknown are kernel$"), ({"kernel": (1,), "pad": 1}, "unknown are pad$"),
    ({"pad": 1}, "unknown are kernel, pad$")])
def test_missing_and_unknown_values_are_refused(values: dict[str, object], wrong: str) -> None:
    with pytest.raises(TypeError, match=wrong):
        Window(**values)


def test_copies_are_equal() -> None:
    made: Any = Window(kernel=(3,))
    hash(made)
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)),
                  dataclasses.replace(made, stride=1)):
        assert other == made
        assert hash(other) == hash(made)
    assert dataclasses.replace(made, stride=4).stride == 4


def test_a_hash_does_not_leave_its_process() -> None:
    made = Window(kernel=(3,))
    hash(made)
    assert b"hash" not in pickle.dumps(made)


def test_an_operator_without_parameters_ignores_what_it_is_given() -> None:
    x, y = mx.nd.array([1.0, 4.0]), mx.nd.array([2.0])
    maximum: Any = mx.nd.broadcast_maximum
    with pytest.warns(UserWarning, match="broadcast_maximum takes no parameters: 'axis'"):
        found = maximum(x, y, axis=1)
    assert found.asnumpy().tolist() == [2.0, 4.0]
    # an array is an input under a wrong name
    with pytest.raises(mx.MXNetError):
        maximum(x, wrong=y)


def test_a_number_that_no_float_holds() -> None:
    with pytest.raises(ParameterError, match="'scalar' got int that is out of range, expected a f"):
        mx.nd.ones((2, 2)) ** 10**400
