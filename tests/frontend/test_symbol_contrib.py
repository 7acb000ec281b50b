"""sym.contrib's functions that are written by hand: AdamW, and masks, which no graph can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.errors import MXNetError

WEIGHT, GRAD, MEAN, VAR = [1.0, 2.0], [3.0, 4.0], [0.1, 0.2], [0.3, 0.4]
PARAMS: dict[str, Any] = {"lr": 0.125, "eta": 0.5, "wd": 0.25, "beta1": 0.5}


def variables(*names: str) -> list[Any]:
    return [mx.sym.Variable(name) for name in names]


def bound(symbol: Any, dtype: str = "float32", **more: Any) -> Any:
    args = {"weight": mx.nd.array(WEIGHT, dtype=dtype), "grad": mx.nd.array(GRAD, dtype=dtype)}
    states = {"mean": mx.nd.array(MEAN), "var": mx.nd.array(VAR),
              "weight32": mx.nd.array(WEIGHT)}
    return symbol.bind(mx.cpu(), {**args, **more},
                       aux_states={n: states[n] for n in symbol.list_auxiliary_states()})


@pytest.mark.parametrize("as_symbol", [True, False])
def test_adamw(as_symbol: bool) -> None:
    inputs = variables("weight", "grad", "mean", "var")
    scale = mx.sym.Variable("scale") if as_symbol else 0.5
    step = mx.sym.contrib.adamw_update(*inputs, rescale_grad=scale, **PARAMS)
    assert step.list_auxiliary_states() == ["mean", "var"]
    given: dict[str, Any] = {"scale": mx.nd.array([0.5])} if as_symbol else {}
    executor = bound(step, **given)
    mean, var = mx.nd.array(MEAN), mx.nd.array(VAR)
    want = mx.nd.contrib.adamw_update(mx.nd.array(WEIGHT), mx.nd.array(GRAD), mean, var, 0.5,
                                      **PARAMS)
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), want.asnumpy())
    np.testing.assert_array_equal(executor.aux_dict["mean"].asnumpy(), mean.asnumpy())
    np.testing.assert_array_equal(executor.aux_dict["var"].asnumpy(), var.asnumpy())


def test_adamw_of_a_master_copy() -> None:
    inputs = variables("weight", "grad", "mean", "var", "weight32")
    step = mx.sym.contrib.mp_adamw_update(*inputs, 0.5, name="step", **PARAMS)
    assert step.list_outputs() == ["step_output"]
    executor = bound(step, "float16")
    mean, var, master = mx.nd.array(MEAN), mx.nd.array(VAR), mx.nd.array(WEIGHT)
    want = mx.nd.contrib.mp_adamw_update(
        mx.nd.array(WEIGHT, dtype="float16"), mx.nd.array(GRAD, dtype="float16"), mean, var,
        master, 0.5, **PARAMS)
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), want.asnumpy())
    np.testing.assert_array_equal(executor.aux_dict["weight32"].asnumpy(), master.asnumpy())


def test_a_mask_has_no_shape() -> None:
    with pytest.raises(MXNetError, match="boolean_mask: its shape follows from the values"):
        mx.sym.contrib.boolean_mask(*variables("data", "index"))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_gradient_arrays_of_another_dtype(dtype: str) -> None:
    symbol = mx.sym.Variable("x") * 2
    with pytest.raises(TypeError, match=r"args_grad\['x'\] has dtype .* expected float32"):
        symbol.bind(mx.cpu(), {"x": mx.nd.ones((3,))},
                    args_grad={"x": mx.nd.ones((3,), dtype=dtype)})
