"""contrib.quantization: inputs and labels of symbols that are quantized."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib import quantization
from tests.data.make_mxnet_quantization import parameters, samples, simple


@pytest.mark.parametrize("label_names", [None, ("softmax_label",), ("other",)])
@pytest.mark.filterwarnings("ignore:You created Module")
@pytest.mark.filterwarnings("ignore:Data provided by label_shapes")
def test_labels_may_come_that_nobody_reads(label_names: Any) -> None:
    symbol = simple(mx)
    args, aux = parameters(mx, symbol)
    labelled = mx.io.NDArrayIter(samples(8), np.zeros(8), batch_size=4)
    made = quantization.quantize_model(symbol, args, aux, label_names=label_names,
                                       calib_mode="naive", calib_data=labelled)
    want = quantization.quantize_model(
        symbol, args, aux, label_names=None, calib_mode="naive",
        calib_data=mx.io.NDArrayIter(samples(8), batch_size=4))
    assert made[0].tojson() == want[0].tojson()


def test_inputs_that_are_not_named() -> None:
    symbol = mx.sym.SoftmaxOutput(simple(mx), name="softmax")
    args, aux = parameters(mx, simple(mx))
    with pytest.raises(mx.errors.NameMismatch, match=(
            r"argument 'softmax_label' of sym is neither in arg_params nor in data_names \(data\) "
            r"and label_names \(none\)")):
        quantization.quantize_model(
            symbol, args, aux, label_names=None, calib_mode="naive",
            calib_data=mx.io.NDArrayIter(samples(8), batch_size=4))
