"""What counts as the same value where values are keys: -0.0 is not 0.0, NaN is itself."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt import config, nd, sym
from ndarray_rt.imperative import call
from ndarray_rt.op.elementwise import PostOp
from ndarray_rt.op.params import Params
from ndarray_rt.op.prim_cache import CACHE
from ndarray_rt.op.registry import find
from ndarray_rt.ops.fused.post_ops import chain_text, parse_chain
from ndarray_rt.value_key import float_key, same_value, value_key

NAN = math.nan
SHAPE = (2, 3)


def parsed(op: str, **attrs: Any) -> Params:
    return find(op).params.parse(attrs, op)


def bits(value: float) -> bytes:
    return struct.pack("d", value)


@given(st.floats(), st.floats())
def test_floats_are_the_same_to_the_bit_and_nan_is_nan(a: float, b: float) -> None:
    same = bits(a) == bits(b) or (a != a and b != b)
    assert (float_key(a) == float_key(b)) == same
    assert same_value((1, a), (1, b)) == same
    if same:
        assert hash(value_key((a, (2.0,)))) == hash(value_key((b, (2.0,))))


@given(st.floats(), st.floats())
def test_params_are_the_same_where_their_numbers_are(a: float, b: float) -> None:
    same = bits(a) == bits(b) or (a != a and b != b)
    one, other = parsed("_mul_scalar", scalar=a), parsed("_mul_scalar", scalar=b)
    assert (one == other) == same
    assert len({one: 1, other: 2}) == 2 - same


def test_numbers_inside_of_a_tuple_too() -> None:
    one = parsed("multi_sgd_update", lrs=(0.0,), wds=(NAN,), num_weights=1)
    assert one == parsed("multi_sgd_update", lrs=(0.0,), wds=(-NAN,), num_weights=1)
    assert one != parsed("multi_sgd_update", lrs=(-0.0,), wds=(NAN,), num_weights=1)


def test_attributes_keep_a_negative_zero() -> None:
    made = parsed("clip", a_min=-0.0, a_max=1.0)
    assert find("clip").params.parse(made.to_attrs(), "clip") == made
    shifted = parsed("smooth_l1", scalar=-0.0)
    assert shifted.to_attrs() == {"scalar": "-0.0"}
    # 0.0 is the default of beta
    assert parsed("Dropout", p=0.0).to_attrs() == {"p": "0.0"}
    assert parsed("_contrib_quadratic", a=-0.0).to_attrs() == {"a": "-0.0"}
    assert parsed("_contrib_quadratic", a=0.0).to_attrs() == {}


def test_a_graph_keeps_a_negative_zero_over_json() -> None:
    y = sym.contrib.quadratic(sym.var("x"), a=-0.0)
    loaded = sym.load_json(y.tojson())
    assert loaded.attr_dict() == y.attr_dict()
    assert "-0.0" in y.tojson()


def test_chains_keep_a_negative_zero() -> None:
    for chain in ((PostOp("linear", -0.0, 0.0),), (PostOp("linear", 0.0, -0.0),)):
        assert same_value(parse_chain(chain_text(chain)), chain)


FORMS: list[Callable[[Any, float], Any]] = [
    lambda x, s: x * s, lambda x, s: x + s, lambda x, s: x - s, lambda x, s: s - x,
    lambda x, s: nd.maximum(x, s), lambda x, s: nd.minimum(x, s),
    lambda x, s: nd.clip(x, s, 1.0), lambda x, s: nd.clip(x, -1.0, s),
    lambda x, s: nd.LeakyReLU(x, act_type="leaky", slope=s),
    lambda x, s: nd.LeakyReLU(x, act_type="elu", slope=s),
    lambda x, s: nd.hard_sigmoid(x, alpha=1.0, beta=s),
    lambda x, s: nd.linalg.gemm2(x, x, alpha=s, transpose_b=True),
]


@pytest.mark.parametrize("shape", [SHAPE, (2, 0x4000)], ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zeros_of_both_signs_are_apart(form: Callable[[Any, float], Any], first: float,
                                       shape: tuple[int, ...]) -> None:
    """What a call with one zero leaves behind does not serve the other one."""
    rng = np.random.default_rng(3)
    x = nd.array(rng.choice([-2.0, -0.0, 0.0, 1.5], shape).astype("float32"))
    wanted = {}
    for s in (0.0, -0.0):
        mx.clear_cache()
        wanted[bits(s)] = form(x, s).asnumpy()
    mx.clear_cache()
    for s in (first, -first) * 4:
        got = form(x, s).asnumpy()
        np.testing.assert_array_equal(np.signbit(got), np.signbit(wanted[bits(s)]))
        np.testing.assert_array_equal(got, wanted[bits(s)])


def test_the_quotient_by_zeros_of_both_signs() -> None:
    x = nd.ones(SHAPE)
    for _ in range(4):
        assert (1 / (x * -0.0)).asnumpy().max() == -math.inf
        assert (1 / (x * 0.0)).asnumpy().min() == math.inf


@pytest.mark.parametrize("off", ["", "merge_equal_nodes", "all"])
def test_nodes_with_zeros_of_both_signs_stay_two(off: str) -> None:
    with config.override(NDRT_SKIP_PASSES=off):
        check_two_zeros()


def check_two_zeros() -> None:
    x = sym.var("x")
    y = sym.Group([1 / (x * 0.0), 1 / (x * -0.0), sym.broadcast_maximum(x, x) * -0.0])
    ex = y.simple_bind(mx.cpu(), x=SHAPE, grad_req="null")
    for _ in range(3):
        above, below, zero = ex.forward(is_train=False, x=nd.ones(SHAPE))
        assert above.asnumpy().min() == math.inf
        assert below.asnumpy().max() == -math.inf
        assert np.signbit(zero.asnumpy()).all()


def test_a_fused_product_keeps_the_sign_of_its_zero() -> None:
    x = sym.var("x")
    for y in (sym.relu(x) * -2.0, -sym.relu(x), sym.relu(x) / -2.0, sym.relu(x) * -0.0):
        ex = y.simple_bind(mx.cpu(), x=SHAPE, grad_req="null")
        for _ in range(3):
            got, = ex.forward(is_train=False, x=nd.zeros(SHAPE))
            assert np.signbit(got.asnumpy()).all()


def test_a_maximum_with_negative_zero_is_no_relu() -> None:
    y = sym.maximum(sym.FullyConnected(sym.var("x"), num_hidden=4, name="fc"), -0.0)
    ex = y.simple_bind(mx.cpu(), x=SHAPE, grad_req="null")
    ex.arg_dict["fc_bias"][:] = -1
    got, = ex.forward(is_train=False)
    assert np.signbit(got.asnumpy()).all()


def test_nan_is_found_again() -> None:
    x = nd.ones((5, 7))

    def run() -> None:
        nd.LeakyReLU(x, act_type="elu", slope=NAN).wait_to_read()
        x.copy() * NAN
    for _ in range(4):
        run()
    entries, made = CACHE.stats()["entries"], len(call._params.made) + len(call._facts.made)
    for _ in range(20):
        run()
    assert CACHE.stats()["entries"] == entries
    assert len(call._params.made) + len(call._facts.made) == made


def test_whole_numbers_truth_and_floats_are_apart() -> None:
    x = nd.array([3, -4], dtype="int32")
    for _ in range(4):
        for number in (1, True, 1.0):
            made = x * number
            assert made.dtype == np.dtype("int32")
            np.testing.assert_array_equal(made.asnumpy(), [3, -4])
        assert (x.astype("float32") * True).asnumpy().tolist() == [3.0, -4.0]
