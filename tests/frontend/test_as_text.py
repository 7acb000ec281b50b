"""Text of arrays: NumPy's, and no more elements are read than are written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ndarray_rt import nd
from ndarray_rt._array import as_text


def text_of(plain: np.ndarray[Any, Any]) -> str:
    return f"\n{plain!s}\n<NDArray {'x'.join(map(str, plain.shape))} @cpu(0)>"


@given(shape=st.lists(st.integers(0, 14), max_size=4), edge=st.integers(1, 4),
       threshold=st.integers(0, 60), seed=st.integers(0, 99),
       dtype=st.sampled_from(["float32", "int32", "float16", "uint8", "float64"]))
def test_text_is_numpys(shape: list[int], edge: int, threshold: int, seed: int,
                        dtype: str) -> None:
    plain = (np.random.default_rng(seed).standard_normal(shape) * 100).astype(dtype)
    x = nd.array(plain, dtype=dtype)
    with np.printoptions(edgeitems=edge, threshold=threshold):
        assert str(x) == repr(x) == text_of(plain.reshape(x.shape))


@pytest.mark.parametrize("tag", ["acdb", "aBcd16b", "aBcd8b", "ABcd16b16a", "dcab", "ABcd8b16a2b"])
@pytest.mark.parametrize("shape", [(3, 20, 9, 9), (40, 33, 3, 8), (17, 17, 17, 1)])
def test_text_of_other_layouts(shape: tuple[int, ...], tag: str) -> None:
    plain = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
    x = nd.array(plain).to_mkldnn(tag)
    layout = x.layout
    assert str(x) == text_of(plain)
    assert x.layout == layout != "default"


def test_text_of_views_and_reused_memory() -> None:
    plain = np.arange(6 * 2000, dtype=np.float32).reshape(6, 2000)
    x = nd.array(plain)
    assert str(x[2:5]) == text_of(plain[2:5])
    assert str(x[3]) == text_of(plain[3])
    assert str(x.reshape((2000, 6))) == text_of(plain.reshape(2000, 6))
    blocked = nd.array(plain.reshape(3, 16, 10, 25)).to_mkldnn("aBcd16b")
    assert str(blocked[1]) == text_of(plain.reshape(3, 16, 10, 25)[1])


@pytest.mark.parametrize("tag", [None, "aBcd16b"])
def test_little_is_read_of_a_large_array(tag: str | None,
                                         monkeypatch: pytest.MonkeyPatch) -> None:
    x = nd.zeros((64, 16, 100, 100))
    if tag:
        x = x.to_mkldnn(tag)
    taken: list[int] = []
    corners = as_text._corners

    def watched(*args: Any) -> Any:
        made = corners(*args)
        taken.append(made.nbytes)
        return made
    monkeypatch.setattr(as_text, "_corners", watched)
    monkeypatch.setattr(as_text, "asnumpy", lambda x: pytest.fail("the whole array was converted"))
    str(x)
    assert taken == [7 ** 4 * 4]


def test_html() -> None:
    html = nd.array([[1.5, 2], [3, 4]])._repr_html_()
    assert html.count("<td>") == 4
    assert "<td>1.5</td>" in html
    assert "NDArray 2x2 @cpu(0)" in html
    large = nd.zeros((2000, 3000))._repr_html_()
    assert large.count("<tr>") == 7
    assert large.count("<td>") == 49
    assert large.count("…") == 13
    assert nd.zeros((5000,))._repr_html_().count("<td>") == 7
    assert nd.zeros((2, 3, 4))._repr_html_().startswith("<pre>")
    assert "&lt;" not in nd.zeros((0,))._repr_html_().split("<p>")[0]
