"""Values given to runs: copied whole, whatever they lie in."""

from __future__ import annotations

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.executor.values import copy_value
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.stream import Stream

SHAPE = (2, 20, 6, 6)


def values() -> dict[str, mx.nd.NDArray]:
    data = np.random.default_rng(0).uniform(-1, 1, (3, *SHAPE[1:])).astype(np.float32)
    special = mx.nd.array(data[:2])
    special._chunk.reorder(tagged_desc(np.dtype(np.float32), SHAPE, "aBcd16b"), Stream())
    return {"plain": mx.nd.array(data[:2]), "view": mx.nd.array(data)[1:3], "special": special,
            "other dtype": mx.nd.array(data[:2], dtype=np.float64),
            "new": mx.nd.zeros(SHAPE)}


@pytest.mark.parametrize("name", values())
@pytest.mark.parametrize("kind", ["plain", "special", "view", "pinned"])
def test_a_copy_is_counted_and_complete(name: str, kind: str) -> None:
    value = values()[name]
    whole = mx.nd.ones((4, *SHAPE[1:]))
    target = whole[1:3] if kind == "view" else mx.nd.ones(SHAPE)
    seen = target.__array__(copy=False) if kind == "pinned" else None
    if kind == "special":
        target._chunk.reorder(tagged_desc(np.dtype(np.float32), SHAPE, "aBcd16b"),
                             Stream())
    before = target._chunk.writes
    copy_value(value, target, "data")
    assert target._chunk.writes > before
    np.testing.assert_array_equal(target.asnumpy(), value.asnumpy().astype(np.float32))
    assert target._chunk.native.lease == value._chunk.native.lease == 0
    if seen is not None:
        np.testing.assert_array_equal(seen, target.asnumpy())
    if kind == "view":
        np.testing.assert_array_equal(whole.asnumpy()[[0, 3]], 1)


def test_a_part_of_the_same_array_moves_over_itself() -> None:
    whole = mx.nd.array(np.arange(12, dtype=np.float32))
    copy_value(whole[0:8], whole[2:10], "data")
    np.testing.assert_array_equal(whole.asnumpy(), [0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 10, 11])


def test_values_reach_what_is_bound_whatever_arg_dict_holds() -> None:
    executor = (mx.sym.var("data") * 2).simple_bind(mx.cpu(), grad_req="null", data=(2, 3))
    executor.arg_dict["data"] = mx.nd.zeros((2, 3))
    for number in (1.0, 2.0, 3.0):
        made = executor.forward(is_train=False, data=mx.nd.full((2, 3), number))[0].asnumpy()
        np.testing.assert_array_equal(made, np.full((2, 3), 2 * number, np.float32))
        executor.arg_dict["data"] = mx.nd.zeros((2, 3))


def test_a_name_put_into_arg_dict_is_no_argument() -> None:
    executor = (mx.sym.var("data") * 2).simple_bind(mx.cpu(), grad_req="null", data=(2, 3))
    executor.arg_dict["more"] = mx.nd.zeros((2, 3))
    with pytest.raises(mx.MXNetError, match="'more' is no argument"):
        executor.forward(more=mx.nd.ones((2, 3)))
    assert executor.reshape(data=(1, 3)).forward()[0].shape == (1, 3)
