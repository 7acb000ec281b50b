"""Operators in training, forward and backward: native, but for those listed with the reason."""

from __future__ import annotations

import pytest

import ndarray_rt as mx
from ndarray_rt.cpu_level import has_avx512
from tests.observed import observe_run

S, X, W = mx.sym, mx.sym.Variable("x"), mx.sym.Variable("w")
FOUR = (2, 20, 8, 8)
Shapes = dict[str, tuple[int, ...]]


def of_one(net: mx.sym.Symbol, x: tuple[int, ...] = FOUR) -> tuple[mx.sym.Symbol, Shapes]:
    return net, {"x": x}


def of_two(net: mx.sym.Symbol, w: tuple[int, ...] = FOUR,
           x: tuple[int, ...] = FOUR) -> tuple[mx.sym.Symbol, Shapes]:
    return net, {"x": x, "w": w}


NETS: dict[str, tuple[mx.sym.Symbol, Shapes]] = {
    "lrn": of_one(S.LRN(X, nsize=5)),
    "average pooling": of_one(S.Pooling(X, pool_type="avg", kernel=(3, 3), stride=(2, 2),
                                        pooling_convention="full")),
    "sum pooling": of_one(S.Pooling(X, pool_type="sum", kernel=(2, 2))),
    "lp pooling": of_one(S.Pooling(X, pool_type="lp", p_value=2, kernel=(2, 2))),
    "global pooling": of_one(S.Pooling(X, pool_type="max", kernel=(2, 2), global_pool=True)),
    "slices and their sum": of_one(S.add_n(*S.SliceChannel(X, num_outputs=4))),
    "concat": of_two(S.Concat(X, W, dim=1)),
    "broadcast add": of_two(S.broadcast_add(X, W), (1, 20, 1, 1)),
    "broadcast mul": of_two(S.broadcast_mul(X, W), (1, 20, 1, 1)),
    "broadcast sub of the first": of_two(S.broadcast_sub(W, X), (1, 20, 1, 1)),
    "broadcast div": of_two(S.broadcast_div(X, W), (2, 1, 1, 1)),
    "broadcast maximum": of_two(S.broadcast_maximum(X, W)),
    "product": of_two(X * W), "quotient": of_two(X / W), "difference": of_two(X - W),
    "numbers": of_one((1 - (2 * X + 1)) / 4), "1 / x": of_one(1 / X), "x ** 2": of_one(X ** 2),
    "deconvolution": of_one(S.Deconvolution(X, kernel=(4, 4), stride=(2, 2), pad=(1, 1),
                                            num_filter=6)),
    **{act: of_one(S.LeakyReLU(X, act_type=act))
       for act in ("leaky", "elu", "selu", "gelu", "prelu", "rrelu")},
    **{act: of_one(S.Activation(X, act_type=act))
       for act in ("relu", "sigmoid", "tanh", "softrelu", "softsign")},
    "softmax of channels": of_one(S.softmax(X, axis=1)),
    "log softmax": of_one(S.log_softmax(X), (5, 7)),
    "softmax output": of_one(S.SoftmaxOutput(X, S.Variable("label"), multi_output=True,
                                             use_ignore=True, normalization="valid")),
    "sum": of_one(S.sum(X, axis=1)), "mean": of_one(S.mean(X, axis=(2, 3))),
    "max": of_one(S.max(X, axis=1)),
    "transpose": of_one(S.transpose(X, axes=(0, 2, 3, 1))),
    "reshape": of_one(S.reshape(X, shape=(0, -1))),
    "broadcast to": of_one(S.broadcast_to(X, shape=FOUR), (1, 20, 1, 1)),
    "dot": of_two(S.dot(X, W), (6, 7), (5, 6)),
    "batch dot": of_two(S.batch_dot(X, W), (3, 6, 7), (3, 5, 6)),
    "layer norm": of_one(S.LayerNorm(X), (5, 16)), "clip": of_one(S.clip(X, a_min=0, a_max=1)),
    "square": of_one(S.square(X)), "sqrt": of_one(S.sqrt(X)), "abs": of_one(S.abs(X)),
    "exp": of_one(S.exp(X)), "log": of_one(S.log(X)),
    "log1p": of_one(S.log1p(X)), "erfinv": of_one(S.erfinv(X)), "rsqrt": of_one(S.rsqrt(X)),
    "smooth l1": of_one(S.smooth_l1(X, scalar=2)), "above a number": of_one(X * (X > 0.5)),
    "reverse": of_one(S.reverse(X, axis=(1, 3))),
    **{f"pad with {mode}": of_one(S.Pad(X, mode=mode, pad_width=(0, 0, 0, 0, 1, 2, 1, 0)))
       for mode in ("constant", "edge", "reflect")},
    "steps backwards": of_one(S.slice(X, begin=(None, None), end=(None, None), step=(1, -3))),
    "last steps": of_one(S.SequenceLast(X)), "steps reversed": of_one(S.SequenceReverse(X)),
    "parts by coordinates": of_one(S.gather_nd(X, S.zeros((2, 5)))),
    "parts to coordinates": of_one(S.scatter_nd(X, S.ones((1, 4)), shape=(6, 20, 5, 5)),
                                   (4, 20, 5, 5)),
    "batch norm": of_one(S.BatchNorm(X, fix_gamma=False)),
    "batch norm of a matrix": of_one(S.BatchNorm(X), (8, 20)),
    "batch norm of the last axis": of_one(S.BatchNorm(X, axis=3)),
    "batch norm by moving statistics": of_one(S.BatchNorm(X, use_global_stats=True)),
    "dropout": of_one(S.Dropout(X)), "dropout of axes": of_one(S.Dropout(X, axes=(2, 3))),
    "convolution in 1-D": of_one(S.Convolution(X, kernel=(3,), num_filter=8), (2, 6, 20)),
    "convolution in 3-D": of_one(S.Convolution(X, kernel=(3, 3, 3), num_filter=8),
                                 (2, 6, 8, 8, 8)),
    "depthwise convolution": of_one(S.Convolution(X, kernel=(3, 3), num_group=20,
                                                  num_filter=20)),
    "grouped convolution": of_one(S.Convolution(X, kernel=(3, 3), num_group=4, num_filter=20)),
    "random numbers": of_one(X * S.random.uniform(shape=FOUR) + S.random.normal(shape=FOUR)),
}
# What numpy computes, and why. Training steps with these are not captured.
NUMPY = {
    "lp pooling": {"Pooling", "_backward_Pooling"},  # oneDNN has none
    "broadcast maximum": {"_backward_broadcast_maximum"},  # NaN is lost
}
if not has_avx512():  # oneDNN has none for AVX2
    NUMPY |= {"lrn": {"_backward_LRN"}}


@pytest.mark.parametrize("name", NETS)
def test_training_is_native(name: str) -> None:
    net, shapes = NETS[name]
    executor = net.simple_bind(mx.cpu(), **shapes)
    for argument in executor.arg_dict.values():
        argument[:] = mx.nd.random.uniform(0.5, 1.5, shape=argument.shape)
    heads = [mx.nd.ones(out.shape) for out in executor.outputs]

    def run() -> None:
        executor.forward(is_train=True)
        executor.backward(heads)
    for _ in range(2):
        run()
    moved = mx.memory_stats()["allocations"]
    run()
    assert mx.memory_stats()["allocations"] == moved
    assert executor.counters["callbacks"] == 0
    assert {row.op for row in observe_run(run) if row.is_numpy} == NUMPY.get(name, set())
