"""Stores: values, sums over contexts, updaters, compression, states in files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt.errors import (
    MXNetError,
    NameMismatch,
    ParameterError,
    TypeMismatch,
    Unsupported,
)

SHAPE = (2, 3)


def ones(value: float = 1.0, ctx: Any = None) -> Any:
    return mx.nd.full(SHAPE, value, ctx=ctx)


def store(kind: str = "local") -> Any:
    made = mx.kv.create(kind)
    made.init(3, ones(2))
    made.init([5, 7], [ones(5), ones(7)])
    return made


def pulled(kv: Any, key: Any) -> float:
    out = ones(0)
    kv.pull(key, out=out)
    assert len(set(out.asnumpy().ravel().tolist())) == 1
    return float(out[0, 0].asscalar())


@pytest.mark.parametrize("kind", ["local", "device", "LOCAL"])
def test_values_and_sums(kind: str) -> None:
    kv = store(kind)
    assert pulled(kv, 3) == 2
    kv.push(3, ones(8))
    assert pulled(kv, 3) == 8
    kv.push(3, [ones(1, mx.cpu(0)), ones(2, mx.cpu(1)), ones(4, mx.cpu(2))])
    assert pulled(kv, 3) == 7
    kv.push([5, 7], [[ones(1), ones(1)], ones(9)])
    outs = [ones(0, mx.cpu(1)), ones(0)]
    kv.pull([5, 7], out=outs)
    assert [float(out.mean().asscalar()) for out in outs] == [2, 9]
    assert outs[0].context == mx.cpu(1)


def test_a_key_may_come_twice() -> None:
    kv = store()
    kv.push([3, 3, 3], [ones(1), ones(2), ones(4)])
    assert pulled(kv, 3) == 7


def test_values_are_copies() -> None:
    given_value = ones()
    kv = mx.kv.create()
    kv.init("w", given_value)
    given_value += 1
    assert pulled(kv, "w") == 1
    out = ones(0)
    kv.pull("w", out=out)
    out += 1
    assert pulled(kv, "w") == 1


def test_updater_and_optimizer() -> None:
    kv = store()
    calls = []

    def update(key: Any, given_sum: Any, kept: Any) -> None:
        calls.append(key)
        kept += given_sum * 2

    kv._set_updater(update)
    kv.push([3, 5], [[ones(1), ones(1)], ones(3)])
    assert (calls, pulled(kv, 3), pulled(kv, 5)) == ([3, 5], 6, 11)
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    out = ones(0)
    kv.pushpull(3, [ones(1), ones(1)], out=out)
    assert out[0, 0].asscalar() == 5


def test_pushpull_and_broadcast() -> None:
    kv = mx.kv.create("device")
    outs = [ones(0, mx.cpu(0)), ones(0, mx.cpu(1))]
    kv.broadcast("w", ones(4), out=outs)
    assert [out[0, 0].asscalar() for out in outs] == [4, 4]
    grads = [ones(1, mx.cpu(0)), ones(2, mx.cpu(1))]
    kv.pushpull("w", grads)
    assert [grad[0, 0].asscalar() for grad in grads] == [3, 3]


def test_views_and_layouts() -> None:
    kv = mx.kv.create()
    whole = mx.nd.arange(12).reshape((4, 3))
    kv.init(0, whole[1:3])
    out = mx.nd.zeros((4, 3))
    kv.pull(0, out=out[:2])
    np.testing.assert_array_equal(out.asnumpy(), [[3, 4, 5], [6, 7, 8], [0, 0, 0], [0, 0, 0]])
    image = mx.nd.random.normal(shape=(2, 16, 5, 5))
    conv = mx.nd.Convolution(image, mx.nd.ones((16, 16, 3, 3)), kernel=(3, 3), num_filter=16,
                             no_bias=True)
    wanted = conv.asnumpy()
    again = mx.nd.Convolution(image, mx.nd.ones((16, 16, 3, 3)), kernel=(3, 3), num_filter=16,
                              no_bias=True)
    kv.init(1, mx.nd.zeros(conv.shape))
    kv.push(1, again)
    back = mx.nd.zeros(conv.shape)
    kv.pull(1, out=back)
    np.testing.assert_array_equal(back.asnumpy(), wanted)


@given(st.lists(st.floats(-4, 4, width=32), min_size=1, max_size=40))
def test_two_bits_lose_nothing_in_the_long_run(values: list[float]) -> None:
    """What was sent so far is what came so far, but for a rest."""
    kv = mx.kv.create("device")
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    kv.init("w", mx.nd.zeros((1,)))
    sent = 0.0
    for value in values:
        out = mx.nd.zeros((1,))
        kv.pushpull("w", [mx.nd.array([value]), mx.nd.zeros((1,))], out=out)
        assert out.asscalar() in (-0.5, 0.0, 0.5)
        sent += float(out.asscalar())
    rest, = (x.asscalar() for (_, place), x in kv._compression._rest.items() if place == 0)
    np.testing.assert_allclose(sent + rest, np.sum(values), atol=1e-4)


def test_states_in_files(tmp_path: Path) -> None:
    kv = store()
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.9))
    kv.push(3, ones())
    fname = str(tmp_path / "states")
    kv.save_optimizer_states(fname, dump_optimizer=True)
    with pytest.raises(Exception, match=r".*"):
        pickle.loads((tmp_path / "states").read_bytes())
    other = store()
    other.init(9, ones())
    other.set_optimizer(mx.optimizer.SGD())
    other.load_optimizer_states(fname)
    assert other._updater.optimizer.momentum == 0.9
    np.testing.assert_array_equal(other._updater.states[3].asnumpy(),
                                  kv._updater.states[3].asnumpy())


def test_what_a_process_alone_says() -> None:
    kv = store()
    assert (kv.type, kv.rank, kv.num_workers) == ("local", 0, 1)
    assert kv.is_capable("optimizer")
    kv._barrier()
    kv._send_command_to_servers(0, "")
    test = mx.kv.create("teststore")
    assert (test.type, test.rank, test.num_workers) == ("teststore", 0, 1)
    assert not test.is_capable("Optimizer")
    outs = [ones(0), ones(0)]
    test.broadcast("w", ones(3), outs)
    test.pushpull("w", [ones(1), ones(2)], out=outs)
    assert outs[1][0, 0].asscalar() == 3


def test_a_class_of_the_users() -> None:
    @mx.kv.KVStoreBase.register
    class Mine(mx.kv.KVStoreBase):
        type = "mine"

    try:
        assert mx.kv.create("mine").type == "mine"
        with pytest.raises(NotImplementedError, match="must define pushpull"):
            mx.kv.create("MINE").pushpull(0, ones())
    finally:
        del mx.kv.KVStoreBase.kv_registry["mine"]


@pytest.mark.parametrize(("call", "error", "text"), [
    (lambda kv: mx.kv.create("dist_sync"), ParameterError, "several machines"),
    (lambda kv: mx.kv.create("what"), ParameterError, "unknown kind"),
    (lambda kv: mx.kv.create(3), TypeMismatch, "must be a string"),
    (lambda kv: kv.init(3, ones()), MXNetError, "duplicate init"),
    (lambda kv: kv.init("a", ones()), TypeMismatch, "another kind"),
    (lambda kv: kv.init([1, 2], [ones()]), NameMismatch, "2 keys, 1 values"),
    (lambda kv: kv.init(1, [1.0]), TypeMismatch, "expected an NDArray"),
    (lambda kv: kv.push(4, ones()), NameMismatch, "has not been inited"),
    (lambda kv: kv.pull(4, out=ones()), NameMismatch, "has not been inited"),
    (lambda kv: kv.pushpull(4, ones()), NameMismatch, "has not been inited"),
    (lambda kv: kv.pull(3), TypeMismatch, "out is None"),
    (lambda kv: kv.push(3, mx.nd.ones((3, 2))), ParameterError, "expected \\(2, 3\\)"),
    (lambda kv: kv.push(3.5, ones()), TypeMismatch, "unexpected type for keys"),
    (lambda kv: kv.push([3, "a"], [ones(), ones()]), TypeMismatch, "inconsistent types"),
    (lambda kv: kv.row_sparse_pull(3, out=ones(), row_ids=ones()), Unsupported, "sparse"),
    (lambda kv: kv.is_capable("speed"), ParameterError, "Unknown capability"),
    (lambda kv: kv.set_gradient_compression({"type": "2bit"}), Unsupported, "not supported"),
    (lambda kv: mx.kv.create("device").set_gradient_compression({"type": "1bit"}), ParameterError,
     "Unknown type"),
    (lambda kv: mx.kv.create("device").set_gradient_compression({"type": "2bit", "threshold": 0}),
     ParameterError, "greater than 0"),
    (lambda kv: mx.kv.create("device").set_gradient_compression({"kind": "2bit"}), ParameterError,
     "'kind'"),
    (lambda kv: kv.save_optimizer_states("x"), MXNetError, "Cannot save"),
    (lambda kv: kv.load_optimizer_states("x"), MXNetError, "Cannot load")])
def test_wrong_calls(call: Any, error: type, text: str) -> None:
    kv = store()
    with pytest.raises(error, match=text):
        call(kv)
    assert [pulled(kv, key) for key in (3, 5, 7)] == [2, 5, 7]
