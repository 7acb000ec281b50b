"""Parameters from strings of files: plain ones are read without Python's compiler, to the same."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ndarray_rt.errors import ParameterError
from ndarray_rt.op.params import Params, axes, integer, params_class, parse_shape


@params_class
class Given(Params):
    kernel: tuple[int, ...] | None = axes(None, doc="a window")
    count: int = integer(1, low=0, doc="how many")


def by_compiler(text: str) -> tuple[int, ...]:
    value = ast.literal_eval(text.replace("L", "").strip())
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(-3, 1 << 62), min_size=1, max_size=5), st.sampled_from(("", "L")),
       st.sampled_from(("()", "[]")), st.text(" \t", max_size=2), st.booleans())
def test_equals_the_compiler(numbers: list[int], mark: str, ends: str, blank: str,
                             comma: bool) -> None:
    inside = f"{mark},{blank}".join(map(str, numbers)) + mark + "," * comma
    text = f"{blank}{ends[0]}{blank}{inside}{blank}{ends[1]}"
    assert parse_shape(text) == tuple(numbers) == by_compiler(text)


@pytest.mark.parametrize(("text", "kernel"), [
    ("()", ()), ("(3)", (3,)), ("3", (3,)), (" (3, ) ", (3,)), ("(0, 00)", (0, 0)), ("None", None),
    ("(1_0, 0x2)", (10, 2))])
def test_rare_spellings(text: str, kernel: tuple[int, ...] | None) -> None:
    assert Given.parse({"kernel": text}, "an operator").kernel == kernel


@pytest.mark.parametrize("text", ["(,)", "(1,,2)", "(1 2)", "(1, 2", "(01, 2)", "(1, a)", "(²,)",
                                  "(1, '2)", "", "(" + "9" * 5000 + ",)"])
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="kernel"):
        Given.parse({"kernel": text}, "an operator")


@pytest.mark.parametrize("text", ["007", "²", "٣", "9" * 30, "9" * 5000, "-1", "1.5"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="count"):
        Given.parse({"count": text}, "an operator")
