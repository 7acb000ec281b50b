"""test_utils: what passes, what raises and which numbers are drawn, as MXNet 1.9.1 does it."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt import config
from ndarray_rt.errors import MissingPackage, TypeMismatch
from ndarray_rt.test_utils import statistics, tolerances

tu = mx.test_utils
ONES = np.ones((2, 3), np.float32)
A, B = mx.sym.Variable("a"), mx.sym.Variable("b")


@pytest.mark.parametrize(("a", "b", "more", "passes"), [
    (ONES, ONES + 1e-3, {}, True),
    (ONES, ONES + 1.3e-3, {}, False),
    (ONES.astype("f8"), ONES.astype("f8") + 2e-5, {}, False),
    (ONES.astype("f8"), ONES.astype("f8") + 5e-6, {}, True),
    (ONES.astype("f8"), ONES + 5e-4, {}, True),  # the tolerance of the less precise one
    (ONES.astype("f2"), ONES + 5e-2, {}, True),
    (np.array([1, 2]), np.array([1, 3]), {}, False),
    (np.array([1, 2]), np.array([1, 2]), {}, True),
    (mx.nd.array(ONES), ONES, {}, True),
    (mx.nd.array(ONES), mx.nd.array(2 * ONES), {}, False),
    (np.array([np.nan]), np.array([np.nan]), {}, False),
    (np.array([np.nan]), np.array([np.nan]), {"equal_nan": True}, True),
    (np.array([np.inf]), np.array([np.inf]), {}, True),
    (np.ones((2, 3)), np.ones(3), {}, True),
    (np.ones((2, 3)), np.ones(3), {"use_broadcast": False}, False),
    (1.0, 1.0, {}, True),
    (ONES, ONES * 1.05, {"rtol": {np.dtype("float32"): 0.1}, "atol": 0}, True),
    (np.array([True]), np.array([False]), {}, False)])
def test_assert_almost_equal(a: Any, b: Any, more: dict[str, Any], passes: bool) -> None:
    if passes:
        tu.assert_almost_equal(a, b, **more)
        return
    with pytest.raises(AssertionError):
        tu.assert_almost_equal(a, b, **more)


def test_a_failure_names_the_worst_element() -> None:
    b = ONES.copy()
    b[1, 2], b[0, 1] = 1.5, 1.2
    with pytest.raises(AssertionError, match=r"\(1, 2\), got=1.0+, want=1.5") as error:
        tu.assert_almost_equal(ONES, b, names=("got", "want"))
    assert "33.333" in str(error.value)
    assert "(0, 1): got=1.0" in str(error.value)


def test_shapes_that_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        tu.assert_almost_equal(np.ones((2, 3)), np.ones(4))


def test_the_other_comparisons() -> None:
    assert tu.almost_equal(np.ones(3), np.ones(3) + 1e-6)
    assert not tu.almost_equal(np.ones(3), np.ones(3) + 1e-4)
    assert tu.same(mx.nd.array(ONES), ONES)
    assert not tu.same(ONES, ONES + 1)
    tu.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([2, 1.0]))
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_ignore_nan(np.array([np.nan, 1]), np.array([2, 2.0]))
    tu.assert_allclose(np.array([np.nan, 1]), np.array([np.nan, 1]))
    worse = np.r_[np.ones(9), 2]
    tu.assert_almost_equal_with_err(np.ones(10), worse, etol=0.2)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_with_err(np.ones(10), worse)
    with pytest.raises(AssertionError):
        tu.assert_almost_equal_with_err(np.ones(10), np.r_[np.ones(7), 2, 2, 2], etol=0.2)
    assert tu.find_max_violation(ONES, ONES + np.float32(1), 0.0, 0.5) == ((0, 0), 2.0)
    tu.compare_ndarray_tuple((ONES, (None, ONES)), (mx.nd.array(ONES), (ONES, ONES)))
    with pytest.raises(AssertionError):
        tu.compare_ndarray_tuple((ONES, (ONES,)), (ONES, (ONES + 1,)))


def test_assert_exception() -> None:
    tu.assert_exception(int, ValueError, "x")
    with pytest.raises(AssertionError, match="did not raise"):
        tu.assert_exception(int, ValueError, "3")
    with pytest.raises(ValueError, match="invalid literal"):
        tu.assert_exception(int, KeyError, "x")


def test_same_array_sees_views_and_changes_nothing() -> None:
    x = mx.nd.array([0.1, 1e9])
    before = x.asnumpy()
    assert tu.same_array(x, x.reshape((1, 2))[0])
    assert not tu.same_array(x, x.copy())
    assert x.asnumpy().tobytes() == before.tobytes()


def test_one_seed_gives_mxnets_numbers() -> None:
    """The same draws in the same order from numpy's generator as MXNet 1.9.1."""
    np.random.seed(3)
    assert tu.rand_shape_2d() == (9, 10)
    assert tu.rand_shape_3d(3, 4, 5) == (1, 1, 1)
    assert tu.rand_shape_nd(4) == (6, 4, 10, 10)
    assert tu.rand_coord_2d(0, 5, 5, 9) == (2, 6)
    one, two = tu.random_arrays((2,), (1, 2))
    np.testing.assert_allclose(np.r_[one, two[0]],
                               [-0.08274148, -0.6270007, -0.04381817, -0.477218], rtol=1e-6)
    assert tu.random_arrays(()).shape == ()
    assert tu.random_arrays((2,)).dtype == np.float32
    assert tu.random_uniform_arrays((2,), low=-1)[0].min() >= -1
    assert sorted(tu.random_sample([1, 2, 3, 4], 4)) == [1, 2, 3, 4]
    assert tu.rand_ndarray((2, 2), dtype="float64").dtype == np.float64


def test_sparse_arrays_are_refused() -> None:
    for make in (tu.rand_ndarray, tu.rand_sparse_ndarray):
        with pytest.raises(mx.MXNetError, match="storage type 'csr' does not exist"):
            make((2, 2), "csr")
    with pytest.raises(mx.MXNetError, match="row_sparse"):
        tu.check_numeric_gradient(A * B, [ONES, ONES], grad_stype_dict={"a": "row_sparse"})


def test_helpers_on_numpy_arrays() -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    assert (tu.np_reduce(x, (0, 2), True, np.sum) == x.sum((0, 2), keepdims=True)).all()
    assert (tu.np_reduce(x, 1, False, np.max) == x.max(1)).all()
    assert tu.np_reduce(x, None, False, np.sum) == x.sum()
    assert (tu.collapse_sum_like(x, (3, 1)) == x.sum((0, 2)).reshape(3, 1)).all()
    with pytest.raises(AssertionError, match="broadcast"):
        tu.collapse_sum_like(x, (2, 4))
    assert tu.create_2d_tensor(3, 2).asnumpy().tolist() == [[0, 0], [1, 1], [2, 2]]
    assert tu.create_vector(3).dtype == np.int64
    assert (tu.assign_each(ONES, lambda v: v * 2) == 2).all()
    assert (tu.assign_each2(ONES, ONES, lambda v, w: v + w) == 2).all()


def test_default_tolerances() -> None:
    assert (tu.get_rtol(), tu.get_atol(), tu.get_etol(), tu.get_rtol(0.5)) == (1e-5, 1e-20, 0, 0.5)
    assert tu.default_rtols()[np.dtype("float16")] == 1e-2
    assert tu.default_atols()[np.dtype("int64")] == 0
    assert sorted(tu.default_numeric_eps().values()) == [2.0**-14, 2.0**-9, 2.0**-6]
    assert tu.default_dtype() is np.float32
    assert tolerances.get_tolerance(ONES, None, tu.default_rtols()) == 1e-4


def test_check_symbolic_forward() -> None:
    made = tu.check_symbolic_forward(A * B, [ONES * 2, ONES * 3], [ONES * 6])
    assert len(made) == 1
    product = A * B
    tu.check_symbolic_forward(product, {"a": ONES, "b": ONES}, {product.list_outputs()[0]: ONES})
    with pytest.raises(AssertionError, match="FORWARD_"):
        tu.check_symbolic_forward(A * B, [ONES * 2, ONES * 3], [ONES * 7])
    with pytest.raises(ValueError, match="do not match"):
        tu.check_symbolic_forward(A * B, {"a": ONES}, [ONES])
    with pytest.raises(AssertionError, match="location"):
        tu.check_symbolic_forward(A * B, 3, [ONES])
    whole = np.array([[1, 2]], np.int32)
    out, = tu.check_symbolic_forward(A + B, [whole, whole], [2 * whole], dtype="asnumpy")
    assert out.dtype == np.int32


def test_check_symbolic_backward() -> None:
    values, grads = [ONES * 2, ONES * 3], [ONES * 3, ONES * 2]
    for request in ("write", "add", ["write", "add"], {"a": "add", "b": "write"}):
        made = tu.check_symbolic_backward(A * B, values, [ONES], grads, grad_req=request)
        assert sorted(made) == ["a", "b"]
        with pytest.raises(AssertionError, match="BACKWARD_b"):
            tu.check_symbolic_backward(A * B, values, [ONES], [ONES * 3, ONES * 3],
                                       grad_req=request)
    # 'null': the gradient array must not be touched, whatever is expected
    tu.check_symbolic_backward(A * B, values, [ONES], [ONES * 3, ONES * 9],
                               grad_req=["write", "null"])
    with pytest.raises(AssertionError, match="dtype"):
        tu.check_symbolic_backward(A * B, values, [ONES], grads, dtype=np.int32)
    # arguments keep their own dtypes, and what is expected may come in another
    halves = [mx.nd.array(value, dtype="float16") for value in values]
    made = tu.check_symbolic_backward(A * B, halves, [ONES.astype("float16")],
                                      [grad.astype("float64") for grad in grads], dtype="asnumpy")
    assert {grad.dtype.name for grad in made.values()} == {"float16"}


def test_check_numeric_gradient() -> None:
    small = [ONES * 0.3, ONES * 0.5]
    tu.check_numeric_gradient(mx.sym.tanh(A) * B, small)
    tu.check_numeric_gradient(mx.sym.tanh(A) * B, small, numeric_eps=1e-4, rtol=1e-4, atol=1e-4,
                              dtype=np.float64)
    tu.check_numeric_gradient(A * B, small, grad_nodes={"a": "add", "b": "write"})
    wrong = mx.sym.BlockGrad(A) * B
    with pytest.raises(AssertionError, match="NUMERICAL_a"):
        tu.check_numeric_gradient(wrong, small)
    tu.check_numeric_gradient(wrong, small, grad_nodes=["b"])
    with pytest.raises(AssertionError, match="too small"):
        tu.check_numeric_gradient(A * B, small, numeric_eps=1e-7)
    with pytest.raises(ValueError, match="grad_nodes"):
        tu.check_numeric_gradient(A * B, small, grad_nodes=3)


def test_check_numeric_gradient_with_aux_states() -> None:
    rng = np.random.default_rng(0)
    symbol = mx.sym.BatchNorm(mx.sym.Variable("x"), fix_gamma=False, name="bn")
    tu.check_numeric_gradient(
        symbol, [rng.normal(size=(4, 3)), np.ones(3), np.zeros(3)],
        aux_states=[np.zeros(3), np.ones(3)], numeric_eps=1e-4, rtol=1e-3, atol=1e-4,
        dtype=np.float64)


def conv_contexts(dtypes: Iterable[type]) -> list[dict[str, Any]]:
    return [{"ctx": mx.cpu(), "c_data": (2, 2, 6, 6),
             "type_dict": dict.fromkeys(("c_data", "c_weight", "c_bias"), d)} for d in dtypes]


def test_check_consistency() -> None:
    conv = mx.sym.Convolution(num_filter=3, kernel=(3, 3), name="c")
    contexts = conv_contexts((np.float64, np.float32))
    truth = tu.check_consistency(conv, contexts)
    assert sorted(truth) == ["c_bias", "c_data", "c_output", "c_weight"]
    assert truth["c_output"].dtype == np.float64
    tu.check_consistency(conv, contexts, grad_req="add")
    tu.check_consistency(conv, contexts, grad_req="null", use_uniform=True)
    with pytest.raises(AssertionError, match="at least two"):
        tu.check_consistency(conv, contexts[:1])


def test_check_consistency_sees_a_difference(capsys: pytest.CaptureFixture[str]) -> None:
    both = [{"ctx": mx.cpu(), "a": (2, 2)}] * 2
    pair = [mx.sym.exp(A, name="n"), mx.sym.sin(A, name="n")]
    with pytest.raises(AssertionError, match="n_output of context 1"):
        tu.check_consistency(pair, both)
    tu.check_consistency(pair, both, raise_on_err=False)
    assert "n_output of context 1" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="inference"):
        tu.check_consistency([pair[0]] * 2, both, ground_truth={"n_output": np.zeros((2, 2))})


def test_running_a_symbol() -> None:
    assert (tu.simple_forward(A * B, a=ONES, b=ONES * 2) == 2).all()
    assert tu.check_speed(A * B, ctx=mx.cpu(), a=(2, 2), b=(2, 2), N=2) > 0
    assert tu.check_speed(A * B, location={"a": ONES, "b": ONES}, N=2, typ="forward") > 0
    with pytest.raises(ValueError, match="typ"):
        tu.check_speed(A * B, location={"a": ONES, "b": ONES}, typ="x")


def test_same_symbol_structure() -> None:
    assert tu.same_symbol_structure(A * B, B * A)
    assert not tu.same_symbol_structure(A * B, A + B)


def test_environment_comes_back_and_reaches_the_switches() -> None:
    assert config.NDRT_ONEDNN
    with tu.environment("NDRT_ONEDNN", "0"):
        assert os.environ["NDRT_ONEDNN"] == "0"
        assert not config.NDRT_ONEDNN
    assert config.NDRT_ONEDNN
    assert "NDRT_ONEDNN" not in os.environ
    with tu.environment({"NDRT_TEST_X": "1", "NDRT_TEST_Y": None}):
        with tu.EnvManager("NDRT_TEST_X", "2"):
            assert os.environ["NDRT_TEST_X"] == "2"
        assert os.environ["NDRT_TEST_X"] == "1"
    assert "NDRT_TEST_X" not in os.environ
    with pytest.raises(ValueError, match="NDRT_TRACE"), tu.environment("NDRT_TRACE", "perhaps"):
        pass
    assert "NDRT_TRACE" not in os.environ
    assert tu.set_env_var("NDRT_TEST_X", "1", "none") == "none"
    assert tu.set_env_var("NDRT_TEST_X", "2") == "1"
    config.set_variable("NDRT_TEST_X", None)
    with pytest.raises(AssertionError, match="name and a value"):
        tu.environment("NDRT_TEST_X")


def test_override_outlives_environment() -> None:
    """A switch that was overridden has its own value again afterwards."""
    with config.override(NDRT_CACHE_SHAPES=7):
        with tu.environment("NDRT_CACHE_SHAPES", "9"):
            assert config.NDRT_CACHE_SHAPES == 9
        assert config.NDRT_CACHE_SHAPES == 7


def test_retry() -> None:
    calls = []

    @tu.retry(3)
    def flaky() -> None:
        calls.append(1)
        assert len(calls) == 3

    flaky()
    assert len(calls) == 3
    with pytest.raises(AssertionError):
        tu.retry(2)(lambda: tu.assert_almost_equal(1.0, 2.0))()
    with pytest.raises(AssertionError, match="0 attempts"):
        tu.retry(0)


def test_where_tests_run(capfd: pytest.CaptureFixture[str]) -> None:
    assert tu.default_context() == mx.cpu()
    tu.set_default_context(mx.cpu(1))
    try:
        assert tu.default_context() == mx.nd.zeros((1,)).ctx == mx.cpu(1)
        tu.set_default_context(mx.gpu(0))
        assert tu.default_context() == mx.gpu(0)
        with pytest.raises(mx.MXNetError, match="CPUs only"):
            mx.nd.zeros((1,))
    finally:
        tu.set_default_context(mx.cpu(0))
    assert list(tu.list_gpus()) == []
    assert tu.is_op_runnable()
    assert tu.assert_raises_cudnn_not_satisfied(min_version="5.1.10")(test_retry) is test_retry
    with capfd.disabled(), tu.discard_stderr():
        print("lost", file=sys.__stderr__)


def test_moments_of_generators() -> None:
    rng = np.random.default_rng(1)
    assert tu.mean_check(lambda n: rng.normal(0, 1, n), 0, 1, 10000)
    assert not tu.mean_check(lambda n: rng.normal(1, 1, n), 0, 1, 10000)
    assert not tu.var_check(lambda n: rng.normal(0, 2, n), 1, 10000)
    assert tu.normal_check(lambda n: mx.nd.array(rng.normal(2, 3, n)), 2, 3, 10000)
    assert not tu.normal_check(lambda n: rng.normal(2, 3, n), 2, 1, 10000)


def test_chi_square() -> None:
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda q: 2 * q - 1, 4)
    assert buckets == [(-1.0, -0.5), (-0.5, 0.0), (0.0, 0.5), (0.5, 1.0)]
    assert probs == [0.25] * 4


def chi2_sf(x: float, degrees: int) -> float:
    """The chance of a larger chi-square, in closed form for 2 and 3 degrees of freedom."""
    if degrees == 2:
        return math.exp(-x / 2)
    assert degrees == 3
    return math.erfc(math.sqrt(x / 2)) + math.sqrt(2 * x / math.pi) * math.exp(-x / 2)


def test_chi_square_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one function of scipy's that is used written out, for scipy is an extra."""
    monkeypatch.setattr(statistics, "_stats", lambda: SimpleNamespace(
        chi2=SimpleNamespace(sf=chi2_sf)))
    buckets, probs = tu.gen_buckets_probs_with_ppf(lambda q: 2 * q - 1, 4)
    rng = np.random.default_rng(2)
    p, seen, wanted = tu.chi_square_check(lambda n: rng.uniform(-1, 1, n), buckets, probs, 10000)
    assert p > 1e-4
    assert seen.sum() == wanted.sum() == 10000
    # edges belong to the bucket that they begin, the last one to the last
    _, seen, _ = tu.chi_square_check(lambda n: mx.nd.array([-1, -0.5, 0, 0.5, 1, 5]), buckets,
                                     probs, 6)
    assert seen.tolist() == [1, 1, 1, 2]
    found = tu.verify_generator(lambda n: rng.integers(0, 3, n), [0, 1, 2], [1 / 3] * 3, 10000)
    assert len(found) == 5
    with pytest.raises(AssertionError, match="does not follow"):
        tu.verify_generator(lambda n: rng.uniform(-1, 0.9, n), buckets, probs, 10000)
    with pytest.raises(AssertionError, match="ascending"):
        tu.chi_square_check(lambda n: rng.uniform(-1, 1, n), buckets[::-1], probs, 10)


def test_chi_square_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.setitem(sys.modules, "scipy.stats", None)
    with pytest.raises(MissingPackage, match=r"ndarray_rt\[stats\]"):
        tu.chi_square_check(lambda n: np.zeros(n), [0, 1], [0.5, 0.5], 10)


def test_all_names_are_there() -> None:
    assert set(tu.__all__) <= set(dir(tu))
    assert "test_utils" in dir(mx)


@pytest.mark.parametrize("wrong", [None, "relu", ONES, mx.nd.ones((2,))])
@pytest.mark.parametrize("call", [
    lambda s: tu.check_symbolic_forward(s, [ONES], [ONES]),
    lambda s: tu.check_symbolic_backward(s, [ONES], [ONES], [ONES]),
    lambda s: tu.check_numeric_gradient(s, [ONES]),
    lambda s: tu.check_consistency(s, [{"ctx": mx.cpu(), "a": (2, 3)}] * 2),
    lambda s: tu.check_speed(s, a=(2, 3)),
    lambda s: tu.simple_forward(s, a=ONES),
    lambda s: tu.same_symbol_structure(A, s)])
def test_what_is_no_symbol_is_named(call: Any, wrong: Any) -> None:
    with pytest.raises(TypeMismatch, match="sym must be a Symbol, got"):
        call(wrong)
