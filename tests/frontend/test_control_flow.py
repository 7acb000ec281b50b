"""foreach, while_loop, cond: on arrays, as nodes with graphs, in files, with gradients."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError, ParameterError

s = mx.sym
FILE = Path(__file__).parent.parent / "data" / "mxnet_control_flow.json"
MXNET: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8"))


def foreach() -> Any:
    data, state, w = s.var("data"), s.var("state"), s.var("w")
    out, states = s.contrib.foreach(lambda d, st: (d * w + st[0], [st[0] + d]), data, [state],
                                    name="fe")
    return s.Group([out, *states])


def while_loop() -> Any:
    i, v, w = s.var("i"), s.var("s"), s.var("w")
    out, states = s.contrib.while_loop(lambda i, v: i < 5, lambda i, v: ([v * w], [i + 1, v + i]),
                                       [i, v], max_iterations=10, name="wl")
    return s.Group([*out, *states])


def cond() -> Any:
    a, b, w = s.var("a"), s.var("b"), s.var("w")
    return s.contrib.cond((a * b).sum() < 5, lambda: a + w, lambda: b * w, name="cd")


@pytest.fixture(autouse=True)
def counts() -> None:
    mx.AttrScope._subgraph_names.clear()


@pytest.mark.parametrize("make", [foreach, while_loop, cond])
def test_files_are_those_of_mxnet(make: Callable[[], Any]) -> None:
    text = MXNET[make.__name__]
    with mx.NameManager():
        assert make().tojson() == text
    assert s.load_json(text).tojson() == text


def test_foreach_is_the_loop_on_arrays() -> None:
    rng = np.random.default_rng(0)
    values = {name: mx.nd.array(rng.uniform(-1, 1, shape)) for name, shape in
              (("data", (4, 2, 3)), ("state", (2, 3)), ("w", (2, 3)))}
    net = s.load_json(foreach().tojson())
    assert net.infer_shape(data=(4, 2, 3))[0] == [(4, 2, 3), (2, 3), (2, 3)]
    assert net.infer_shape(data=(4, 2, 3))[1] == [(4, 2, 3), (2, 3)]
    exe = net.simple_bind(data=(4, 2, 3), grad_req={"data": "write", "state": "add", "w": "write"})
    for x in values.values():
        x.attach_grad()
    with mx.autograd.record():
        outs, states = mx.nd.contrib.foreach(
            lambda d, st: (d * values["w"] + st[0], [st[0] + d]), values["data"],
            [values["state"]])
    heads = [mx.nd.array(rng.uniform(-1, 1, y.shape)) for y in (outs, states[0])]
    mx.autograd.backward([outs, states[0]], heads)
    for i in range(3):
        found = exe.forward(is_train=True, **values)
        exe.backward(heads)
        for got, want in zip(found, (outs, states[0]), strict=True):
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5)
        for name, x in values.items():
            times = i + 1 if name == "state" else 1
            np.testing.assert_allclose(exe.grad_dict[name].asnumpy(), times * x.grad.asnumpy(),
                                       rtol=1e-4, atol=1e-6)


def test_while_loop() -> None:
    def step(i: Any, v: Any) -> Any:
        return [v * 2], [i + 1, v + i]
    i, v = mx.nd.array([2]), mx.nd.array([1])
    v.attach_grad()
    with mx.autograd.record():
        (out,), (last, total) = mx.nd.contrib.while_loop(lambda i, v: i < 5, step, [i, v],
                                                         max_iterations=10)
    out.backward()
    assert out.asnumpy().ravel().tolist() == [2, 6, 12, *[0] * 7]
    assert (last.asscalar(), total.asscalar(), v.grad.asscalar()) == (5, 10, 6)
    exe = while_loop().bind(mx.cpu(), {"i": i, "s": v, "w": mx.nd.array([2])})
    assert [y.asnumpy().ravel().tolist() for y in exe.forward()] == [
        [2, 6, 12, *[0] * 7], [5], [10]]
    none, kept = mx.nd.contrib.while_loop(lambda i, v: i > 5, step, [i, v], max_iterations=3)
    assert none == []
    assert kept[0] is i


@pytest.mark.parametrize(("a", "want", "grads"), [(1, 4, (1, 0, 1)), (9, 6, (0, 3, 2))])
def test_cond(a: int, want: int, grads: tuple[int, ...]) -> None:
    exe = cond().simple_bind(a=(1,), b=(1,), w=(1,))
    for name, value in (("a", a), ("b", 2), ("w", 3)):
        exe.arg_dict[name][:] = value
    assert exe.forward(is_train=True)[0].asscalar() == want
    exe.backward(mx.nd.ones((1,)))
    assert tuple(exe.grad_dict[name].asscalar() for name in "abw") == grads
    x = mx.nd.array([a])
    assert mx.nd.contrib.cond(x < 5, lambda: x + 3, lambda: mx.nd.array([6])).asscalar() == want


def test_layers_inside_have_parameters_outside() -> None:
    def body(x: Any, states: Any) -> Any:
        h = s.FullyConnected(x, num_hidden=3, name="fc") + states[0]
        h = s.BatchNorm(s.Dropout(h, p=0.5), name="bn", fix_gamma=False)
        return h, [h]
    out, _ = s.contrib.foreach(body, s.var("data"), [s.var("state")])
    assert out.list_arguments() == ["data", "state", "fc_weight", "fc_bias", "bn_gamma", "bn_beta"]
    assert out.list_auxiliary_states() == ["bn_moving_mean", "bn_moving_var"]
    exe = out.simple_bind(data=(2, 5, 4), state=(5, 3))
    assert exe.arg_dict["fc_weight"].shape == (3, 4)
    for name, array in exe.arg_dict.items():
        array[:] = 1 if name == "bn_gamma" else mx.nd.random.uniform(-1, 1, array.shape)
    exe.aux_dict["bn_moving_var"][:] = 1
    first = exe.forward(is_train=True)[0].asnumpy()
    exe.backward(mx.nd.ones((2, 5, 3)))
    assert exe.aux_dict["bn_moving_mean"].asnumpy().any()
    assert exe.grad_dict["fc_weight"].asnumpy().any()
    assert (first != exe.forward(is_train=True)[0].asnumpy()).any()


def test_loops_in_loops() -> None:
    def inner(x: Any, states: Any) -> Any:
        return x * states[0], [states[0] + x]

    def outer(x: Any, states: Any) -> Any:
        out, last = s.contrib.foreach(inner, x, [states[0]])
        return out, last
    out, last = s.contrib.foreach(outer, s.var("x"), [s.var("s")])
    net = s.load_json(s.Group([out, *last]).tojson())
    x = mx.nd.arange(12).reshape((2, 3, 2))
    found = net.bind(mx.cpu(), {"x": x, "s": mx.nd.ones((2,))}).forward()

    def rows(x: Any, states: Any) -> Any:
        return mx.nd.contrib.foreach(inner, x, [states[0]])
    want, states = mx.nd.contrib.foreach(rows, x, [mx.nd.ones((2,))])
    np.testing.assert_array_equal(found[0].asnumpy(), want.asnumpy())
    np.testing.assert_array_equal(found[1].asnumpy(), states[0].asnumpy())


def test_errors() -> None:
    data, state = s.var("data"), s.var("state")
    with pytest.raises(AssertionError, match="does not use 'state-0'"):
        s.contrib.foreach(lambda d, st: (d, [d]), data, [state])
    with pytest.raises(MXNetError, match="nested otherwise"):
        s.contrib.foreach(lambda d, st: (d, [st, st]), data, state)
    with pytest.raises(ValueError, match="max_iterations must be given"):
        s.contrib.while_loop(lambda i: i, lambda i: ([], [i]), [data])
    with pytest.raises(ValueError, match="loop_vars is empty"):
        mx.nd.contrib.while_loop(lambda: 1, lambda: ([], []), [], max_iterations=1)
    with pytest.raises(ValueError, match="then_func gave 1 output"):
        s.contrib.cond(data, lambda: data, lambda: [data, state])
    with pytest.raises(TypeError, match="expected a NDArray or a nested list"):
        mx.nd.contrib.foreach(lambda d, st: (d, st), 3, [])
    with pytest.raises(ValueError, match="has no graphs"):
        s._internal._foreach(data, num_args=2, num_outputs=1, num_out_data=1, in_state_locs=(),
                             in_data_locs=(0,), remain_locs=())


def test_foreach_over_a_vector_has_steps_of_one_element() -> None:
    data, state = mx.sym.Variable("data"), mx.sym.Variable("state")
    out, last = mx.sym.contrib.foreach(lambda x, s: (x * 2 + s, s + x), data, state)
    both = mx.sym.Group([out, last])
    assert both.infer_shape(data=(3,), state=(1,)) == ([(3,), (1,)], [(3, 1), (1,)], [])
    exe = both.simple_bind(mx.cpu(), data=(3,), state=(1,))
    exe.arg_dict["data"][:] = mx.nd.array([1, 2, 3])
    exe.arg_dict["state"][:] = 1
    made, end = exe.forward(is_train=True)
    assert made.asnumpy().tolist() == [[3], [6], [10]]
    assert end.asnumpy().tolist() == [7]
    exe.backward([mx.nd.ones((3, 1)), mx.nd.zeros((1,))])
    assert exe.grad_dict["data"].asnumpy().tolist() == [4, 3, 2]
    assert exe.grad_dict["state"].asnumpy().tolist() == [3]


@pytest.mark.parametrize(("name", "params"), [
    ("_foreach", {"num_out_data": 1, "in_state_locs": (), "in_data_locs": (0,),
                  "remain_locs": ()}),
    ("_while_loop", {"num_out_data": 0, "max_iterations": 3, "cond_input_locs": (0,),
                     "func_input_locs": (0,), "func_var_locs": (0,)}),
    ("_cond", {"cond_input_locs": (0,), "then_input_locs": (0,), "else_input_locs": (0,)}),
])
@pytest.mark.parametrize("count", ["num_args", "num_outputs"])
def test_counts_that_no_memory_holds_are_refused(name: str, params: dict[str, object],
                                                 count: str) -> None:
    counts = {"num_args": 4, "num_outputs": 1, count: 2 ** 31}
    for functions in (mx.nd._internal, mx.sym._internal):
        with pytest.raises(ParameterError, match=f"parameter '{count}' got .*at most 262144"):
            getattr(functions, name)(**counts, **params)


def test_what_a_loop_began_with_stays() -> None:
    """A step may also take the array that a loop variable began with, which does not change."""
    def made(functions: Any, x: Any) -> Any:
        first = x * 2
        outputs, last = functions.contrib.while_loop(
            lambda v: v.sum() < 1e9, lambda v: (v, v + first), first, max_iterations=4)
        return functions.concat(outputs, functions.expand_dims(last, 0), dim=0)
    x = mx.nd.array([1, 3])
    want = [[2, 6], [4, 12], [6, 18], [8, 24], [10, 30]]
    assert made(mx.nd, x).asnumpy().tolist() == want
    net = made(s, s.var("x"))
    for graph in (net, s.load_json(net.tojson())):
        assert graph.eval(x=x)[0].asnumpy().tolist() == want
