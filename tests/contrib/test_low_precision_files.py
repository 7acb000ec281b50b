"""Quantized and bfloat16 models come back from their files as they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.contrib import amp, quantization
from ndarray_rt.io import NDArrayIter

SAMPLES = np.random.default_rng(0).standard_normal((8, 3, 8, 8)).astype(np.float32)


def network() -> tuple[Any, Any, Any]:
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(8, 3, in_channels=3, use_bias=False),
            mx.gluon.nn.BatchNorm(in_channels=8), mx.gluon.nn.Activation("relu"),
            mx.gluon.nn.MaxPool2D(), mx.gluon.nn.Conv2D(8, 3, in_channels=8),
            mx.gluon.nn.Flatten(), mx.gluon.nn.Dense(5, in_units=8))
    net.initialize(mx.init.Xavier())
    symbol = net(mx.sym.var("data"))
    params = {param.name: param.data() for param in net.collect_params().values()}
    states = symbol.list_auxiliary_states()
    return (symbol, {name: x for name, x in params.items() if name not in states},
            {name: params[name] for name in states})


def outputs(symbol: Any, args: Any, aux: Any) -> Any:
    types = {name: x.dtype for name, x in args.items()}
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", type_dict=types, data=SAMPLES.shape)
    executor.copy_params_from(args, aux, allow_extra_params=True)
    return executor.forward(data=mx.nd.array(SAMPLES))[0].astype("float32").asnumpy()


def come_back(folder: Path, made: tuple[Any, Any, Any]) -> None:
    """Bit for bit, with the same dtypes, and as near to the network on floats as before."""
    want = outputs(*made)
    prefix = str(folder / "small")
    mx.model.save_checkpoint(prefix, 3, *made, remove_amp_cast=False)
    symbol, args, aux = mx.model.load_checkpoint(prefix, 3)
    assert symbol.tojson(remove_amp_cast=False) == made[0].tojson(remove_amp_cast=False)
    used = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    assert {name: x.dtype for name, x in {**args, **aux}.items()} == {
        name: x.dtype for name, x in {**made[1], **made[2]}.items() if name in used or name in args}
    np.testing.assert_array_equal(outputs(symbol, args, aux), want)
    block = mx.gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["data"], f"{prefix}-0003.params")
    got = block(mx.nd.array(SAMPLES)).astype("float32").asnumpy()
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("mode", ["none", "naive"])
@pytest.mark.parametrize("dtype", ["int8", "auto"])
def test_quantized(tmp_path: Path, fused: bool, mode: str, dtype: str) -> None:
    made = network()
    make = quantization.quantize_model_mkldnn if fused else quantization.quantize_model
    quantized = make(*made, label_names=None, calib_mode=mode, quantized_dtype=dtype,
                     calib_data=NDArrayIter(SAMPLES, batch_size=4))
    assert np.abs(outputs(*quantized) - outputs(*made)).max() < 0.2 * np.abs(outputs(*made)).max()
    come_back(tmp_path, quantized)


@pytest.mark.parametrize("casts_params", [True, False])
def test_bfloat16(tmp_path: Path, casts_params: bool) -> None:
    made = network()
    low = amp.convert_model(*made, target_dtype="bfloat16", cast_optional_params=casts_params)
    if casts_params:
        assert "bfloat16" in {str(x.dtype) for x in low[1].values()}
    np.testing.assert_allclose(outputs(*low), outputs(*made), rtol=0.1, atol=0.05)
    come_back(tmp_path, low)
