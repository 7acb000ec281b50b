"""Post-ops, elementwise chains, attention, constants: what graphs become and that results stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.op.calibration import SLOW_POST_OPS
from ndarray_rt.ops.fused.constant import ConstantParams
from ndarray_rt.passes import optimize, prologue_nodes
from ndarray_rt.passes.rewrite import make
from ndarray_rt.symbol.node import Node, topological
from ndarray_rt.symbol.symbol import Symbol

from .pass_checks import DATA, SHAPE, check, conv, norm, operators, optimized, relu, results

S = mx.sym
X = S.sin(DATA)


def var(shape: tuple[int, ...], name: str = "other") -> Any:
    return S.Variable(name, shape=shape)


def fused(net: Any) -> Node:
    """The one fused node of an optimized graph."""
    found = [node for node in topological(net.heads) if node.op is not None
             and node.op.name.startswith("_fused")]
    assert len(found) == 1
    return found[0]


# ---- constants ----------------------------------------------------------------------------------


def test_constants_become_one_node() -> None:
    table = S.broadcast_mul(S.reshape(S.arange(6), shape=(6, 1)), S.ones((1, 5))) / 3
    net = S.broadcast_add(X, S.reshape(S.cos(table), shape=(1, 1, 6, 5)))
    done = check(net, data=SHAPE)
    assert sorted(operators(done.heads))[:2] == ["_constant", "broadcast_add"]
    assert len(operators(done.heads)) == 3


def test_constants_of_several_outputs() -> None:
    parts = S.SliceChannel(S.arange(8), num_outputs=2, axis=0)
    net = S.broadcast_add(S.broadcast_mul(S.sin(DATA), parts[0]), parts[1])
    check(net, ["sin", "_constant", "_constant", "_fused_elementwise"], data=(4,))
    check(S.broadcast_add(S.sin(DATA), S.elemwise_mul(parts[0], parts[1])),
          ["sin", "_constant", "broadcast_add"], data=(1, 4))


def test_outputs_random_numbers_and_unknown_shapes_stay() -> None:
    check(S.Group([S.cos(S.ones((2, 3))), S.sin(DATA)]), ["_constant", "cos", "sin"], data=SHAPE)
    net = S.broadcast_add(X, S.random.uniform(shape=(1, 1, 1, 1)) + S.ones((1, 1, 1, 1)))
    assert "_random_uniform" in operators(optimized(net, data=SHAPE).heads)
    assert "_zeros" in operators(check(S.zeros((0, 4)) * 2 + S.sin(DATA), data=(3, 4)).heads)


def test_large_constants_stay() -> None:
    net = S.broadcast_add(X, S.sum(S.ones((1024, 1025, 2)), axis=(0, 1), keepdims=True).reshape(
        (2, 1, 1, 1)))
    assert "_ones" in operators(check(net, data=SHAPE).heads)


def test_constants_of_other_dtypes() -> None:
    net = S.Cast(S.Cast(S.sin(DATA), dtype="int64") + S.arange(5, dtype="int64").reshape(
        (1, 1, 1, 5)).broadcast_to(SHAPE) * 3, dtype="float32")
    assert "_constant" in operators(check(net, data=SHAPE).heads)


def test_a_graph_with_constants_goes_through_text() -> None:
    done = optimized(S.broadcast_add(X, S.arange(5) * 2), data=SHAPE)
    net = Symbol(done.heads)
    again = mx.sym.load_json(net.tojson())
    np.testing.assert_array_equal(results(again, data=SHAPE)[0], results(net, data=SHAPE)[0])
    text = str(done.stage("fold_constants"))
    assert "_constant" in text
    assert max(map(len, text.splitlines())) < 300


def test_bad_constants_are_named() -> None:
    with pytest.raises(mx.base.MXNetError, match="holds 4 bytes, expected 24 from shape"):
        ConstantParams.parse({"shape": (2, 3), "data": "AAAAAA=="}, "_constant")
    with pytest.raises(mx.base.MXNetError, match="'data' holds no base64 bytes"):
        ConstantParams.parse({"shape": (2, 3), "data": "?"}, "_constant")
    array = ConstantParams.of(np.ones((2, 3), np.float32)).array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2


# ---- numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [
    lambda x: x * 1, lambda x: x / 1, lambda x: x - 0, lambda x: x ** 1,
    lambda x: S._internal._plus_scalar(x, scalar=-0.0),
])
def test_what_changes_no_bit_goes(nothing: Any) -> None:
    check(S.cos(nothing(X)), ["sin", "cos"], data=SHAPE)


def test_what_changes_a_bit_stays() -> None:
    """-0.0 + 0.0 is 0.0, and an integer divided by 1 with is_int=False is a float."""
    check(S.cos(X + 0.0), ["sin", "_plus_scalar", "cos"], data=SHAPE)
    whole = S._internal._mul_scalar(S.Cast(X, dtype="int32"), scalar=1, is_int=False)
    assert "_mul_scalar" in operators(check(S.Cast(S.cos(whole), dtype="float32"),
                                            data=SHAPE).heads)


@pytest.mark.parametrize(("spelled", "left"), [
    (lambda x: x * 3 * 5, 1), (lambda x: x / 3 * 5, 1), (lambda x: x + 3 + 5, 1),
    (lambda x: x - 3 - 5, 1), (lambda x: x + 3 - 5, 2), (lambda x: x * 1e30 * 1e-30, 2),
    (lambda x: 1 - x + 3, 2),
])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_are_joined(spelled: Any, left: int, dtype: str) -> None:
    net = S.cos(spelled(X))
    with config.override(NDRT_SKIP_PASSES="fuse_elementwise"):
        done = optimized(net, dtype, data=SHAPE)
        assert len(operators(done.heads)) == 2 + left
        if dtype == "float32":
            check(net, data=SHAPE)


def test_integers_and_halves_are_not_joined() -> None:
    for dtype in ("int32", "float16"):
        with config.override(NDRT_SKIP_PASSES="fuse_elementwise"):
            done = optimized(S.negative(S.abs(DATA) * 3 * 5), dtype, data=SHAPE)
        assert len(operators(done.heads)) == 4


def test_functions_that_are_slow_in_onednn_stay_on_their_own() -> None:
    net = S.square(S.tanh(S.FullyConnected(DATA, num_hidden=4, name="fc")))
    done = check(net, data=(3, 5))
    is_apart = "tanh" in SLOW_POST_OPS
    assert operators(done.heads) == (["FullyConnected", "tanh", "square"] if is_apart
                                     else ["_fused_FullyConnected"])


# ---- elementwise chains -------------------------------------------------------------------------


@pytest.mark.parametrize(("spelled", "chain"), [
    (lambda x, y: S.relu(x + y), "add,relu"),
    (lambda x, y: S.sigmoid(2 * x + 1) * y, "linear:2.0:1.0,sigmoid,mul"),
    (lambda x, y: S.square(y - S.exp(x)), "sub,square"),
    (lambda x, y: S.sigmoid(S.broadcast_mul(x, var((1, 3, 1, 1), "m"))) * y, "mul,sigmoid,mul"),
    (lambda x, y: S.sigmoid(S.broadcast_add(x, var((1, 1, 1, 5), "m"))), "add,sigmoid"),
    (lambda x, y: S.sigmoid(S.broadcast_div(x, var((1, 1, 1, 1), "m"))), "div,sigmoid"),
    (lambda x, y: S.LeakyReLU(x + y, act_type="selu"), None),
])
def test_chains_become_one_node(spelled: Any, chain: str | None) -> None:
    done = check(S.cos(spelled(X, S.sin(var(SHAPE)))), data=SHAPE)
    if chain is not None:
        assert fused(done).params.post_ops == chain  # type: ignore[union-attr]


@pytest.mark.parametrize("spelled", [
    S.exp(DATA) * 2, 1 / (1 + S.exp(DATA)), S.exp(DATA) + DATA, S.sigmoid(DATA) * 2,
    S.sigmoid(DATA) + 1, S.square(DATA) - 1, S.sqrt(DATA) * 2, S.abs(DATA) * -1,
    S.LeakyReLU(DATA, act_type="elu") * 2, S.exp(S.FullyConnected(DATA, num_hidden=4, name="fc"))])
def test_nan_stays_nan(spelled: Any) -> None:
    data = np.array([[np.nan, 0.5, 1, 2], [0.25, np.nan, np.nan, 1]], np.float32)
    found = []
    for passes in ("", "all"):
        with config.override(NDRT_SKIP_PASSES=passes):
            executor = spelled.simple_bind(mx.cpu(), grad_req="null", data=data.shape)
            if "fc_weight" in executor.arg_dict:
                executor.arg_dict["fc_weight"][:] = 0.5
            found.append(executor.forward(data=data)[0].asnumpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, equal_nan=True)
    assert np.isnan(found[0])[np.isnan(data)].all()


@pytest.mark.parametrize("spelled", [
    lambda x: S.sigmoid(S.broadcast_add(x, var((2, 1, 6, 5)))),
    lambda x: S.sigmoid(S.broadcast_add(x, var((5,)))),
    lambda x: S.broadcast_mul(S.broadcast_add(x, var((1, 3, 1, 1), "a")),
                              var((2, 1, 1, 1), "b")),
    lambda x: 1 / S.sigmoid(x),
])
def test_what_does_not_fit_stays(spelled: Any) -> None:
    done = check(S.cos(spelled(X)), data=SHAPE)
    assert not any(name.startswith("_fused") for name in operators(done.heads))


def test_a_chain_that_grows_by_broadcasting_stays() -> None:
    small = S.sigmoid(S.sin(var((1, 3, 1, 1))))
    done = check(S.broadcast_add(small, S.cos(DATA)), data=SHAPE)
    assert operators(done.heads).count("sigmoid") == 1
    check(S.sigmoid(S.broadcast_add(S.sin(var((1, 3, 1, 1))), S.cos(DATA))), data=SHAPE)


def test_chains_end_where_values_are_read_and_at_eight() -> None:
    y = S.sigmoid(X)
    check(S.Group([S.cos(S.relu(y)), S.cos(y)]), data=SHAPE)
    check(S.relu(y * y), data=SHAPE)
    net = X
    for i in range(11):
        net = S.sigmoid(net) if i % 2 else S.square(net)
    done = check(S.cos(net), data=SHAPE)
    lengths = [len(node.params.chain) for node in topological(done.heads)  # type: ignore[union-attr]
               if node.op is not None and node.op.name == "_fused_elementwise"]
    assert lengths == [8, 3]


def test_the_same_value_on_both_sides() -> None:
    x = S.sin(DATA)
    check(S.relu(x + x), ["sin", "_fused_elementwise"], data=SHAPE)
    check(S.relu(S.sigmoid(x) + x), ["sin", "_fused_elementwise"], data=SHAPE)


def test_shapes_that_follow_from_readers_still_do() -> None:
    """As an RNN's first state, whose batch size only the data tells."""
    state = S.zeros((0, 4))
    for i in range(2):
        state = S.sigmoid(S.FullyConnected(DATA, num_hidden=4, name=f"i{i}")
                       + S.FullyConnected(state, num_hidden=4, name=f"h{i}"))
    done = check(state, ["_zeros", "FullyConnected", "_fused_FullyConnected", "FullyConnected",
                         "_fused_FullyConnected"], data=(3, 5))
    net = Symbol(done.heads)
    assert net.infer_shape(data=(7, 5))[1] == [(7, 4)]
    gate = S.relu(S.sin(DATA) + S.sigmoid(S.zeros((0, 4))))
    done = check(gate, ["_zeros", "sin", "_fused_elementwise"], data=(3, 4))
    check(S.relu(S.broadcast_add(S.sigmoid(S.zeros((0, 4)) + S.sin(DATA)), var((1, 4)))),
          data=(3, 4))


# ---- post-ops -----------------------------------------------------------------------------------


def test_deconvolution_takes_post_ops() -> None:
    layer = S.Deconvolution(DATA, kernel=(2, 2), stride=(2, 2), num_filter=6, name="d")
    check(relu(layer), ["_fused_Deconvolution"], data=SHAPE)
    other = S.cos(var((2, 6, 12, 10)))
    check(relu(layer + other), ["cos", "_fused_Deconvolution"], data=SHAPE)
    check(relu(norm(layer, fix_gamma=False)), ["_fold_batch_norm", "_fused_Deconvolution"],
          data=SHAPE)


@pytest.mark.parametrize("kind", ["max", "avg", "sum"])
def test_pooling_takes_functions(kind: str) -> None:
    layer = S.Pooling(DATA, kernel=(2, 2), stride=(2, 2), pool_type=kind, name="p")
    check(relu(layer * 2 + 1), ["_fused_Pooling"], data=SHAPE)
    check(S.broadcast_add(layer, var((1, 3, 1, 1))), ["Pooling", "broadcast_add"], data=SHAPE)
    power = S.Pooling(DATA, kernel=(2, 2), pool_type="lp", p_value=2, name="p")
    check(relu(power), ["Pooling", "Activation"], data=SHAPE)


def test_means_of_images_take_functions() -> None:
    """Those to one pixel; several windows may overlap, and have no primitive then."""
    name = "_contrib_AdaptiveAvgPooling2D"
    pool = S.contrib.AdaptiveAvgPooling2D
    check(relu(pool(DATA) * 2), [f"_fused_{name}"], data=SHAPE)
    check(relu(pool(DATA, output_size=(1, 1))), [f"_fused_{name}"], data=SHAPE)
    check(relu(pool(DATA, output_size=5)), [name, "Activation"], data=SHAPE)


@pytest.mark.parametrize("turned", [False, True])
def test_products_take_post_ops(turned: bool) -> None:
    w = var((7, 5) if turned else (5, 7), "w")
    net = S.dot(X, w, transpose_b=turned)
    check(S.relu(S.broadcast_add(net, var((7,)))), ["sin", "Reshape", "_fused_dot"], data=(3, 5))
    check(S.relu(S.broadcast_add(net, var((1, 7)))), ["sin", "_fused_dot"], data=(3, 5))
    check(S.sigmoid(0.5 * net), ["sin", "_fused_dot"], data=(3, 5))
    check(S.broadcast_add(net, var((3, 1))), ["sin", "dot", "broadcast_add"], data=(3, 5))
    check(S.relu(S.dot(X, w, transpose_b=turned)), ["sin", "_fused_dot"], data=(2, 3, 5))


def test_batch_products_take_post_ops() -> None:
    net = S.batch_dot(X, S.cos(var((4, 5, 7))))
    for shape in ((4, 3, 7), (4, 1, 7), (1, 1, 7), (1, 1, 1)):
        check(S.broadcast_add(net / 2, var(shape, "mask")), ["sin", "cos", "_fused_batch_dot"],
              data=(4, 3, 5))
    for shape in ((1, 3, 7), (4, 3, 1), (4, 1, 1)):
        done = check(S.broadcast_add(net, var(shape, "mask")), data=(4, 3, 5))
        assert "broadcast_add" in operators(done.heads)


def test_operands_of_layers_without_code_stay() -> None:
    for shape in ((1, 1, 6, 5), (2, 1, 1, 1), (1, 1, 1, 5)):
        check(S.broadcast_add(conv(DATA), var(shape)), ["Convolution", "broadcast_add"],
              data=SHAPE)
    dense = S.FullyConnected(DATA, num_hidden=7, name="f")
    check(S.broadcast_mul(dense, var((3, 1))), ["FullyConnected", "broadcast_mul"], data=(3, 5))
    check(S.broadcast_mul(dense, var((1, 1))), ["FullyConnected", "broadcast_mul"], data=(3, 5))
    check(S.broadcast_add(dense, var((7,))), ["Reshape", "_fused_FullyConnected"], data=(3, 5))


# ---- attention ----------------------------------------------------------------------------------

HEADS, TEXT = 3, (2, 4, 12)


def apart(x: Any, axes: tuple[int, ...] = (0, 2, 1, 3)) -> Any:
    x = S.transpose(S.reshape(x, shape=(0, 0, -4, HEADS, -1)), axes=axes)
    return S.reshape(x, shape=(-3, 0, 0))


def together(x: Any) -> Any:
    x = S.transpose(S.reshape(x, shape=(-4, -1, HEADS, 0, 0)), axes=(0, 2, 1, 3))
    return S.reshape(x, shape=(0, 0, -3))


def attention(turn: bool = False, mask: Any = None, scale: str = "query") -> Any:
    q, k, v = (S.FullyConnected(DATA, num_hidden=12, flatten=False, name=n) for n in "qkv")
    q, v = apart(q), apart(v)
    k = apart(k, (0, 2, 3, 1) if turn else (0, 2, 1, 3))
    score = S.batch_dot(q * 0.5 if scale == "query" else q, k, transpose_b=not turn)
    if scale == "score":
        score = score / 2
    if mask is not None:
        score = S.broadcast_add(score, mask)
    return together(S.batch_dot(S.softmax(score, axis=-1), v))


@pytest.mark.parametrize("scale", ["query", "score"])
@pytest.mark.parametrize("turn", [False, True])
def test_attention_copies_no_heads(turn: bool, scale: str) -> None:
    done = check(attention(turn, scale=scale), [
        *["FullyConnected"] * 2, "_fused_batch_dot", "softmax", "FullyConnected",
        "_fused_batch_dot"], data=TEXT)
    first, second = (node for node in topological(done.heads)
                     if node.op is not None and node.op.name == "_fused_batch_dot")
    assert (first.params.split_a, first.params.split_b) == (True, True)  # type: ignore[union-attr]
    assert first.params.post_ops == "linear:0.5:-0.0"  # type: ignore[union-attr]
    assert (second.params.split_b, second.params.join) == (True, True)  # type: ignore[union-attr]


@pytest.mark.parametrize(("shape", "fits"), [((6, 4, 4), True), ((1, 1, 4), True),
                                             ((6, 1, 4), False), ((1, 4, 4), False)])
def test_attention_with_a_mask(shape: tuple[int, ...], fits: bool) -> None:
    done = check(attention(mask=var(shape)), data=TEXT)
    assert ("broadcast_add" not in operators(done.heads)) == fits


def test_attention_of_another_batch() -> None:
    """What was optimized for one batch size is right for another."""
    net = attention()
    done = Symbol(optimized(net, data=TEXT).heads)
    np.testing.assert_allclose(results(done, data=(5, 7, 12))[0],
                               results(net, data=(5, 7, 12))[0], rtol=1e-4, atol=1e-5)


def test_heads_that_are_read_elsewhere_are_copied() -> None:
    q = apart(S.sin(DATA))
    net = S.Group([S.batch_dot(q, apart(S.cos(DATA)), transpose_b=True), S.sigmoid(q)])
    done = check(net, data=TEXT)
    assert operators(done.heads).count("transpose") == 1
    product = S.batch_dot(S.sin(var((6, 4, 4))), apart(S.cos(DATA)))
    done = check(S.Group([together(product), S.sigmoid(product)]), data=TEXT)
    assert operators(done.heads).count("transpose") == 1


def test_transposes_that_split_no_heads_stay() -> None:
    x = S.reshape(S.transpose(S.reshape(X, shape=(0, 0, 3, 4)), axes=(1, 2, 0, 3)),
                  shape=(-3, 0, 0))
    done = check(S.batch_dot(x, S.cos(var((12, 4, 5)))), data=TEXT)
    assert "transpose" in operators(done.heads)


# ---- prologue -----------------------------------------------------------------------------------


def test_the_prologue_is_what_reads_only_variables() -> None:
    net = S.broadcast_add(relu(norm(conv(DATA))), S.arange(5) * 2)
    done = optimized(net, data=SHAPE)
    found = [node.op.name for node in prologue_nodes(done.heads) if node.op is not None]
    assert found == ["_fold_batch_norm", "_constant"]
    assert prologue_nodes(optimized(relu(conv(DATA)), data=SHAPE).heads) == []


def test_a_fold_of_computed_weights_is_no_prologue() -> None:
    names = ("w", "g", "b", "m", "v")
    w, *rest = (mx.sym.Variable(name).entries[0] for name in names)
    facts = {"no_bias": True}
    first = make("_fold_batch_norm", facts, [w, *rest], "first")
    second = make("_fold_batch_norm", facts, [first.outputs[0], *rest], "second")
    third = make("_fold_batch_norm", facts, [make("sin", {}, [w], "s").outputs[0], *rest], "third")
    heads = [*second.outputs, *third.outputs]
    assert prologue_nodes(heads) == [first, second]


def test_optimizing_twice_changes_nothing_more() -> None:
    net = S.broadcast_add(relu(norm(conv(DATA)) + 1), S.arange(5) * 2)
    once = optimized(net, data=SHAPE)
    args, _, aux = net.infer_shape(data=SHAPE)
    names = [*net.list_arguments(), *net.list_auxiliary_states()]
    again = optimize(once.heads, dict(zip(names, [*args, *aux], strict=True)),
                     dict.fromkeys(names, np.dtype(np.float32)))
    assert operators(again.heads) == operators(once.heads)


@pytest.mark.parametrize("before", [mx.sym.tanh, lambda x: x + x,
                                    lambda x: mx.sym.Activation(x, act_type="relu")])
@pytest.mark.parametrize("heads", [lambda y: y, lambda y: y[1], lambda y: y[1] * y[0],
                                   lambda y: mx.sym.Group([y[0], y[1] + 1])])
def test_a_second_output_that_is_read_is_there(before: Any, heads: Any) -> None:
    """rrelu has a mask, too, which no chain of elementwise functions makes."""
    data = mx.sym.Variable("data")
    net = heads(mx.sym.LeakyReLU(before(data), act_type="rrelu", name="lk"))
    exe = net.simple_bind(mx.cpu(), grad_req="null", data=(2, 3, 4, 4))
    exe.arg_dict["data"][:] = np.linspace(-2, 2, 96).reshape(2, 3, 4, 4)
    for _ in range(3):
        found = [out.asnumpy() for out in exe.forward()]
    with config.override(NDRT_SKIP_PASSES="all"):
        for got, want in zip(found, exe.forward(), strict=True):
            np.testing.assert_allclose(got, want.asnumpy(), rtol=1e-6)
