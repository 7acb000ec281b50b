"""check_operator and check_gradient: right code passes, each planted fault is found."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import op
from ndarray_rt.errors import NameMismatch, TypeMismatch
from ndarray_rt.testing import Case, Input, Report, check_gradient, check_operator

from . import faults
from .faults import SHAPE, operator, right_ex, softsquare


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    yield
    faults.KEPT.clear()
    gc.collect()


def check(made: op.OpDef, **facts: Any) -> Report:
    return check_operator(made, [SHAPE], reference=softsquare, **facts)


def test_a_right_operator_passes_everywhere() -> None:
    report = check(operator(compute_ex=right_ex, inplace={0: 0}), native=True)
    assert report.executed == sum(report.by_runtime.values())
    assert report.by_runtime["numpy"] > 50
    assert report.by_runtime["native"] > 100
    assert report.by_runtime["executor"] > 15
    assert report.skipped == {
        **dict.fromkeys([("backward", "numpy"), ("backward", "native")],
                        "the gradient is made of forward operators alone"),
        ("gradient of gradient", "numpy"): "no backward operator with a gradient"}
    assert "forward on native: " in str(report)
    assert "square_under_test" not in op.registry.REGISTRY


def test_a_registered_operator_by_name_and_as_a_case() -> None:
    report = check_operator("Activation", [Input((2, 3), kind="away")], {"act_type": "relu"})
    again = check_operator(Case("Activation", {"act_type": "relu"}, [Input((2, 3), kind="away")]))
    assert report.by_runtime == again.by_runtime
    with pytest.raises(TypeMismatch, match="a Case has inputs"):
        check_operator(Case("Activation", {"act_type": "relu"}, [(2, 3)]), [(2, 3)])


def test_aux_states_and_training() -> None:
    report = check_operator(
        "BatchNorm", [(2, 3, 2, 2), (3,), (3,)], {"fix_gamma": False},
        aux=[(3,), Input((3,), kind="positive")], is_train=True, dtypes=("float32",))
    assert report.by_runtime["native"] > 100


@pytest.mark.parametrize(("made", "found"), [
    (operator(faults.wrong_number), r"worst at \(1, 19, 1, 2\)"),
    (operator(compute_ex=faults.wrong_number_in_blocks), r"special.*worst at \(0, 0, 0, 0\)"),
    (operator(faults.changes_input), "input 0 was changed"),
    (operator(faults.ignores_request), "kAddTo.*differ"),
    (operator(compute_ex=faults.dirties_padding), "bytes of the padding"),
    (operator(gradient=faults.wrong_slope), "gradient of data along element"),
    (operator(faults.leaks), "bytes more are live than before"),
], ids=["wrong number", "wrong in blocks", "changed input", "ignored request", "dirty padding",
        "wrong gradient", "leak"])
def test_finds_a_fault_of_an_operator(made: op.OpDef, found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check(made)


def test_finds_a_silent_fallback() -> None:
    def refused(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        raise op.Unsupported("never")
    with pytest.raises(AssertionError, match="fell back to numpy: never"):
        check(operator(compute_ex=refused), native=True)


def test_an_operator_that_raises_is_named() -> None:
    def raising(ctx: Any, p: Any, ins: Any, outs: Any) -> None:
        raise ZeroDivisionError("of a kind")
    made = operator(raising, gradient=None, no_gradient="none")
    with pytest.raises(AssertionError, match=made.name) as found:
        check(made)
    assert re.search(r"\[plain -> \w+, kWriteTo\] ZeroDivisionError: of a kind", str(found.value))
    assert isinstance(found.value.__cause__, ZeroDivisionError)


def test_another_operator_of_the_name_is_refused() -> None:
    with pytest.raises(NameMismatch, match="another operator 'relu'"):
        check_operator(op.OpDef("relu", op.NoParams, inputs=("data",), infer_shape=op.same_shape,
                                infer_type=op.same_type, compute=faults.right), [SHAPE])


# ---- functions --------------------------------------------------------------------------------


@pytest.mark.parametrize("reference", [softsquare, None])
def test_a_right_function_passes(reference: Any) -> None:
    report = check_operator(faults.square, [SHAPE], reference=reference)
    assert report.by_runtime["float64"] > 10
    assert report.by_runtime["numpy"] > 20
    assert report.by_runtime["native"] > 20


def test_functions_of_several_inputs_outputs_and_dtypes() -> None:
    def both(x: Any, w: Any, i: Any) -> list[Any]:
        return [mx.nd.dot(x, w), mx.nd.broadcast_mul(w, i.astype(w.dtype))]
    report = check_operator(both, [(3, 4), (4, 5), Input((1, 5), dtype="int32")],
                            reference=lambda x, w, i: (x @ w, w * i))
    assert report.skipped == {}


def test_a_grouped_weight_reaches_a_function() -> None:
    def convolve(x: Any, w: Any) -> Any:
        met.append((w.layout, w.is_special and w._chunk.mkl_mem.ndims))
        return mx.nd.Convolution(x, w, kernel=(1, 1), num_filter=4, num_group=2, no_bias=True)
    met: list[Any] = []
    check_operator(convolve, [(1, 4, 2, 2), Input((4, 2, 1, 1), weight_groups=2)])
    assert any(ndims == 5 for _, ndims in met)


@pytest.mark.parametrize(("function", "found"), [
    (lambda x: x * x * 1.001, "native|plain.*worst at"),
    (faults.square_of_default_only, "special.*worst at"),
    (faults.square_in_place, "input 0 was changed"),
    (faults.square_that_keeps, "bytes more are live than before"),
    (lambda x: faults.BadSquare()(x), "gradient of input 0 along element"),
    (lambda x: faults.SquareWithLostChannel()(x), "special.*gradient of input 0"),
], ids=["wrong number", "wrong when special", "changed input", "leak", "wrong gradient",
        "wrong gradient when special"])
def test_finds_a_fault_of_a_function(function: Callable[..., Any], found: str) -> None:
    with pytest.raises(AssertionError, match=found):
        check_operator(function, [SHAPE], reference=softsquare)


def test_bad_arguments_get_clear_errors() -> None:
    with pytest.raises(TypeMismatch, match="got int, expected the name of an operator"):
        check_operator(3, [SHAPE])  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="no params"):
        check_operator(faults.square, [SHAPE], {"a": 1})
    with pytest.raises(TypeMismatch, match="output 0 is a int, expected an NDArray"):
        check_operator(lambda x: 3, [SHAPE])


# ---- check_gradient ---------------------------------------------------------------------------


def test_right_gradients_pass() -> None:
    x, y = mx.sym.Variable("x"), mx.sym.Variable("y")
    for what in (lambda a, b: mx.nd.tanh(a) * b, mx.sym.tanh(x) * y, "broadcast_mul"):
        assert check_gradient(what, [(2, 3), (2, 3)]).executed == 18
    made = operator()
    assert check_gradient(made, [(2, 3)]).executed == 9
    assert check_gradient("FullyConnected", [(2, 3), (4, 3), (4,)], {"num_hidden": 4},
                          no_grad={"bias"}).executed == 9 + 15
    i = np.array([1, 2], np.int32)
    assert check_gradient(lambda x, i: x * i.astype(x.dtype), [(2,), i]).executed == 5


def test_an_unused_input_has_gradient_zero() -> None:
    assert check_gradient(lambda a, b: a * 2, [(2,), (2,)]).executed == 10
    with pytest.raises(AssertionError, match="gradient of input 1"):
        check_gradient(lambda a, b: a * mx.nd.BlockGrad(b), [(2,), (2,)])


def test_wrong_gradients_are_found() -> None:
    with pytest.raises(AssertionError, match=r"gradient of input 0 along element \(0, 0\)"):
        check_gradient(lambda x: faults.BadSquare()(x), [(2, 3)])
    with pytest.raises(AssertionError, match="gradient of data along element"):
        check_gradient(operator(gradient=faults.wrong_slope), [(2, 3)])
    with pytest.raises(AssertionError, match="gradient of x along"):
        check_gradient(mx.sym.BlockGrad(mx.sym.Variable("x")), [(2, 3)])
