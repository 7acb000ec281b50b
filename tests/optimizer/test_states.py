"""States as bytes: what is written is read, and what else is in a file does no harm."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.errors import ModelFormatError, MXNetError, ParameterError, TypeMismatch
from ndarray_rt.optimizer.states import FIRST_LINE, dump_states, load_states

from . import golden

NAMES = sorted({case[0] for case in golden.CASES} - {"groupadagrad"})


def same(a: Any, b: Any) -> bool:
    if isinstance(a, mx.nd.NDArray):
        return (isinstance(b, mx.nd.NDArray) and a.dtype == b.dtype
                and np.array_equal(a.asnumpy(), b.asnumpy()))
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or (a != a and b != b))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (st.lists(inner) | st.lists(inner).map(tuple)
                   | st.dictionaries(st.text() | st.integers(), inner)), max_leaves=10)


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    assert same(load_states(dump_states(value)), value)


@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on_with_the_same_bits(name: str) -> None:
    def steps(updater: Any, weight: Any, first: int) -> None:
        for step in range(first, first + 3):
            updater(0, mx.nd.array(np.random.RandomState(step).randn(3, 2)), weight)

    params = {"momentum": 0.9} if name in ("sgd", "nag", "lars", "lbsgd") else {}
    updater, weight = mx.optimizer.get_updater(golden.make(mx, name, params)), mx.nd.ones((3, 2))
    steps(updater, weight, 0)
    kept = weight.copy()
    data = updater.get_states(dump_optimizer=True)
    steps(updater, weight, 3)
    resumed = mx.optimizer.get_updater(mx.optimizer.create(name))
    resumed.set_states(data)
    steps(resumed, kept, 3)
    np.testing.assert_array_equal(weight.asnumpy(), kept.asnumpy())


class Attack:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize("value", [
    Attack(), [Attack()], {0: Attack()}, print, np.random.RandomState(0), range(3)])
def test_a_pickle_that_asks_for_more_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="pickle asks for"):
        load_states(pickle.dumps(value))


def test_a_pickle_of_plain_things_is_read() -> None:
    value = {0: OrderedDict(a=np.arange(3.0)), "b": (1, 2.5, None, b"x")}
    found = load_states(pickle.dumps(value))
    np.testing.assert_array_equal(found[0]["a"], np.arange(3.0))
    assert found["b"] == value["b"]


WHOLE = dump_states({0: (mx.nd.ones((2,)), None), "a": mx.optimizer.Adam()})


@given(st.data())
def test_damaged_bytes_are_errors_of_ours(data: Any) -> None:
    place = data.draw(st.integers(0, len(WHOLE) - 1))
    damaged = data.draw(st.sampled_from([
        WHOLE[:place], WHOLE[:place] + bytes([data.draw(st.integers(0, 255))]) + WHOLE[place + 1:],
        WHOLE[:place] + WHOLE[place + 1:]]))
    with contextlib.suppress(MXNetError):
        load_states(damaged)


@pytest.mark.parametrize("text", [
    b"[]", b"{}", b'{"none": 0, "int": 1}', b'{"what": 1}', b'{"int": "a"}', b'{"float": "z"}',
    b'{"list": 3}', b'{"dict": [[1]]}', b'{"array": 0}', b'{"array": -1}', b'{"optimizer": 3}',
    b'{"optimizer": ["nothing", []]}', b'{"scheduler": ["os.system", []]}',
    b'{"scheduler": ["LRScheduler", []]}', b'{"dict": [[{"list": []}, {"none": 0}]]}',
    b'{"list": [' * 40 + b"]}" * 40, b"[" * 100000])
def test_texts_that_describe_nothing(text: bytes) -> None:
    data = FIRST_LINE + len(text).to_bytes(8, "little") + text
    with pytest.raises(ParameterError, match="states"):
        load_states(data + dump_states(None)[len(FIRST_LINE) + 8 + len('{"none":0}'):])


def test_what_can_not_be_written_is_named() -> None:
    with pytest.raises(TypeMismatch, match=r"states\[3\]\[1\] is a object"):
        dump_states({3: [0, object()]})

    class Unknown(mx.optimizer.SGD):
        pass

    with pytest.raises(TypeMismatch, match="no registered optimizer"):
        dump_states(Unknown())
    with pytest.raises(TypeMismatch, match="expected bytes"):
        load_states("text")  # type: ignore[arg-type]


class Steps(mx.lr_scheduler.LRScheduler):
    def __call__(self, num_update: int) -> float:
        return self.base_lr / num_update


def test_a_schedule_of_the_users_comes_back() -> None:
    made = mx.optimizer.SGD(lr_scheduler=Steps(base_lr=2.0))
    _, found = load_states(dump_states(({}, made)))
    assert isinstance(found.lr_scheduler, Steps)
    found._update_count([0, 0])
    assert found.learning_rate == 1.0


def pickled(text: bytes) -> bytes:
    """A pickle of protocol 2 that does this and stops."""
    return b"\x80\x02" + text + b"."


@pytest.mark.parametrize(("data", "words"), [
    (pickled(b"cbuiltins\nbytearray\nI1000000000000\n\x85R"), "a bytearray is made of int"),
    (pickled(b"cnumpy\nndarray\nI1000000000000\n\x85\x85R"), "neither of this package nor"),
    (pickled(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nI1000000000000\n\x85"
             b"U\x01b\x87R"), "does not begin as NumPy pickles it"),
    (pickled(b"]r\x00\x00\x00\x7f"), "LONG_BINPUT 2130706432"),
    (pickled(b"]" * (1 << 19)), "opcodes"),
    (pickled(b"B\xff\xff\xff\x7f"), "neither of this package nor"),
])
def test_pickles_can_not_ask_for_much_memory(data: bytes, words: str) -> None:
    with pytest.raises(ModelFormatError, match=words):
        load_states(data)


def test_frames_that_overlap_hide_nothing() -> None:
    """The unpickler in C would go on behind the end of the outer one."""
    inner = pickle.FRAME + (20).to_bytes(8, "little") + b"K\x01."
    hidden = b"K\x02." + bytes(17)
    outer = pickle.FRAME + len(inner).to_bytes(8, "little")
    data = b"\x80\x04" + outer + inner + hidden
    assert pickle.loads(data) == 1
    assert pickle.Unpickler(io.BytesIO(data)).load() == 2
    with pytest.raises(ModelFormatError):
        load_states(data)


# a tuple of itself and itself, and so on: 2^60 empty ones, each of which it would take to hash it
DOUBLED = b")" + b"2\x86" * 60


@pytest.mark.parametrize(("data", "words"), [
    (pickled(b"}" + DOUBLED + b"Ns"), "a key is a tuple"),
    (pickled(b"}(" + DOUBLED + b"Nu"), "a key is a tuple"),
    (pickled(b"(" + DOUBLED + b"Nd"), "a key is a tuple"),
    (pickled(b"\x8f(" + DOUBLED + b"\x90"), "a key is a tuple"),
    (pickled(b"(" + DOUBLED + b"\x91"), "a key is a tuple"),
    (pickled(b"cbuiltins\nset\n(" + DOUBLED + b"t\x85R"), "a key is a tuple"),
    (pickled(b"cbuiltins\nfrozenset\n(" + DOUBLED + b"t\x85R"), "a key is a tuple"),
    (pickled(b"ccollections\nOrderedDict\n(" + DOUBLED + b"N\x86t\x85R"), "a key is a tuple"),
    (pickled(DOUBLED), "nested deeper than"),
    # a class of ours would get another method
    (pickled(b"cmxnet.lr_scheduler\nFactorScheduler\nN}U\x08__call__Ns\x86b"), "changes Factor"),
])
def test_pickles_can_not_ask_for_much_time_or_change_classes(data: bytes, words: str) -> None:
    with pytest.raises(ModelFormatError, match=words):
        load_states(data)


def test_what_a_pickle_has_many_times_is_looked_at_once() -> None:
    made = load_states(pickled(b")" + b"2\x86" * 30))
    assert made[0] is made[1]
