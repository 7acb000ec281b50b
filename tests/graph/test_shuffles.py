"""Channel shuffles: which convolutions read the channels in place, and that all is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op.infer import run_infer_shape
from ndarray_rt.op.registry import find
from ndarray_rt.symbol.symbol import Symbol
from tests.graph.kernel_checks import check_other_batches, check_right
from tests.graph.pass_checks import check, fill, operators, relu

FUSED, SHUFFLE = "_fused_shuffled_Convolution", "_shuffle_channels"
DATA = mx.sym.var("data")
SHAPE = (2, 24, 6, 5)


def conv(data: Symbol, filters: int = 24, name: str = "conv", **params: Any) -> Symbol:
    return mx.sym.Convolution(data, num_filter=filters, name=name,
                              **{"kernel": (1, 1), "num_group": 4, **params})


def shuffle(data: Symbol, groups: int = 4, axes: tuple[int, ...] = (0, 2, 1, 3, 4)) -> Symbol:
    apart = mx.sym.transpose(mx.sym.reshape(data, shape=(0, -4, groups, -1, -2)), axes=axes)
    return mx.sym.reshape(apart, shape=(0, -3, -2))


def windows(data: Symbol, name: str = "windows", **params: Any) -> Symbol:
    given = {"filters": 24, "kernel": (3, 3), "pad": (1, 1), "num_group": 24, **params}
    return conv(data, name=name, **given)


def norm(data: Symbol, name: str = "norm") -> Symbol:
    return mx.sym.BatchNorm(data, fix_gamma=False, name=name)


def unit(data: Symbol) -> Symbol:
    """As in ShuffleNet, without the sum."""
    first = relu(norm(conv(data, 24, "first"), "first_norm"))
    return norm(conv(norm(windows(shuffle(first)), "windows_norm"), 24, "last"), "last_norm")


TAKEN: dict[str, Symbol] = {
    "a unit": relu(unit(DATA) + DATA),
    "without a sum": unit(DATA),
    "strides": conv(windows(shuffle(DATA), stride=(2, 2), no_bias=True)),
    "strides that move up": conv(windows(shuffle(DATA)), stride=(2, 2)),
    "a function of the depthwise result": conv(mx.sym.sigmoid(windows(shuffle(DATA)))),
    "axes that are swapped": conv(mx.sym.reshape(mx.sym.SwapAxis(
        mx.sym.reshape(DATA, shape=(0, -4, 4, -1, -2)), dim1=1, dim2=2), shape=(0, -3, -2))),
    "nothing between": relu(conv(shuffle(DATA), 20)),
    "other groups": conv(windows(shuffle(DATA, 6)), 20, num_group=2),
    "groups with parts of groups": conv(windows(shuffle(DATA, 8)), 16, num_group=4),
    "one group": conv(windows(shuffle(DATA)), 20, num_group=1, no_bias=True),
}
KEPT: dict[str, Symbol] = {
    "another function": mx.sym.sigmoid(conv(windows(shuffle(DATA)))),
    "another window": conv(shuffle(DATA), kernel=(3, 3)),
    "two depthwise layers": conv(windows(windows(shuffle(DATA), "inner"))),
    "two filters a channel": conv(windows(shuffle(DATA), filters=48)),
    "a product between": conv(windows(shuffle(DATA)) * DATA),
    "a sum of a smaller one": mx.sym.broadcast_add(
        conv(windows(shuffle(DATA))), mx.sym.var("shift", shape=(1, 24, 1, 1))),
    "no layer": mx.sym.tanh(shuffle(relu(DATA))),
    "an output": shuffle(windows(DATA)),
}
APART = mx.sym.reshape(DATA, shape=(0, -4, 4, -1, -2))
LEFT: dict[str, Symbol] = {
    "another order": conv(shuffle(DATA, axes=(0, 2, 1, 4, 3))),
    "groups behind the channels": conv(mx.sym.reshape(mx.sym.transpose(
        mx.sym.reshape(DATA, shape=(0, 0, -4, 2, -1, 0)), axes=(0, 1, 3, 2, 4)),
        shape=(0, 0, -3, 0))),
    "what is read between": mx.sym.Group([conv(mx.sym.reshape(mx.sym.transpose(
        APART, axes=(0, 2, 1, 3, 4)), shape=(0, -3, -2))), APART * 2]),
}


def counted(net: Symbol) -> tuple[int, int]:
    """How many convolutions read shuffled channels in place, and how many other shuffles there are;
    results are right."""
    found = operators(check(net, data=SHAPE).heads)
    return found.count(FUSED), found.count(SHUFFLE)


@pytest.mark.parametrize("name", TAKEN)
def test_convolutions_read_shuffled_channels_in_place(name: str) -> None:
    assert counted(TAKEN[name]) == (1, 0)


@pytest.mark.parametrize("name", KEPT)
def test_other_shuffles_are_one_node(name: str) -> None:
    assert counted(KEPT[name]) == (0, 1)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_no_shuffle_stays(name: str) -> None:
    assert counted(LEFT[name]) == (0, 0)


@pytest.mark.parametrize(("read", "count"), [("shuffled", 1), ("windows", 1), ("nothing", 0)])
def test_what_others_read_stays(read: str, count: int) -> None:
    mixed = shuffle(relu(DATA))
    layers = windows(mixed)
    others = {"shuffled": [mixed * 2], "windows": [layers * 2], "nothing": []}[read]
    assert counted(mx.sym.Group([conv(layers), *others])) == (1 - count, count)


def test_runs_without_a_reorder_between_the_convolutions() -> None:
    executor = unit(DATA).simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
    for array in executor.arg_dict.values():
        array[:] = 0.5
    for _ in range(3):
        executor.forward(is_train=False)
    rows = executor.explain(repeat=1).rows
    assert rows[-1].kernel == "ndrt:packed_gemm"
    assert not sum(len(row.reorders) for row in rows[1:-1])
    assert "ndrt:packed_gemm" in check_right(unit(DATA), SHAPE)


@pytest.mark.parametrize("batches", [(1, 3), (3, 1)])
def test_other_batches_find_the_weights_as_they_are_packed(batches: tuple[int, ...]) -> None:
    check_other_batches(TAKEN["a unit"], SHAPE[1:], batches)


@pytest.mark.parametrize(("name", "shape"), [(SHUFFLE, (2, -1, 3)), ("_shuffle_filters", (-1, 3))])
def test_channels_may_not_be_known_yet(name: str, shape: tuple[int, ...]) -> None:
    op = find(name)
    params = op.params.parse({"groups": 4}, name, "node")
    assert run_infer_shape(op, params, [shape], [None], "node") == ([shape], [shape])


def test_a_shuffle_keeps_the_layout() -> None:
    net = conv(mx.sym.tanh(shuffle(conv(DATA, 48, "first", num_group=1))), 16, num_group=1)
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
    for _ in range(3):
        executor.forward(is_train=False)
    found = [row for row in executor.explain(repeat=1).rows if SHUFFLE in row.operator]
    assert [(row.layout_in, row.layout_out) for row in found] == [("nhwc", "nhwc")]


def test_weights_that_change_are_shuffled_again() -> None:
    net = TAKEN["a unit"]
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=SHAPE)
    rng = np.random.default_rng(7)
    for round_ in range(3):
        for array in executor.arg_dict.values():
            array[:] = rng.standard_normal(array.shape)
        for array in executor.aux_dict.values():
            array[:] = rng.uniform(0.5, 1.5, array.shape)
        for _ in range(3 - round_):
            made = executor.forward(is_train=False)[0].asnumpy()
        with config.override(NDRT_ONEDNN=False):
            want = executor.forward(is_train=False)[0].asnumpy()
        np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_training_goes_through_the_shuffle() -> None:
    """The training graph is another one; its outputs and gradients are those of the parts."""
    made = []
    for passes in ("", "all"):
        with config.override(NDRT_SKIP_PASSES=passes):
            executor = TAKEN["strides"].simple_bind(mx.cpu(), data=SHAPE)
            fill(executor)
            for _ in range(3):
                out = executor.forward(is_train=True)[0]
                executor.backward(mx.nd.ones(out.shape))
            made.append([out.asnumpy(), *(g.asnumpy() for g in executor.grad_dict.values())])
    for got, want in zip(*made, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
