"""Steps of optimizers over many weights: recorded, replayed, with numbers that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import ParameterError
from ndarray_rt.executor import Trained, Update
from ndarray_rt.storage.desc import tagged_desc
from ndarray_rt.storage.stream import Stream

Values = np.ndarray[Any, np.dtype[Any]]
SHAPES = {"conv_weight": (20, 3, 3, 3), "fc_weight": (10, 7), "fc_bias": (10,), "scale": (1,)}
OPTIMIZERS = {
    "sgd_update": (0, {"wd": 0.01}),
    "sgd_mom_update": (1, {"wd": 0.01, "momentum": 0.9, "clip_gradient": 0.5}),
    "adam_update": (2, {"wd": 0.01, "rescale_grad": 0.25}),
    "nag_mom_update": (1, {"wd": 0.01, "momentum": 0.9, "clip_gradient": 0.5}),
    "rmsprop_update": (1, {"wd": 0.01, "clip_weights": 0.75}),
    "rmspropalex_update": (3, {"wd": 0.01, "epsilon": 1.0, "clip_weights": 0.75}),
    "ftrl_update": (2, {"wd": 0.01, "lamda1": 0.25}),
    "ftml_update": (3, {"wd": 0.01, "t": 2}),
    "signum_update": (1, {"wd": 0.01, "momentum": 0.9, "wd_lh": 0.01}),
}
LR_MULT, WD_MULT = {"fc_bias": 2.0}, {"fc_bias": 0.0, "scale": 0.0}


def make(op: str, dtype: str = "float32") -> list[Trained]:
    """Weights, gradients and states of an optimizer."""
    rng = np.random.default_rng(0)

    def some(shape: tuple[int, ...]) -> mx.nd.NDArray:
        return mx.nd.array(np.asarray(rng.uniform(0.1, 1, shape)), dtype=dtype)
    return [Trained(name, some(shape), some(shape), [some(shape) for _ in range(OPTIMIZERS[op][0])])
            for name, shape in SHAPES.items()]


def values(trained: list[Trained]) -> list[Values]:
    return [array.asnumpy() for one in trained for array in one.arrays]


def step_naively(op: str, trained: list[Trained], lr: float, **more: float) -> None:
    """One call of the operator for each weight, as users write it."""
    numbers = {**OPTIMIZERS[op][1], **more}
    for one in trained:
        wd = numbers.get("wd", 0.0) * WD_MULT.get(one.name, 1.0)
        getattr(mx.nd, op)(one.weight, one.grad, *one.states, out=one.weight,
                           **{**numbers, "lr": lr * LR_MULT.get(one.name, 1.0), "wd": wd})


@pytest.mark.parametrize("capture", [True, False])
@pytest.mark.parametrize("op", OPTIMIZERS)
def test_numbers_change_and_nothing_is_recorded_again(op: str, capture: bool) -> None:
    """The same bits as operator by operator, with factors, a new learning rate at each step."""
    ours, naive = make(op), make(op)
    update = Update(op, ours, {"lr": 0.1, **OPTIMIZERS[op][1]}, LR_MULT, WD_MULT)
    recordings = []
    with config.override(NDRT_CAPTURE=capture):
        for i in range(7):
            lr, more = 0.1 / (i + 1), ({"wd": 0.02} if i > 4 else {})
            update(lr=lr, **more)
            step_naively(op, naive, lr, **more)
            for one, other in zip(ours, naive, strict=True):
                one.grad[:] = other.grad[:] = other.grad.asnumpy() * -0.5
            for got, want in zip(values(ours), values(naive), strict=True):
                np.testing.assert_array_equal(got, want)
            recordings.append(update.captured)
    assert (update.capture_state == "captured") == capture
    assert (recordings[1] is not None) == capture
    assert all(one is recordings[-1] for one in recordings[1:])
    assert update.counters["kernels"] == 7 * len(SHAPES)
    assert update.counters["callbacks"] == 0
    assert update.numbers["lr"] == 0.1 / 7
    assert update.numbers["wd"] == 0.02


def test_master_copies_are_captured() -> None:
    """float16 weights, states and copies in float32: the bits of single calls."""
    rng = np.random.default_rng(0)

    def made() -> list[Trained]:
        found = []
        for name, shape in SHAPES.items():
            values = rng.uniform(0.1, 1, shape)
            weight, grad = (mx.nd.array(v, dtype="float16") for v in (values, values / 2))
            found.append(Trained(name, weight, grad,
                                 [mx.nd.zeros(shape), mx.nd.array(values, dtype="float32")]))
        return found
    ours = made()
    rng = np.random.default_rng(0)
    naive = made()
    update = Update("mp_sgd_mom_update", ours, {"lr": 0.1, "momentum": 0.5, "wd": 0.25})
    for i in range(4):
        update(lr=0.1 / (i + 1))
        for one in naive:
            mx.nd.mp_sgd_mom_update(*one.arrays, out=one.weight, lr=0.1 / (i + 1), momentum=0.5,
                                    wd=0.25)
        for got, want in zip(values(ours), values(naive), strict=True):
            np.testing.assert_array_equal(got, want)
    assert update.capture_state == "captured"


def test_each_replay_counts_as_a_write() -> None:
    trained = make("sgd_mom_update")
    update = Update("sgd_mom_update", trained, {"lr": 0.1})
    for _ in range(3):
        update()
    assert update.capture_state == "captured"
    before = [[array._chunk.writes for array in one.arrays] for one in trained]
    for _ in range(2):
        update()
    for one, (weight, grad, state) in zip(trained, before, strict=True):
        assert [array._chunk.writes for array in one.arrays] == [weight + 2, grad, state + 2]


def test_changes_between_replays_are_seen() -> None:
    op = "sgd_mom_update"
    ours, naive = make(op), make(op)
    update = Update(op, ours, {"lr": 0.1, **OPTIMIZERS[op][1]}, LR_MULT, WD_MULT)
    layout = tagged_desc(np.dtype("f4"), SHAPES["conv_weight"], "aBcd16b")
    changes: list[Callable[[Any], object]] = [
        lambda t: t[0].weight.__setitem__(1, 2.0), lambda t: t[1].states[0].__imul__(2),
        lambda t: t[0].weight._chunk.reorder(layout, Stream()),
        lambda t: t[0].grad._chunk.reorder(layout, Stream()),
        lambda t: mx.set_num_threads(2), lambda t: mx.set_num_threads(1)]
    for change in changes:
        for trained in (ours, naive):
            change(trained)
        for _ in range(10):
            update()
            step_naively(op, naive, 0.1)
            for got, want in zip(values(ours), values(naive), strict=True):
                np.testing.assert_array_equal(got, want)
        assert update.capture_state == "captured"


def test_weights_that_share_memory() -> None:
    """Parts of one array, and a weight that is its own gradient under another name."""
    whole = mx.nd.ones((2, 3))
    same = mx.nd.from_dlpack(np.ones((2, 3), "f4"))
    twice = mx.nd.from_dlpack(same)
    for pairs in ([(whole[0], whole[1]), (whole[1], whole[0])], [(same, twice)]):
        trained = [Trained(f"w{i}", *pair, ()) for i, pair in enumerate(pairs)]
        update = Update("sgd_update", trained, {"lr": 0.5})
        for _ in range(4):
            for one in trained[1:]:
                one.grad[:] = 2
            want = [one.weight.asnumpy() - 0.5 * one.grad.asnumpy() for one in trained]
            if len(want) == 2:
                want[1] = whole[1].asnumpy() - 0.5 * want[0]
            update()
            for one, value in zip(trained, want, strict=True):
                np.testing.assert_array_equal(one.weight.asnumpy(), value)
        assert "share memory" in update.capture_state


def test_what_numpy_computes_is_not_recorded() -> None:
    ours, naive = make("adam_update", "float64"), make("adam_update", "float64")
    update = Update("adam_update", ours, {"lr": 0.1, **OPTIMIZERS["adam_update"][1]},
                    LR_MULT, WD_MULT)
    for _ in range(4):
        update()
        step_naively("adam_update", naive, 0.1)
    for got, want in zip(values(ours), values(naive), strict=True):
        np.testing.assert_array_equal(got, want)
    assert update.capture_state == "a step runs in Python"


def net() -> mx.sym.Symbol:
    y = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=4, name="fc")
    return mx.sym.SoftmaxOutput(y, name="softmax")


def test_bad_updates_are_refused() -> None:
    requests = {"data": "null", "softmax_label": "null", "fc_weight": "write", "fc_bias": "write"}
    executor = net().simple_bind(mx.cpu(), data=(2, 3), grad_req=requests)
    array = mx.nd.zeros((4, 3))
    bind = executor.bind_update
    bad: list[tuple[type[Exception], str, Any]] = [
        (KeyError, "not registered", lambda: bind("no_update", lr=1)),
        (ValueError, "updates no weight", lambda: bind("relu")),
        (ValueError, "required parameter 'lr'", lambda: bind("sgd_update")),
        (ValueError, "unknown parameter 'mass'", lambda: bind("sgd_update", lr=1, mass=2)),
        (KeyError, "lr_mult has 'data'", lambda: bind("sgd_update", lr=1, lr_mult={"data": 1})),
        (KeyError, "wd_mult has 'x'", lambda: bind("sgd_update", lr=1, wd_mult={"x": 1})),
        (KeyError, "states has 'data'", lambda: bind("sgd_update", {"data": []}, lr=1)),
        (KeyError, "names has 'data'", lambda: bind("sgd_update", lr=1, names=["data"])),
        (KeyError, "states has 'fc_bias'",
         lambda: bind("sgd_update", {"fc_bias": []}, lr=1, names=["fc_weight"])),
        (KeyError, "takes 1 state.* got 2",
         lambda: bind("sgd_mom_update", {"fc_weight": [array, array]}, lr=1)),
        (ValueError, "input 2 has shape",
         lambda: bind("sgd_mom_update", {"fc_bias": [array]}, lr=1)),
        (TypeError, "dtypes disagree",
         lambda: bind("sgd_mom_update", {"fc_weight": array.astype("float64")}, lr=1)),
        (TypeError, "expected an NDArray",
         lambda: bind("sgd_mom_update", {"fc_weight": [np.zeros((4, 3))]}, lr=1)),
    ]
    for kind, text, call in bad:
        with pytest.raises(kind, match=text):
            call()
    assert [one.name for one in bind("sgd_update", names=["fc_bias"], lr=1).trained] == ["fc_bias"]
    update = bind("sgd_update", lr=0.5)
    for wrong in ({"momentum": 1}, {"lazy_update": False}):
        with pytest.raises(ValueError, match="can not change from step to step"):
            update(**wrong)
    with pytest.raises(ValueError, match="'lr' got 'fast'"):
        update(lr="fast")
    assert update.numbers == {"lr": 0.5, "wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0}
    with pytest.raises(mx.MXNetError, match="needs gradients"):
        net().simple_bind(mx.cpu(), data=(2, 3), grad_req="null").train_step(update)


@pytest.mark.parametrize("wrong", [np.ones(2), np.ones(0), mx.nd.ones((2,)), [0.1, 0.2], "x", None])
def test_what_is_no_number_is_refused_and_nothing_changes(wrong: Any) -> None:
    update = Update("sgd_update", make("sgd_update"), {"lr": 0.5, "wd": 0.25})
    before = update.numbers
    for call in (update.set, update):
        with pytest.raises(ParameterError, match=r"^sgd_update: parameter 'lr' got .* a float$"):
            call(lr=wrong, wd=0.125)
    assert update.numbers == before


def test_a_number_in_an_array_is_read_each_time_it_is_given() -> None:
    update = Update("sgd_update", make("sgd_update"), {"lr": 0.5})
    lr = np.array([0.25])
    for value in (0.25, 0.125):
        lr[:] = value
        update.set(lr=lr)
        assert update.numbers["lr"] == value
