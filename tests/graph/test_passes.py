"""Passes: what they make of small graphs, and that the results stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import MXNetError
from ndarray_rt.passes import PASSES

from .pass_checks import DATA, SHAPE, check, conv, norm, operators, optimized, relu

# ---- batch norm ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("fix_gamma", [True, False])
def test_batch_norm_goes_into_the_convolution(bias: bool, fix_gamma: bool) -> None:
    net = relu(norm(conv(DATA, no_bias=not bias), fix_gamma=fix_gamma))
    check(net, ["_fold_batch_norm", "_fused_Convolution"], data=SHAPE)


@pytest.mark.parametrize("groups", [1, 2])
def test_batch_norm_goes_into_a_deconvolution(groups: int) -> None:
    net = norm(mx.sym.Deconvolution(DATA, kernel=(2, 2), stride=(2, 2), num_filter=6,
                                    num_group=groups, name="d"), fix_gamma=False)
    check(net, ["_fold_batch_norm", "Deconvolution"], data=(2, 4, 3, 3))


def test_batch_norm_goes_into_a_dense_layer() -> None:
    net = norm(mx.sym.FullyConnected(DATA, num_hidden=7, name="f"), fix_gamma=False)
    check(net, ["_fold_batch_norm", "FullyConnected"], data=(3, 5))


def test_batch_norm_stays_where_the_layer_is_read_elsewhere() -> None:
    layer = conv(DATA)
    check(mx.sym.Group([norm(layer), layer]), ["Convolution", "BatchNorm"], data=SHAPE)
    check(norm(layer) + layer * 2, data=SHAPE)


def test_batch_norm_stays_where_its_statistics_are_read() -> None:
    net = norm(conv(DATA), output_mean_var=True)
    check(net, ["Convolution", "BatchNorm"], data=SHAPE)


def test_batch_norm_over_another_axis_stays() -> None:
    check(norm(conv(DATA), axis=2), ["Convolution", "BatchNorm"], data=SHAPE)


def test_batch_norm_takes_what_follows_it() -> None:
    check(relu(norm(DATA, fix_gamma=False)), ["_fused_BatchNorm"], data=SHAPE)


@pytest.mark.parametrize("fix_gamma", [True, False])
@pytest.mark.parametrize("shape", [(6, 1, 1), (1, 6, 1, 1), (1,), (1, 1, 1, 1)])
def test_batch_norm_takes_factors_and_summands_of_channels(fix_gamma: bool,
                                                           shape: tuple[int, ...]) -> None:
    factor, shift = mx.sym.Variable("factor", shape=shape), mx.sym.Variable("shift", shape=shape)
    net = norm(mx.sym.relu(DATA), fix_gamma=fix_gamma)
    net = mx.sym.broadcast_add(shift, mx.sym.broadcast_mul(net, factor))
    check(net, ["relu", "_scale_batch_norm", "_scale_batch_norm", "BatchNorm"],
          data=(2, 6, 3, 3))


def test_scaled_batch_norm_goes_into_the_convolution() -> None:
    factor = mx.sym.Variable("factor", shape=(20, 1, 1))
    net = relu(mx.sym.broadcast_mul(norm(conv(DATA)), factor))
    check(net, ["_scale_batch_norm", "_fold_batch_norm", "_fused_Convolution"], data=SHAPE)


def test_factors_that_are_no_parameters_of_channels_stay() -> None:
    data = norm(DATA)
    row = mx.sym.Variable("row", shape=(1, 6))
    for values in (row, mx.sym.relu(mx.sym.Variable("gate", shape=(6, 1, 1))),
                   mx.sym.Variable("images", shape=(2, 6, 1, 1))):
        found = check(mx.sym.broadcast_mul(data, values), data=(2, 6, 3, 6))
        assert "_scale_batch_norm" not in operators(found.heads), values
    found = check(mx.sym.broadcast_mul(norm(DATA, axis=2), row), data=(2, 6, 3, 6))
    assert "_scale_batch_norm" not in operators(found.heads)
    # nobody loses the normalized values that he reads
    factor = mx.sym.Variable("factor", shape=(6, 1, 1))
    found = check(mx.sym.Group([data, mx.sym.broadcast_mul(data, factor)]), data=(2, 6, 3, 6))
    assert "_scale_batch_norm" not in operators(found.heads)


# ---- post-ops -----------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [
    relu, lambda x: mx.sym.clip(x, a_min=0, a_max=6), lambda x: mx.sym.LeakyReLU(x, slope=0.1),
    lambda x: mx.sym.LeakyReLU(x, act_type="elu", slope=0.7), mx.sym.sigmoid,
    lambda x: mx.sym.LeakyReLU(x, act_type="gelu"), lambda x: mx.sym.relu(x * 2 + 1),
    lambda x: mx.sym.Activation(x, act_type="softrelu"), lambda x: 3 - x, mx.sym.square,
    mx.sym.silu,
])
@pytest.mark.parametrize("layer", ["conv", "dense"])
def test_functions_go_into_the_layer(layer: str, after: Any) -> None:
    if layer == "conv":
        done = check(after(conv(DATA)), data=SHAPE)
    else:
        done = check(after(mx.sym.FullyConnected(DATA, num_hidden=7, name="f")), data=(3, 5))
    assert len(operators(done.heads)) == 1


def test_a_residual_goes_into_the_later_layer() -> None:
    start = relu(conv(DATA, 20, "a"), "ra")
    net = relu(conv(start, 20, "b") + start, "rb")
    check(net, ["_fused_Convolution", "_fused_Convolution"], data=SHAPE)


def test_a_sum_of_two_layers() -> None:
    net = relu(conv(DATA, 20, "a") + conv(DATA, 20, "b"))
    check(net, ["Convolution", "_fused_Convolution"], data=SHAPE)


def test_a_factor_for_each_channel() -> None:
    scale = mx.sym.Variable("scale", shape=(1, 20, 1, 1))
    check(mx.sym.broadcast_mul(conv(DATA), scale), ["_fused_Convolution"], data=SHAPE)


def test_a_layer_that_grows_by_broadcasting_keeps_its_shape() -> None:
    wide = mx.sym.Variable("wide", shape=(2, 20, 6, 5))
    net = mx.sym.broadcast_add(conv(DATA, 20, "a"), wide)
    check(net, ["Convolution", "broadcast_add"], data=(1, 3, 6, 5))


def test_what_is_read_twice_or_is_an_output_stays() -> None:
    layer = conv(DATA)
    check(mx.sym.Group([relu(layer), layer]), ["Convolution", "Activation"], data=SHAPE)
    check(layer * layer, data=SHAPE)


def test_other_dtypes_stay() -> None:
    done = optimized(relu(conv(DATA)), np.float64, data=SHAPE)
    assert operators(done.heads) == ["Convolution", "Activation"]


# ---- identities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [
    lambda x: mx.sym.Dropout(x, p=0.5), mx.sym.identity, mx.sym.BlockGrad, mx.sym.make_loss,
    lambda x: mx.sym.Cast(x, dtype="float32"), lambda x: mx.sym.reshape(x, shape=(0, 0, 0, 0)),
    lambda x: mx.sym.transpose(mx.sym.transpose(x, axes=(0, 2, 3, 1)), axes=(0, 3, 1, 2)),
    lambda x: mx.sym.reshape(mx.sym.Flatten(x), shape=SHAPE),
])
def test_nothing_is_dropped(nothing: Any) -> None:
    check(mx.sym.sin(nothing(mx.sym.cos(DATA))), ["cos", "sin"], data=SHAPE)


def test_dropout_that_always_drops_stays() -> None:
    net = mx.sym.sin(mx.sym.Dropout(DATA, mode="always", name="d"))
    assert operators(optimized(net, data=SHAPE).heads) == ["Dropout", "sin"]


def test_reshapes_and_transposes_are_joined() -> None:
    x = mx.sym.sin(DATA)
    net = mx.sym.transpose(mx.sym.transpose(x, axes=(1, 0, 3, 2)), axes=(2, 1, 0, 3))
    check(mx.sym.cos(net), ["sin", "transpose", "cos"], data=SHAPE)
    net = mx.sym.reshape(mx.sym.reshape(x, shape=(6, 30)), shape=(-1, 10))
    check(mx.sym.cos(net), ["sin", "Reshape", "cos"], data=SHAPE)


def test_shapes_are_those_of_what_is_left() -> None:
    """The reshape before a dropped node is not taken for the dropped node's input."""
    flat = mx.sym.reshape(mx.sym.sin(DATA), shape=(6, 30))
    net = mx.sym.reshape(mx.sym.Dropout(flat), shape=(6, 30))
    check(mx.sym.cos(net), ["sin", "Reshape", "cos"], data=SHAPE)


def test_flatten_goes_where_all_readers_flatten() -> None:
    flat = mx.sym.Flatten(mx.sym.sin(DATA))
    dense = mx.sym.FullyConnected(flat, num_hidden=3, name="f")
    check(dense, ["sin", "FullyConnected"], data=SHAPE)
    check(mx.sym.Group([dense, mx.sym.cos(flat)]), ["sin", "Flatten", "FullyConnected", "cos"],
          data=SHAPE)


def test_outputs_are_never_the_users_arrays() -> None:
    check(mx.sym.identity(DATA), ["_copy"], data=SHAPE)
    x = mx.sym.sin(DATA, name="s")
    check(mx.sym.Group([mx.sym.identity(x, name="i"), mx.sym.BlockGrad(x, name="j")]),
          ["sin", "_copy", "BlockGrad"], data=SHAPE)


# ---- equal nodes --------------------------------------------------------------------------------


def test_equal_nodes_are_merged() -> None:
    net = mx.sym.sin(DATA) * mx.sym.sin(DATA)
    done = check(net, data=SHAPE)
    assert operators(done.heads).count("sin") == 1


def test_random_nodes_are_not_merged() -> None:
    net = (mx.sym.random.uniform(shape=SHAPE) - mx.sym.random.uniform(shape=SHAPE)) * 2
    done = optimized(net)
    assert operators(done.heads).count("_random_uniform") == 2


# ---- switches and reports -----------------------------------------------------------------------


# ---- dense blocks -------------------------------------------------------------------------------


def block(data: Any, name: str, kernel: tuple[int, ...] = (1, 1)) -> Any:
    normed = mx.sym.BatchNorm(data, fix_gamma=False, name=f"{name}_norm")
    return mx.sym.Convolution(relu(normed), kernel=kernel, num_filter=6, no_bias=True, name=name)


def joined(*parts: Any) -> Any:
    return mx.sym.Concat(*parts, dim=1)


def test_dense_blocks_join_nothing_in_memory() -> None:
    first = conv(DATA)
    second = joined(first, block(first, "one"))
    third = joined(second, block(second, "two"))
    left = operators(check(block(third, "last"), data=SHAPE).heads)
    assert "Concat" not in left
    assert left.count("_fused_normed_Convolution") == 2
    assert left.count("_fused_BatchNorm") == 1, "of one tensor"


def test_what_is_joined_for_others_is_joined_once() -> None:
    first = conv(DATA)
    second = joined(first, block(first, "one"))
    third = joined(second, block(second, "two"))
    left = operators(check(mx.sym.Group([relu(third) * 2, block(third, "last")]), data=SHAPE).heads)
    assert left.count("Concat") == 1
    left = operators(check(mx.sym.Group([second * 2, third * 3]), data=SHAPE).heads)
    assert left.count("Concat") == 2, "both are read"


def test_larger_windows_and_other_axes_stay() -> None:
    first = conv(DATA)
    check(block(joined(first, first + 1), "one", (2, 2)), data=SHAPE)
    across = mx.sym.Concat(first, first + 1, dim=2)
    left = operators(check(block(across, "one"), data=SHAPE).heads)
    assert "_fused_normed_Convolution" not in left


@pytest.mark.parametrize("name", PASSES)
def test_each_pass_can_be_switched_off(name: str) -> None:
    net = relu(norm(conv(mx.sym.identity(DATA) * 2)))
    with config.override(NDRT_SKIP_PASSES=name):
        done = optimized(net, data=SHAPE)
    assert name not in [stage.name for stage in done.stages]
    with pytest.raises(MXNetError, match="did not run"):
        done.stage(name)


def test_all_passes_can_be_switched_off() -> None:
    net = relu(conv(DATA))
    with config.override(NDRT_SKIP_PASSES="all"):
        assert optimized(net, data=SHAPE).heads == net.entries
    with config.override(NDRT_SKIP_PASSES="fuse"), pytest.raises(MXNetError, match="is no pass"):
        optimized(net, data=SHAPE)


def test_a_stage_shows_before_and_after() -> None:
    text = str(optimized(relu(conv(DATA)), data=SHAPE).stage("fuse_post_ops"))
    assert "2 -> 1 nodes" in text
    assert "Activation r(c[0]) [act_type=relu]" in text
    assert "_fused_Convolution r(" in text
    assert "post_ops=relu" in text


def test_a_pass_that_changes_shapes_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PASSES, "drop_identities",
                        lambda heads, facts: [heads[0].node.inputs[0]])
    with pytest.raises(MXNetError, match="'drop_identities' changed the outputs"):
        optimized(mx.sym.sum(DATA), data=SHAPE)
