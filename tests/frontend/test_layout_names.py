"""Layouts are accepted under every name that they are shown by."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndarray_rt import nd
from ndarray_rt.errors import ParameterError, TypeMismatch
from ndarray_rt.storage.desc import plain_tag

BLOCKED = {3: ["aBc16b", "aBc8b", "Abc16a", "ABc16b16a"],
           4: ["aBcd16b", "aBcd8b", "aBcd4b", "Abcd16a", "ABcd16b16a", "ABcd16a16b", "ABcd8b8a",
               "BAcd16a16b", "Acdb16a", "ABcd8b16a2b"],
           5: ["aBcde16b", "aBcde8b", "Abcde16a", "ABcde16b16a", "aBCde16c16b", "Acdeb16a"]}
TAGS = {rank: ["".join(p) for p in permutations("abcde"[:rank])] + tags
        for rank, tags in BLOCKED.items()}


@given(data=st.data(), rank=st.integers(3, 5))
def test_what_is_shown_is_accepted(data: st.DataObject, rank: int) -> None:
    shape = tuple(data.draw(st.lists(st.sampled_from([1, 2, 3, 5, 16, 17]), min_size=rank,
                                     max_size=rank)))
    tag = data.draw(st.sampled_from(TAGS[rank]))
    x = nd.array(np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
    shown = x.to_mkldnn(tag)
    again = x.to_mkldnn(shown.layout)
    assert again.layout == shown.layout
    np.testing.assert_array_equal(again.asnumpy(), x.asnumpy())
    x.reorder(shown.layout)
    assert x.layout == shown.layout


@pytest.mark.parametrize(("name", "rank", "tag"), [
    ("ncw", 3, "abc"), ("nwc", 3, "acb"), ("nCw16c", 3, "aBc16b"), ("oiw", 3, "abc"),
    ("nchw", 4, "abcd"), ("nhwc", 4, "acdb"), ("nChw16c", 4, "aBcd16b"),
    ("OIhw16i16o", 4, "ABcd16b16a"), ("hwio", 4, "cdba"), ("ndhwc", 5, "acdeb"),
    ("gOIhw16i16o", 5, "aBCde16c16b"), ("Goihw16g", 5, "Abcde16a"), ("aBcd16b", 4, "aBcd16b"),
    ("nhwc", 3, "nhwc"), ("nonsense", 4, "nonsense")])
def test_names_of_tags(name: str, rank: int, tag: str) -> None:
    assert plain_tag(name, rank) == tag


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4, 5)])
def test_default_is_a_layout_of_every_array(shape: tuple[int, ...], dtype: str) -> None:
    x = nd.ones(shape, dtype=dtype)
    assert x.to_mkldnn(x.layout) is x
    x.reorder(x.layout)
    assert x.layout == "default"
    if dtype == "float32" and len(shape) == 4:
        blocked = x.to_mkldnn("nChw8c")
        assert blocked.to_mkldnn("default").layout == "default"
        assert blocked.layout == "nChw8c"


def test_other_names_are_refused() -> None:
    x = nd.ones((1, 2, 3, 4))
    for name in ("nhcwx", "ncw", "nChw7c", ""):
        with pytest.raises(ParameterError, match="layout"):
            x.to_mkldnn(name)
    with pytest.raises(TypeMismatch, match="layout got 3"):
        x.to_mkldnn(3)  # type: ignore[arg-type]
