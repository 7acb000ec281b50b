"""Rates, decays, counts, the registry, subclasses, and what is recorded."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch

Updater = mx.optimizer.Updater


def arrays(*shapes: tuple[int, ...], value: float = 1.0) -> list[Any]:
    return [mx.nd.full(shape, value) for shape in shapes]


def test_multipliers_by_name_index_graph_and_parameter() -> None:
    data = mx.sym.Variable("data")
    weight = mx.sym.Variable("fc_weight", lr_mult=3.0, wd_mult=0.5)
    net = mx.sym.FullyConnected(data, weight=weight, num_hidden=2, name="fc")
    names = {0: "fc_weight", 1: "fc_bias", 2: "bn_gamma", 3: "x"}
    made = mx.optimizer.SGD(learning_rate=1.0, wd=1.0, sym=net, param_idx2name=names)
    assert made._get_lrs([0, 1, 2, 3, 9]) == [3.0, 1.0, 1.0, 1.0, 1.0]
    assert made._get_wds([0, 1, 2, 3, 9]) == [0.5, 0.0, 1.0, 0.0, 1.0]
    made.set_lr_mult({"fc_bias": 2.0, 9: 7.0})
    made.set_wd_mult({"x": 4.0})
    assert made._get_lrs([0, 1, 9]) == [3.0, 2.0, 7.0]
    assert made._get_wd(3) == 4.0

    class Parameter:
        lr_mult, wd_mult = 5.0, 6.0

    made.param_dict = {0: Parameter()}
    assert (made._get_lr(0), made._get_wd(0)) == (5.0, 6.0)


def test_lars_decays_weights_alone() -> None:
    made = mx.optimizer.LARS(wd=1.0, param_idx2name={0: "a_weight", 1: "b_gamma"})
    assert made._get_wds([0, 1]) == [1.0, 0.0]


def test_rates() -> None:
    assert mx.optimizer.SGD().learning_rate == 0.01
    made = mx.optimizer.SGD(learning_rate=0.5)
    made.set_learning_rate(0.25)
    assert made.learning_rate == 0.25
    schedule = mx.lr_scheduler.FactorScheduler(step=1, factor=0.5, base_lr=0.5)
    with pytest.warns(UserWarning, match="replaced by learning_rate"):
        made = mx.optimizer.SGD(learning_rate=0.125, lr_scheduler=schedule)
    assert made.learning_rate == 0.125
    with pytest.raises(UserWarning, match="LRScheduler"):
        made.set_learning_rate(1.0)
    with pytest.raises(DeprecationWarning):
        made.set_lr_scale({})


def test_counts_of_each_context() -> None:
    made = mx.optimizer.SGD(begin_num_update=5)
    made._update_count([0, 1])
    made._update_count(0)
    made._set_current_context(1)
    made._update_count(0)
    assert made._all_index_update_counts == {0: {0: 7, 1: 6}, 1: {0: 6}}
    assert made.num_update == 7


def test_registry() -> None:
    with pytest.raises(ParameterError, match="Cannot find optimizer nothing"):
        mx.optimizer.create("nothing")
    with pytest.raises(TypeMismatch):
        mx.optimizer.register(3)  # type: ignore[type-var]

    @mx.optimizer.register
    class Halves(mx.optimizer.Optimizer):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            weight[:] = weight / 2

    try:
        with pytest.warns(UserWarning, match="overriding"):
            mx.optimizer.register(Halves)
        updater = mx.optimizer.get_updater(mx.optimizer.create("HALVES"))
        weights = arrays((2,), (3,))
        updater([0, 1], arrays((2,), (3,)), weights)
        assert [float(w.sum().asscalar()) for w in weights] == [1.0, 1.5]
    finally:
        del mx.optimizer.Optimizer.opt_registry["halves"]


def test_a_subclass_that_replaces_update_is_called() -> None:
    calls = []

    class Noting(mx.optimizer.Adam):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            calls.append(index)
            super().update(index, weight, grad, state)

    updater = Updater(Noting())
    updater([0, 1], arrays((2,), (3,)), arrays((2,), (3,)))
    assert calls == [0, 1]


def test_many_weights_are_one_recorded_call() -> None:
    updater = Updater(mx.optimizer.Adam())
    weights = arrays(*[(i + 1, 3) for i in range(6)])
    grads = arrays(*[(i + 1, 3) for i in range(6)], value=0.5)
    for _ in range(3):
        updater(list(range(6)), grads, weights)
    update, = updater._recorded.values()
    assert update.capture_state == "captured"
    # other arrays in the place of some: what was recorded of them is not run
    weights[2] = mx.nd.zeros((3, 3))
    updater(list(range(6)), grads, weights)
    assert (weights[2].asnumpy() != 0).all()
    assert len(updater._recorded) == 1


def test_numbers_that_are_taken_back() -> None:
    made = mx.optimizer.SGD(learning_rate=1.0, clip_gradient=0.5)
    updater, weights = Updater(made), arrays((1,), (1,))
    grads = arrays((1,), (1,), value=2.0)
    updater([0, 1], grads, weights)
    made.clip_gradient = None
    updater([0, 1], grads, weights)
    assert [w.asscalar() for w in weights] == [-1.5, -1.5]


def test_recordings_are_bounded() -> None:
    updater = Updater(mx.optimizer.SGD())
    weight, grad = mx.nd.ones((1,)), mx.nd.ones((1,))
    for i in range(40):
        updater([i, i + 1], [grad, grad], [weight, mx.nd.ones((1,))])
    assert len(updater._recorded) <= 16


def test_weights_and_states_that_are_views() -> None:
    whole = mx.nd.arange(12).reshape((4, 3))
    grads = mx.nd.ones((4, 3))
    updater = Updater(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
    for _ in range(4):
        updater([0, 1], [grads[:2], grads[2:]], [whole[:2], whole[2:]])
    steps = 1 + 1.5 + 1.75 + 1.875
    np.testing.assert_allclose(whole.asnumpy(), np.arange(12).reshape(4, 3) - steps, rtol=1e-6)


def test_the_gradient_stays_as_it_is() -> None:
    for name, kind in mx.optimizer.Optimizer.opt_registry.items():
        if not kind.__module__.startswith("ndarray_rt.optimizer"):
            continue  # SVRG's inner optimizers want more than numbers
        updater = Updater(mx.optimizer.create(name, rescale_grad=0.5, clip_gradient=0.1))
        grad = mx.nd.ones((2, 2))
        updater(0, grad, mx.nd.ones((2, 2)))
        np.testing.assert_array_equal(grad.asnumpy(), np.ones((2, 2)), err_msg=name)


def test_adamw_is_its_formula() -> None:
    value, grad = np.random.RandomState(0).randn(2, 3, 4).astype("float32")
    weight, wanted = mx.nd.array(value), value.astype("float64")
    updater = Updater(mx.optimizer.AdamW(learning_rate=0.1, wd=0.1, epsilon=1e-12))
    mean = variance = np.zeros((3, 4))
    for t in range(1, 6):
        updater(0, mx.nd.array(grad), weight)
        # the operator's decays are float32
        beta1, beta2 = np.array([0.9, 0.999], "float32").astype("float64")
        mean = beta1 * mean + (1 - beta1) * grad
        variance = beta2 * variance + (1 - beta2) * grad**2
        direction = (mean / (1 - 0.9**t)) / np.sqrt(variance / (1 - 0.999**t))
        wanted = wanted * (1 - 0.1 * 0.1) - 0.1 * direction
    np.testing.assert_allclose(weight.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def test_adamw_decays_apart_from_the_gradient() -> None:
    weight = mx.nd.full((3,), 2.0)
    Updater(mx.optimizer.AdamW(learning_rate=0.5, wd=0.1))(0, mx.nd.zeros((3,)), weight)
    np.testing.assert_allclose(weight.asnumpy(), 2.0 - 0.5 * 0.1 * 2.0, rtol=1e-6)


def test_group_adagrad_takes_matrices_without_decay() -> None:
    with pytest.raises(ShapeError, match="expected a matrix"):
        Updater(mx.optimizer.GroupAdaGrad())(0, mx.nd.ones((3,)), mx.nd.ones((3,)))
    with pytest.raises(ParameterError, match="Weight decay"):
        Updater(mx.optimizer.GroupAdaGrad(wd=0.1))(0, mx.nd.ones((3, 1)), mx.nd.ones((3, 1)))


@pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_count_on_their_own(make_copy: Any) -> None:
    made = mx.optimizer.SGD(param_dict={0: None})
    made._update_count(0)
    other = make_copy(made)
    other._update_count(0)
    assert other.param_dict == {}
    assert (made._index_update_count, other._index_update_count) == ({0: 1}, {0: 2})
    assert other._all_index_update_counts == {0: {0: 2}}


@pytest.mark.parametrize(("kind", "params", "error"), [
    ("FactorScheduler", {"step": 0}, ParameterError),
    ("FactorScheduler", {"step": 1, "factor": 2}, ParameterError),
    ("FactorScheduler", {"step": 1, "warmup_steps": -1}, ParameterError),
    ("FactorScheduler", {"step": 1, "warmup_steps": 1.5}, TypeMismatch),
    ("FactorScheduler", {"step": 1, "warmup_begin_lr": 1}, ParameterError),
    ("FactorScheduler", {"step": 1, "warmup_mode": "slow"}, ParameterError),
    ("MultiFactorScheduler", {"step": [3, 2]}, ParameterError),
    ("MultiFactorScheduler", {"step": [0, 2]}, ParameterError),
    ("MultiFactorScheduler", {"step": []}, TypeMismatch),
    ("PolyScheduler", {"max_update": 0}, ParameterError),
    ("CosineScheduler", {"max_update": 1.5}, TypeMismatch)])
def test_schedules_that_are_wrong(kind: str, params: dict[str, Any], error: type) -> None:
    with pytest.raises(error, match=kind):
        getattr(mx.lr_scheduler, kind)(**params)


def test_a_derived_sgd_may_define_steps_of_single_weights() -> None:
    class Own(mx.optimizer.SGD):
        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            assert isinstance(weight, mx.nd.NDArray)  # of a list it would fail
            super().update(index, weight, grad, state)
    weights = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    grads = [mx.nd.ones((2,)), mx.nd.ones((3,))]
    mx.optimizer.get_updater(Own(learning_rate=0.5))([0, 1], grads, weights)
    assert [x.asnumpy().tolist() for x in weights] == [[0.5] * 2, [0.5] * 3]
    Own(learning_rate=0.5).update(0, weights[0], grads[0], None)
    assert weights[0].asnumpy().tolist() == [0, 0]
