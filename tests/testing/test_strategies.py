"""The strategies reach what they are there to reach: counted, not hoped for."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ndarray_rt as mx
from ndarray_rt._array.req import Req
from ndarray_rt.errors import ParameterError
from ndarray_rt.storage.desc import MemDesc
from ndarray_rt.testing import (
    Known,
    graphs,
    kinds,
    kinds_of,
    layouts,
    layouts_of,
    ndarrays,
    requests,
    shapes,
)
from ndarray_rt.testing.memory_layouts import FAMILIES, family_of


def drawn(strategy: st.SearchStrategy[Any], look: Callable[[Any], None], n: int = 400) -> None:
    """Looks at `n` examples, the same ones at each run."""
    settings(max_examples=n, derandomize=True, database=None, deadline=None)(
        given(strategy)(lambda value: look(value)))()


def test_shapes_reach_every_rank_and_odd_channels() -> None:
    met: Counter[Any] = Counter()

    def look(shape: tuple[int, ...]) -> None:
        assert int(np.prod(shape)) <= 4096
        met[len(shape)] += 1
        met["zero"] += 0 in shape
        met["twenty"] += len(shape) > 1 and shape[1] == 20
        met["three"] += len(shape) > 1 and shape[1] == 3
    drawn(shapes(max_rank=12, zero=True), look)
    assert all(met[rank] for rank in range(13)), met
    assert min(met["zero"], met["twenty"], met["three"]) > 3, met
    small: set[int] = set()
    drawn(shapes(min_rank=2, max_rank=2, max_elements=9),
          lambda shape: small.update({len(shape), *shape}), 50)
    assert small <= set(range(1, 10))
    with pytest.raises(ParameterError, match="ranks from 3 to 2"):
        shapes(min_rank=3, max_rank=2)


@pytest.mark.parametrize("shape", [(8, 20, 3, 3), (2, 16, 5), (32, 8, 1, 2, 2)])
def test_layouts_reach_every_family(shape: tuple[int, ...]) -> None:
    met: Counter[str] = Counter()
    seen: set[MemDesc] = set()

    def look(desc: MemDesc) -> None:
        assert desc.nelems == np.prod(shape)
        assert desc.dtype_name == "float32"
        family = family_of(desc, shape)
        met[family] += 1
        met["grouped and padded"] += family == "grouped" and desc.is_padded
        assert (desc.ndims == len(shape) + 1) == (family == "grouped")
        assert family != "padded" or desc.nbytes > 4 * desc.nelems
        seen.add(desc)
    drawn(layouts(shape), look)
    # Hypothesis tries no choice twice, and there is only so much to choose
    assert all(met[family] for family in FAMILIES), met
    assert met["grouped and padded"]
    listed = set(layouts_of(shape))
    assert len(listed & seen) > 0.9 * len(listed)


def test_layouts_of_a_strategy_of_shapes_and_of_some_families() -> None:
    met: Counter[Any] = Counter()

    def look(desc: MemDesc) -> None:
        met[desc.is_padded, len(desc.dims)] += 1
        assert desc.is_padded
    drawn(layouts(shapes(min_rank=2, max_rank=4), "int8", ["padded"]), look, 100)
    assert len(met) == 3, met
    with pytest.raises(ParameterError, match=r"has none of the families blocked"):
        layouts((3,), families=["blocked"])
    with pytest.raises(ParameterError, match="families got 'special'"):
        layouts((3,), families=["special"])
    assert layouts_of((4, 3), "float64") == layouts_of((4, 3), "float64", ["default"])
    assert layouts_of((2, 3), "int64") == []


def test_kinds_and_requests() -> None:
    met: Counter[Any] = Counter()
    drawn(kinds((2, 20, 3, 3)), lambda kind: met.update([kind]))
    assert set(met) == set(kinds_of((2, 20, 3, 3)))
    assert {kind.split(":")[0] for kind in met} >= {
        "plain", "view", "reshaped", "reused", "pinned", "special", "grouped", "view_special"}
    met.clear()
    drawn(kinds(), lambda kind: met.update([kind]), 100)
    assert not any(":" in kind and "special" in kind for kind in met)
    met.clear()
    drawn(requests(), lambda req: met.update([req]), 100)
    drawn(requests(gradients=True), lambda req: met.update([req]), 100)
    assert set(met) == {*Req, "null", "write", "add"}


def test_arrays_are_of_every_kind_and_hold_what_they_say() -> None:
    met: Counter[str] = Counter()

    def look(known: Known) -> None:
        array, chunk = known.array, known.array._chunk
        desc = chunk.mkl_mem
        met["view"] += array.is_view
        met["special"] += desc is not None
        met["padded"] += desc is not None and desc.is_padded
        met["grouped"] += desc is not None and not array.is_view and desc.ndims > array.ndim
        met["view of special"] += array.is_view and desc is not None
        met["reused"] += array._reuse
        met["pinned"] += bool(chunk.pins)
        met["rank 0"] += array.ndim == 0
        met["no elements"] += array.size == 0
        met[array.dtype.name] += 1
        assert array.dtype == known.expected.dtype
        known.assert_unchanged()
        with known:
            assert array.asnumpy().tobytes() == known.expected.tobytes()
        if known.kind == "pinned":
            assert not chunk.pins
    drawn(ndarrays(shapes(zero=True)), look, 2000)
    for what in ("view", "special", "padded", "grouped", "view of special", "reused", "pinned",
                 "rank 0", "no elements", "float16", "float64", "bool", "int64", "uint8"):
        assert met[what] >= 5, (what, met)


def test_arrays_of_some_kinds_and_contents() -> None:
    def look(known: Known) -> None:
        assert known.kind in ("special:acdb", "special:aBcd16b", "special:aBcd8b",
                              "special:ABcd16b16a")
        assert known.array.is_special
        assert (np.abs(known.expected) >= 0.1).all()
    drawn(ndarrays((2, 20, 3, 3), "float32", ["special"], kind="away"), look, 50)
    with pytest.raises(ParameterError, match=r"of none of the kinds special; it can be: plain"):
        drawn(ndarrays((3,), "float64", ["special"]), lambda known: None, 1)


def test_pins_end_with_the_object() -> None:
    chunks = []
    drawn(ndarrays((2, 3), "float32", ["pinned"]), lambda known: chunks.append(known.array._chunk),
          10)
    gc.collect()
    assert [chunk.pins for chunk in chunks] == [0] * len(chunks)


def test_a_changed_array_is_found() -> None:
    def look(known: Known) -> None:
        known.array[:] = 2
        with pytest.raises(AssertionError, match="expected"):
            known.assert_unchanged()
    drawn(ndarrays((2, 3), "float32"), look, 30)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_an_operator_on_drawn_arrays(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    with data.draw(ndarrays(shape, "float32")) as a, data.draw(ndarrays(shape, "float32")) as b:
        got = (a.array + b.array).asnumpy()
        np.testing.assert_array_equal(got, a.expected + b.expected)
        out = data.draw(ndarrays(shape, "float32"))
        mx.nd.elemwise_mul(a.array, b.array, out=out.array)
        np.testing.assert_array_equal(out.array.asnumpy(), a.expected * b.expected)
        a.assert_unchanged()
        b.assert_unchanged()


@pytest.mark.parametrize("call", [
    lambda: shapes(min_rank="1"), lambda: shapes(max_rank=None),  # type: ignore[arg-type]
    lambda: shapes(max_elements="many"), lambda: layouts(3.5),  # type: ignore[arg-type]
    lambda: layouts((2, "a")), lambda: layouts((2, 3), "no dtype"),
    lambda: layouts((2, 3), families="default"), lambda: kinds("ab"),  # type: ignore[arg-type]
    lambda: kinds((2, 3), object()), lambda: ndarrays(2.5), lambda: ndarrays((2, 3), object()),
    lambda: ndarrays((2, 3), kinds="view"), lambda: graphs("many"),  # type: ignore[arg-type]
    lambda: graphs(0)])
def test_arguments_of_a_wrong_type_are_refused_at_once(call: Callable[[], object]) -> None:
    with pytest.raises(mx.MXNetError, match=r"got|shape|dtype"):
        call()
