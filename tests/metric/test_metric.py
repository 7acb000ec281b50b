"""Metrics say what the real MXNet 1.9.1 says, and take lists, dicts and functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import ParameterError, ShapeError, TypeMismatch

from . import golden

SAID = json.loads((Path(__file__).parents[1] / "data" / "mxnet_metrics.json").read_text())
# MXNet counts nothing for the global value of this one
LOCAL_ALONE = ["pearsonr average=micro numbers"]


@pytest.mark.parametrize("case", golden.CASES, ids=golden.name_of)
def test_metrics_say_what_mxnet_says(case: tuple[str, dict[str, Any], str]) -> None:
    wanted, found = SAID[golden.name_of(case)], golden.run(mx, case)
    assert found[3:] == wanted[3:]
    for ours, theirs in zip(found[:3], wanted[:3], strict=True):
        assert ours[0] == theirs[0]
        assert ours[3:] == theirs[3:]
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-5)
        if golden.name_of(case) not in LOCAL_ALONE:
            np.testing.assert_allclose(ours[2], theirs[2], rtol=1e-5)


def test_composite_names_and_values() -> None:
    made: Any = mx.metric.create(["acc", "ce", mx.metric.MAE()])
    label, pred = mx.nd.array([1, 0]), mx.nd.array([[0.25, 0.75], [0.25, 0.75]])
    with pytest.raises(ShapeError, match="does not match shape of predictions"):
        made.update([label, label], [pred])
    made.metrics.pop()
    made.update([label], [pred])
    names, values = made.get()
    assert names == ["accuracy", "cross-entropy"]
    np.testing.assert_allclose(values, [0.5, -np.log(0.75 * 0.25) / 2], rtol=1e-6)
    assert made.get_global_name_value() == made.get_name_value()
    again: Any = mx.metric.create(**made.get_config())
    assert [type(one) for one in again.metrics] == [mx.metric.Accuracy, mx.metric.CrossEntropy]
    made.reset()
    assert all(np.isnan(value) for value in made.get()[1])
    assert isinstance(made.get_metric(0), mx.metric.Accuracy)
    assert isinstance(made.get_metric(9), ValueError)


def test_functions() -> None:
    @mx.metric.np
    def share(label: Any, pred: Any) -> Any:
        return (label == pred).sum(), label.size

    share.update([mx.nd.array([1, 2, 3, 4])], [mx.nd.array([1, 2, 3, 5])])
    assert share.get() == ("share", 0.75)
    made = mx.metric.create(lambda label, pred: 2.0)
    made.update([mx.nd.ones((1,))], [mx.nd.ones((1,))])
    assert made.get() == ("custom(<lambda>)", 2.0)
    with pytest.raises(TypeMismatch, match="cannot be serialized"):
        made.get_config()


def test_arrays_by_name() -> None:
    metric = mx.metric.Accuracy(output_names=["out"], label_names=["y"])
    pred = mx.nd.array([[0.1, 0.9]])
    metric.update_dict({"x": mx.nd.ones((3,)), "y": mx.nd.array([1])},
                       {"out": pred, "more": mx.nd.ones((2, 2))})
    assert metric.get() == ("accuracy", 1.0)


def test_a_class_of_the_users() -> None:
    class Largest(mx.metric.EvalMetric):
        def update(self, labels: Any, preds: Any) -> None:
            self.sum_metric = max(self.sum_metric, preds[0].max().asscalar())
            self.num_inst = 1

    try:
        mx.metric.register(Largest)
        metric = mx.metric.create("largest", name="largest")
        metric.update([], [mx.nd.array([1, 5, 3])])
        assert metric.get() == ("largest", 5.0)
        assert metric.get_global() == ("largest", 5.0)
    finally:
        mx.metric.base.register.__globals__["_REGISTRY"][mx.metric.EvalMetric].pop("largest")


def test_labels_in_columns_and_views() -> None:
    labels = mx.nd.arange(8).reshape((4, 2))[1:3]
    pred = mx.nd.one_hot(labels.reshape((-1,)), 8)
    metric = mx.metric.Accuracy()
    metric.update(labels.reshape((4, 1)), pred)
    assert metric.get()[1] == 1.0


def test_wrong_values() -> None:
    with pytest.raises(ParameterError, match="Please use Accuracy"):
        mx.metric.TopKAccuracy(top_k=1)
    with pytest.raises(ParameterError, match="binary classification"):
        mx.metric.F1().update([mx.nd.array([0, 1, 2])], [mx.nd.ones((3, 2))])
    with pytest.raises(ShapeError, match="no more than 2 dims"):
        mx.metric.TopKAccuracy(top_k=2).update([mx.nd.ones((3,))], [mx.nd.ones((3, 2, 2))])
    with pytest.raises(ShapeError, match="shape mismatch"):
        mx.metric.Perplexity(None).update([mx.nd.ones((3,))], [mx.nd.ones((2, 4))])
    with pytest.raises(AssertionError):
        mx.metric.create("nothing")
