"""VGG, GoogLeNet and ResNet train as NumPy computes them, layer by layer."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from benchmarks.layers import __main__ as layers
from ndarray_rt import config

Values = np.ndarray[Any, np.dtype[Any]]
# (batch, size of images): little, but enough for statistics of a batch in the last layers
SIZES = {"vgg11": (1, 32), "googlenet": (1, 224), "resnet18_v1": (4, 64)}


@pytest.mark.parametrize(("model", "in_layouts"), [
    *((model, True) for model in SIZES), ("resnet18_v1", False)])
def test_each_layer_equals_numpys(model: str, in_layouts: bool) -> None:
    """Every call of a step, forward, backward and update, is done in NumPy too, on what it was
    given, and raises where the results differ; the second step has settled layouts."""
    mx.random.seed(1)
    with config.override(NDRT_TRAINING_LAYOUTS=in_layouts):
        step = layers.Step(model, *SIZES[model])
        step()
        with config.override(NDRT_VALIDATE=True):
            step()
    special = {array.is_mkldnn for one in step.update.trained for array in one.arrays}
    assert special == ({True, False} if in_layouts else {False})


def outputs_of(step: layers.Step) -> dict[str, Values]:
    """What each layer gives, forward and backward, and the weights after the update."""
    found: dict[str, Values] = {}
    step.executor.set_monitor_callback(
        lambda name, array: found.__setitem__(name, array.asnumpy()))
    step()
    step.executor.set_monitor_callback(None)
    weights = {f"new {one.name}": one.weight.asnumpy() for one in step.update.trained}
    return {**found, **weights}


@pytest.mark.parametrize("model", ["vgg11", "resnet18_v1"])
def test_the_layers_of_a_whole_step_equal_numpys(model: str) -> None:
    """Each by the norm of the difference, which grows from layer to layer."""
    made = []
    for native in (True, False):
        mx.random.seed(1)
        with config.override(NDRT_ONEDNN=native):
            made.append(outputs_of(layers.Step(model, *SIZES[model])))
    got, want = made
    assert got.keys() == want.keys()
    assert len(got) > 40
    for name, expected in want.items():
        norm = np.linalg.norm(expected)
        assert np.linalg.norm(got[name] - expected) <= 1e-3 * norm + 1e-6, name


def test_the_benchmark_prints_a_row_a_layer(capsys: pytest.CaptureFixture[str]) -> None:
    layers.main(["--models", "resnet18_v1", "--batch", "1", "--steps", "2", "--numpy"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    convolutions = [row for row in rows if re.match(r"\| resnet\w*conv\d+_fwd ", row)]
    assert len(convolutions) == 20
    for row in (*convolutions, rows[-1]):
        times = [float(cell) for cell in row.split(" | ")[1:7]]
        assert all(ms > 0 for ms in times), row
        assert float(row.split(" | ")[7].rstrip(" |")) > 0
    assert rows[-1].startswith("| all |")
