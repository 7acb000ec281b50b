"""A wrong number of inputs or outputs is refused at once, before anything is made of it."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ndarray_rt as mx
from ndarray_rt.errors import NameMismatch, ParameterError
from ndarray_rt.op.params import MAX_COUNT

nd, sym = mx.nd, mx.sym
ROOT = Path(mx.__file__).parents[1]
X = nd.ones((2,))

PROGRAM = """
import ndarray_rt as mx
nd, sym = mx.nd, mx.sym
x, v = nd.ones((2,)), sym.Variable("v")
text = sym.concat(v, sym.Variable("w"), dim=0).tojson()
sliced = sym.split(v, num_outputs=2).tojson()
for number in (2**18 + 1, 30_000_000, 9_999_999_999, 2**63 - 1, 10**30, -1):
    for make in (
            lambda n: sym.load_json(text.replace('"num_args": "2"', f'"num_args": "{n}"')),
            lambda n: sym.load_json(sliced.replace('"num_outputs": "2"', f'"num_outputs": "{n}"')),
            lambda n: nd.concat(x, x, num_args=n), lambda n: nd.add_n(x, x, num_args=n),
            lambda n: nd.concat(arg0=x, arg1=x, num_args=n),
            lambda n: nd.amp_multicast(x, num_outputs=n), lambda n: nd.split(x, num_outputs=n),
            lambda n: sym.concat(v, num_args=n), lambda n: sym.add_n(v, num_args=n),
            lambda n: sym.amp_multicast(v, num_outputs=n), lambda n: sym.split(v, num_outputs=n)):
        try:
            make(number)
        except mx.MXNetError as error:
            assert type(error).__name__ in ("ParameterError", "ModelFormatError"), error
            assert "expected an int of at least 1 and at most" in str(error), error
        else:
            raise AssertionError(number)
print("all refused")
"""


def test_a_wrong_number_takes_no_memory() -> None:
    """In a process that may have 4 GiB of addresses: names of so many inputs would take more."""
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    made = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True,
                          check=False, preexec_fn=limited, timeout=60)
    assert made.stdout.strip() == "all refused", made.stderr


@pytest.mark.parametrize("make", [
    lambda: nd.concat(X, X, num_args=5), lambda: nd.add_n(X, num_args=MAX_COUNT),
    lambda: nd.concat(arg0=X, arg1=X, num_args=MAX_COUNT),
    lambda: nd.concat(arg0=X, other=X), lambda: sym.concat(*map(sym.Variable, "abc"), num_args=2)])
def test_counts_are_compared(make: Callable[[], Any]) -> None:
    with pytest.raises(NameMismatch):
        make()


def test_a_file_with_a_wrong_count() -> None:
    text = sym.concat(sym.Variable("a"), sym.Variable("b"), name="c").tojson()
    wrong = text.replace('"num_args": "2"', f'"num_args": "{MAX_COUNT}"')
    with pytest.raises(ParameterError, match=rf'"c" \(Concat\) has 2 inputs, expected {MAX_COUNT}'):
        sym.load_json(wrong)


def test_inputs_that_are_left_out_become_variables() -> None:
    """As in MXNet."""
    assert sym.concat(sym.Variable("a"), num_args=3, name="c").list_arguments() == [
        "a", "c_arg1", "c_arg2"]


@pytest.mark.parametrize("value", [2**63, -2**63 - 1, "9" * 30, 1e30, 10**5000],
                         ids=["above", "below", "text", "float", "digits"])
def test_ints_beyond_64_bits(value: Any) -> None:
    for name, wanted in (("axis", "an int"), ("axes", "a tuple of ints")):
        op = "expand_dims" if name == "axis" else "transpose"
        with pytest.raises(ParameterError, match=f"parameter {name!r} got .*expected {wanted}"):
            getattr(nd, op)(X, **{name: value})


def test_outputs_too_large_to_be_counted() -> None:
    with pytest.raises(mx.MXNetError, match="more elements than an array can have"):
        nd.op._eye(N=1 << 40, M=1 << 40)
