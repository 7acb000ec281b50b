"""Patterns as `re` has them where both agree, in linear time."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndarray_rt.onnx import load
from ndarray_rt.onnx.pattern import Pattern

from .helpers import model_of

ATOMS = st.sampled_from(("a", "b", ".", "[ab]", "[^a]", r"\w", r"\b", "^", "$", r"\.", "[b-c_]",
                         "(?i:A)", "[]a]", r"[\d.-]", r"\x61", "c", ""))
PATTERNS = st.recursive(ATOMS, lambda inner: st.one_of(
    st.lists(inner, min_size=1, max_size=3).map("".join),
    st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
    st.tuples(inner, st.sampled_from(("*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "{0}"))).map(
        lambda pair: f"(?:{pair[0]}){pair[1]}")), max_leaves=6)


@given(PATTERNS, st.lists(st.text("abcA_1. ", max_size=6), min_size=5, max_size=5))
def test_as_re_has_them(pattern: str, texts: list[str]) -> None:
    made, wanted = Pattern(pattern), re.compile(pattern, re.ASCII)
    for text in texts:
        assert made.matches(text) == (wanted.fullmatch(text) is not None), (pattern, text)


@pytest.mark.parametrize(("pattern", "text", "wanted"), [
    (r"www\.[\w.-]+\.\bcom\b", "www.google.com", True), ("[[:alpha:]]+[[:digit:]]*", "ab12", True),
    ("[^[:space:]]+", "a b", False), ("(?P<name>a)b", "ab", True), ("(?i)aB", "Ab", True),
    ("(?s).", "\n", True), (".", "\n", False), (r"\d", "\u0663", False), ("a$", "a\n", False),
    (r"\Aab\z", "ab", True), ("(?m)a$\n^b", "a\nb", True), ("", "", True), ("a||b", "", True),
    ("(?:a(?i)b|c)C", "aBC", True), ("(?:a(?i)b|c)C", "aBc", False)])
def test_what_re2_has(pattern: str, text: str, wanted: bool) -> None:
    assert Pattern(pattern).matches(text) == wanted


@pytest.mark.parametrize("pattern", ["(a", "a)", "[a", "*a", "a**", "a{2,1}", "a{1001}", r"\1",
                                     "(?=a)", "(?<=a)b", "a++", r"[\l]", "\\", "((a{99}){99}){99}",
                                     "(" * 101 + ")" * 101, r"\x6"])
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match="the pattern"):
        Pattern(pattern)


def test_ways_are_not_tried_one_by_one() -> None:
    model = load(model_of('g (string[N] x) => (bool[N] y) {'
                          ' y = RegexFullMatch<pattern = "(a+)+(a|a)*b">(x) }', 20))
    found = model(np.array(["a" * 500, "a" * 500 + "b"], object))[0]
    assert found.tolist() == [False, True]
