"""Blocks: names, hybridizing, gradients, files, hooks."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import autograd, gluon
from ndarray_rt.gluon import nn
from ndarray_rt.imperative.tape import STATE


def mlp(**kwargs: Any) -> nn.HybridSequential:
    net = nn.HybridSequential(**kwargs)
    with net.name_scope():
        net.add(nn.Dense(8, activation="relu"), nn.Dense(3))
    return net


def ready_mlp(**kwargs: Any) -> nn.HybridSequential:
    net = mlp(**kwargs)
    net.initialize(mx.init.Xavier())
    return net


X = np.random.RandomState(0).uniform(-1, 1, (4, 5)).astype("float32")


def grads(net: gluon.Block, x: np.ndarray) -> list[np.ndarray]:
    with autograd.record():
        loss = (net(mx.nd.array(x)) ** 2).sum()
    loss.backward()
    return [p.grad().asnumpy() for p in net.collect_params().values()]


def test_names_count_by_kind_in_each_scope() -> None:
    with mx.NameManager():
        net, other = mlp(), mlp()
    assert list(net.collect_params()) == [
        "hybridsequential0_dense0_weight", "hybridsequential0_dense0_bias",
        "hybridsequential0_dense1_weight", "hybridsequential0_dense1_bias"]
    assert other[1].weight.name == "hybridsequential1_dense1_weight"
    assert net[0].act.name == "hybridsequential0_dense0_relu"
    assert net.name == "hybridsequential0"
    empty = nn.HybridSequential(prefix="")
    with mx.NameManager(), empty.name_scope():
        assert nn.Dense(2).name == "dense0"


def test_select_by_pattern() -> None:
    net = mlp(prefix="m_")
    assert list(net.collect_params("m_dense0.*|.*bias")) == [
        "m_dense0_weight", "m_dense0_bias", "m_dense1_bias"]


@pytest.mark.parametrize("flags", [{}, {"static_alloc": True, "static_shape": True},
                                   {"inline_limit": 0, "forward_bulk_size": 4}])
def test_hybridized_equals_operator_by_operator(flags: dict[str, Any]) -> None:
    net = ready_mlp()
    plain, plain_grads = net(mx.nd.array(X)).asnumpy(), grads(net, X)
    net.hybridize(**flags)
    for _ in range(3):
        np.testing.assert_allclose(net(mx.nd.array(X)).asnumpy(), plain, rtol=1e-5, atol=1e-6)
        for g, expected in zip(grads(net, X), plain_grads, strict=True):
            np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-5)


def test_a_hybridized_step_is_recorded_and_copies_no_parameter() -> None:
    net = ready_mlp()
    net.hybridize()
    for _ in range(3):
        grads(net, X)
    op = net._cached_op
    assert op is not None
    assert {"forward, training": "captured", "backward, training": "captured"} in op.capture_states
    instance = op._groups[-1].idle[-1]
    for (is_data, what), bound in zip(net._cached_op_args, instance.inputs, strict=True):
        if not is_data:
            assert bound._chunk is what.data()._chunk
    targets = {instance.grads[i]._chunk for i in instance.grads}
    assert {p.grad()._chunk for p in net.collect_params().values()} == targets


def test_layers_that_are_not_hybridized_are_recorded_calls_too() -> None:
    STATE.calls.renew()
    net = ready_mlp()
    for _ in range(3):
        net(mx.nd.array(X))
    assert sum(made is not None for made in STATE.calls.values()) == 3


def test_a_written_parameter_is_seen() -> None:
    net = ready_mlp()
    net.hybridize()
    before = net(mx.nd.array(X)).asnumpy()
    net[1].bias.set_data(mx.nd.array([1, 2, 3]))
    expected = before + np.array([1, 2, 3])
    np.testing.assert_allclose(net(mx.nd.array(X)).asnumpy(), expected, rtol=1e-5)


def test_grad_req_of_one_parameter() -> None:
    net = ready_mlp()
    net.hybridize()
    net[0].weight.grad_req = "null"
    net[1].weight.grad_req = "add"
    grads_of = {p.name: p for p in net.collect_params().values()}
    for _ in range(2):
        with autograd.record():
            net(mx.nd.array(X)).sum().backward()
    with pytest.raises(RuntimeError, match="grad_req='null'"):
        net[0].weight.grad()
    added = net[1].weight.grad().asnumpy()
    net[1].weight.grad_req = "write"
    with autograd.record():
        net(mx.nd.array(X)).sum().backward()
    np.testing.assert_allclose(added, 2 * net[1].weight.grad().asnumpy(), rtol=1e-5)
    assert len(grads_of) == 4


class TwoInputs(gluon.HybridBlock):
    def hybrid_forward(self, F: Any, x: Any, pair: Any, extra: Any = None) -> Any:  # noqa: N803
        a, b = pair
        out = x + a * b
        return [out, (a - b, b)] if extra is None else out * extra


@pytest.mark.parametrize("hybrid", [False, True])
def test_nested_inputs_and_outputs(hybrid: bool) -> None:
    block = TwoInputs()
    if hybrid:
        block.hybridize()
    one, two, three = (mx.nd.ones((2,)) * i for i in (1, 2, 3))
    out, (difference, same) = block(one, [two, three])
    assert out.asnumpy().tolist() == [7, 7]
    assert difference.asnumpy().tolist() == [-1, -1]
    assert same.asnumpy().tolist() == [3, 3]
    if hybrid:
        block(one, [two, three], None)
        with pytest.raises(ValueError, match="argument structure"):
            block(one, two)
    else:
        assert block(one, [two, three], two).asnumpy().tolist() == [14, 14]


def test_mixed_and_missing_inputs_are_refused() -> None:
    block = TwoInputs()
    with pytest.raises(ValueError, match="mixed NDArrays and Symbols"):
        block(mx.nd.ones((1,)), [mx.sym.var("a"), mx.sym.var("b")])
    with pytest.raises(ValueError, match="one NDArray or one Symbol"):
        block(1, [2, 3])


def test_children_of_a_hybrid_block() -> None:
    net = nn.HybridSequential()
    with pytest.raises(ValueError, match="must also be HybridBlock"):
        net.add(nn.Sequential())
    block = gluon.Block()
    block.a = nn.Dense(2)
    with pytest.raises(TypeError, match="Changing attribute type"):
        block.a = 3


def test_a_list_of_blocks_is_warned_of() -> None:
    block = gluon.Block()
    block.layers = [nn.Dense(2)]
    with pytest.warns(UserWarning, match="unregistered container"):
        block.collect_params()


def test_unused_input_and_parameter_are_warned_of() -> None:
    class Odd(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(2,))

        def hybrid_forward(self, F: Any, x: Any, y: Any, w: Any) -> Any:  # noqa: N803
            return x * 2

    odd = Odd()
    odd.initialize()
    odd.hybridize()
    with pytest.warns(UserWarning, match="is not used") as caught:
        odd(mx.nd.ones((2,)), mx.nd.ones((2,)))
    texts = [str(w.message) for w in caught]
    assert any("1-th input to HybridBlock is not used" in t for t in texts)
    assert any("odd0_w is not used" in t.replace(odd.prefix, "odd0_") for t in texts)


def test_deferred_shapes_that_do_not_follow() -> None:
    class Free(gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            self.w = self.params.get("w", shape=(0, 2), allow_deferred_init=True)

        def hybrid_forward(self, F: Any, x: Any, w: Any) -> Any:  # noqa: N803
            return F.dot(x, w)

    block = Free()
    block.initialize()
    with pytest.raises(ValueError, match="shape cannot be inferred"):
        block(mx.nd.ones((2, 3)))


@pytest.mark.parametrize("deduplicate", [False, True])
def test_save_and_load(tmp_path: Path, deduplicate: bool) -> None:
    net = ready_mlp()
    expected = net(mx.nd.array(X)).asnumpy()
    path = str(tmp_path / "net.params")
    net.save_parameters(path, deduplicate=deduplicate)
    assert sorted(mx.nd.load(path)) == ["0.bias", "0.weight", "1.bias", "1.weight"]
    other = mlp()
    other.load_parameters(path)
    assert (other(mx.nd.array(X)).asnumpy() == expected).all()


def test_what_load_refuses(tmp_path: Path) -> None:
    net = ready_mlp()
    net(mx.nd.array(X))
    path = str(tmp_path / "net.params")
    net[0:1].save_parameters(path)
    other = mlp()
    with pytest.raises(AssertionError, match=r"'1.weight' is missing in file"):
        other.load_parameters(path)
    other.load_parameters(path, allow_missing=True)
    net.save_parameters(path)
    with pytest.raises(ValueError, match="not present"):
        mlp()[0:1].load_parameters(path)
    mlp()[0:1].load_parameters(path, ignore_extra=True)
    wide = mlp()
    wide.cast("float64")
    with pytest.raises(AssertionError, match="dtype incompatible"):
        wide.load_parameters(path)
    wide.load_parameters(path, cast_dtype=True)
    assert wide[0].weight.data().dtype == np.float64
    wide.load_parameters(path, cast_dtype=True, dtype_source="saved")
    assert wide[0].weight.data().dtype == np.float32
    narrow = nn.HybridSequential()
    narrow.add(nn.Dense(7, in_units=5), nn.Dense(3))
    with pytest.raises(AssertionError, match="shape incompatible"):
        narrow.load_parameters(path)


def test_a_shared_parameter_is_saved_once_with_deduplicate(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    with net.name_scope():
        first = nn.Dense(5, in_units=5)
        net.add(first, nn.Dense(5, in_units=5, params=first.params))
    net.initialize()
    assert net[1].weight is first.weight
    path = str(tmp_path / "net.params")
    net.save_parameters(path, deduplicate=True)
    assert sorted(mx.nd.load(path)) == ["1.bias", "1.weight"]
    value = first.weight.data().asnumpy()
    first.weight.set_data(mx.nd.zeros((5, 5)))
    net.load_parameters(path)
    assert (first.weight.data().asnumpy() == value).all()


def test_export_and_import(tmp_path: Path) -> None:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(6), nn.BatchNorm(), nn.Dense(2))
    net.initialize()
    path = str(tmp_path / "net")
    with pytest.raises(RuntimeError, match="call block"):
        net.export(path)
    net.hybridize()
    expected = net(mx.nd.array(X)).asnumpy()
    net.export(path, epoch=7)
    block = gluon.SymbolBlock.imports(f"{path}-symbol.json", "data", f"{path}-0007.params")
    np.testing.assert_allclose(block(mx.nd.array(X)).asnumpy(), expected, rtol=1e-6)
    assert {name.partition(":")[0] for name in mx.nd.load(f"{path}-0007.params")} == {"arg", "aux"}
    assert block.collect_params()[net[1].running_mean.name].grad_req == "null"
    symbol = block(mx.sym.var("other"))
    assert symbol.list_inputs()[0] == "other"


def test_save_and_load_of_a_model_with_its_graphs(tmp_path: Path) -> None:
    net = ready_mlp()
    net.hybridize()
    expected = net(mx.nd.array(X)).asnumpy()
    prefix = str(tmp_path / "m")
    net.save(prefix)
    other = mlp()
    other.load(prefix)
    np.testing.assert_allclose(other(mx.nd.array(X)).asnumpy(), expected, rtol=1e-6)
    assert other.name == net.name
    with pytest.raises(ValueError, match="another structure"):
        nn.Dense(2).load(prefix)
    with pytest.raises(mx.MXNetError, match="No such file"):
        net.load(str(tmp_path / "none"))


def test_hooks() -> None:
    net = ready_mlp()
    calls: list[str] = []
    before = net[0].register_forward_pre_hook(lambda block, args: calls.append("before"))
    with net[0].register_forward_hook(lambda block, args, out: calls.append("after")):
        net(mx.nd.array(X))
    assert calls[-2:] == ["before", "after"]
    net(mx.nd.array(X))
    assert calls[-2:] == ["after", "before"]
    before.detach()
    count = len(calls)
    net(mx.nd.array(X))
    assert len(calls) == count


def test_op_hook_sees_what_is_inside() -> None:
    net = ready_mlp(prefix="m_")
    net.hybridize()
    net(mx.nd.array(X))
    seen: list[tuple[bytes, bytes, tuple[int, ...]]] = []
    net.register_op_hook(lambda name, op, x: seen.append((name, op, x.shape)))
    net(mx.nd.array(X))
    assert seen == [(b"m_dense0_fwd_output", b"FullyConnected", (4, 8)),
                    (b"m_dense0_relu_fwd_output", b"Activation", (4, 8)),
                    (b"m_dense1_fwd_output", b"FullyConnected", (4, 3))]
    seen.clear()
    net.register_op_hook(lambda name, op, x: seen.append((name, op, x.shape)), monitor_all=True)
    net(mx.nd.array(X))
    assert [name for name, *_ in seen][:4] == [b"m_dense0_fwd_data", b"m_dense0_fwd_weight",
                                               b"m_dense0_fwd_bias", b"m_dense0_fwd_output"]


def test_summary(capsys: pytest.CaptureFixture[str]) -> None:
    net = ready_mlp()
    net(mx.nd.array(X))
    net.summary(mx.nd.array(X))
    text = capsys.readouterr().out
    assert "Dense-2                                      (4, 8)              48" in text
    assert "Total params: 75" in text
    net.hybridize()
    with pytest.raises(AssertionError, match="must not be hybridized"):
        net.summary(mx.nd.array(X))


def test_cast() -> None:
    net = ready_mlp()
    net.hybridize()
    net(mx.nd.array(X))
    net.cast("float64")
    out = net(mx.nd.array(X, dtype="float64"))
    assert out.dtype == np.float64
    norm = nn.BatchNorm(in_channels=3)
    norm.cast("float16")
    assert np.dtype(norm.gamma.dtype) == np.float32


def test_optimize_for_folds_batch_norm() -> None:
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(4, 3, in_channels=2), nn.BatchNorm(in_channels=4), nn.Activation("relu"))
    net.initialize(mx.init.Xavier())
    x = mx.nd.array(np.random.RandomState(1).randn(1, 2, 6, 6))
    expected = net(x).asnumpy()
    net.optimize_for(x, backend="MKLDNN")
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    assert len(net._cached_graph[1].get_internals().list_outputs()) < 9
    with pytest.raises(ValueError, match="backend"):
        net.optimize_for(x)


def test_several_contexts() -> None:
    net = mlp()
    ctx = [mx.cpu(0), mx.cpu(1)]
    net.initialize(ctx=ctx)
    net.hybridize()
    parts = gluon.utils.split_and_load(mx.nd.array(X), ctx)
    for _ in range(3):
        with autograd.record():
            losses = [net(part).sum() for part in parts]
        autograd.backward(losses)
    weight = net[0].weight
    assert [x.ctx for x in weight.list_data()] == ctx
    assert weight.data(mx.cpu(1)) is weight.list_data()[1]
    assert (weight.list_grad()[0].asnumpy() != weight.list_grad()[1].asnumpy()).any()
    with pytest.raises(RuntimeError, match="not initialized on context"):
        weight.data(mx.cpu(2))
    weight.reset_ctx(mx.cpu(3))
    assert weight.list_ctx() == [mx.cpu(3)]


def test_sequential_warns_where_hybrid_sequential_would_do() -> None:
    net = nn.Sequential()
    net.add(nn.Dense(2))
    with pytest.warns(UserWarning, match="HybridSequential"):
        net.hybridize()
    assert len(net) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.Sequential().hybridize()


def test_repr() -> None:
    assert repr(mlp()) == ("HybridSequential(\n"
                           "  (0): Dense(None -> 8, Activation(relu))\n"
                           "  (1): Dense(None -> 3, linear)\n)")
    assert repr(nn.Conv2D(3, 2, groups=1, use_bias=False)) == (
        "Conv2D(None -> 3, kernel_size=(2, 2), stride=(1, 1), bias=False)")


def test_threads_inside_of_one_scope_do_not_mix_up_names() -> None:
    net = nn.HybridSequential(prefix="net_")
    inside, left = threading.Event(), threading.Event()
    names: list[str] = []

    def other() -> None:
        around = nn.HybridSequential(prefix="other_")
        with around.name_scope():
            with net.name_scope():
                inside.set()
                left.wait(10)
            names.append(nn.Dense(2).name)

    thread = threading.Thread(target=other)
    with net.name_scope():
        thread.start()
        inside.wait(10)
    with mx.NameManager():
        names.append(nn.Dense(2).name)
    left.set()
    thread.join()
    assert names == ["dense0", "other_dense0"]


class Chosen(gluon.HybridBlock):
    """The rows of a layer's output that a mask chooses."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.layer = nn.Dense(2, in_units=3)

    def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:  # noqa: N803
        return F.contrib.boolean_mask(self.layer(x), mask)


def test_shapes_that_follow_from_values_are_hybridized() -> None:
    """Such a block has no graph: it runs operator by operator, and its children as graphs."""
    net = Chosen()
    net.initialize(mx.init.One())
    net.hybridize()
    x = mx.nd.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    x.attach_grad()
    for mask, rows in (([0, 1, 1], [15, 24]), ([1, 0, 0], [6]), ([0, 0, 0], [])):
        with mx.autograd.record():
            out = net(x, mx.nd.array(mask))
        out.backward()
        assert out.asnumpy().tolist() == [[row] * 2 for row in rows]
        assert x.grad.asnumpy().tolist() == [[2 * row] * 3 for row in mask]
    assert net.layer._cached_op is not None
    assert net._cached_op is None


def test_a_scope_may_be_all_that_has_its_block() -> None:
    from ndarray_rt.gluon.block import _BlockScope

    class Named:
        prefix = "outer_"
        _empty_prefix = False

    with mx.NameManager(), _BlockScope(Named()):
        assert mx.name.NameManager.current.get(None, "hello") == "outer_hello0"
