"""Updates of metrics that this package and the real MXNet 1.9.1 both do: `mx` is either of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# (metric, its parameters, what kind of arrays)
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("acc", {}, "classes"), ("acc", {}, "numbers"), ("top_k_accuracy", {"top_k": 2}, "classes"),
    ("f1", {}, "two"), ("f1", {"average": "micro"}, "two"), ("mcc", {}, "two"),
    ("mcc", {"average": "micro"}, "two"), ("pcc", {}, "classes"), ("pcc", {}, "two"),
    ("perplexity", {"ignore_label": None}, "classes"),
    ("perplexity", {"ignore_label": 1}, "classes"), ("mae", {}, "columns"), ("mse", {}, "numbers"),
    ("rmse", {}, "columns"), ("ce", {}, "classes"), ("nll_loss", {"eps": 0.1}, "classes"),
    ("pearsonr", {}, "columns"), ("pearsonr", {"average": "micro"}, "numbers"),
    ("loss", {}, "columns"), ("torch", {}, "numbers"), ("caffe", {}, "numbers")]


def name_of(case: tuple[str, dict[str, Any], str]) -> str:
    name, params, kind = case
    return " ".join([name, *(f"{key}={value}" for key, value in params.items()), kind])


def batches(mx: Any, kind: str) -> Iterator[tuple[Any, Any]]:
    drawn = np.random.RandomState(5)
    for rows in (6, 5, 7):
        if kind in ("classes", "two"):
            classes = 2 if kind == "two" else 4
            found = drawn.rand(rows, classes)
            found /= found.sum(axis=1, keepdims=True)
            yield mx.nd.array(drawn.randint(0, classes, rows)), mx.nd.array(found)
        else:
            shape = (rows, 1) if kind == "columns" else (rows,)
            yield mx.nd.array(drawn.randn(*shape)), mx.nd.array(drawn.randn(*shape))


def run(mx: Any, case: tuple[str, dict[str, Any], str]) -> list[Any]:
    """What the metric says after each of three batches; the local part is reset before the last."""
    name, params, kind = case
    metric = mx.metric.create(name, **params)
    said = []
    for i, (label, pred) in enumerate(batches(mx, kind)):
        if i == 2:
            metric.reset_local()
        metric.update([label], [pred])
        said.append([metric.get()[0], float(metric.get()[1]), float(metric.get_global()[1]),
                     float(metric.num_inst), float(metric.global_num_inst)])
    config = metric.get_config()
    metric.reset()
    return [*said, sorted(map(str, config.items())), str(metric)]
