"""Layout descriptors: interned, counted, described rightly."""

from __future__ import annotations

import gc
import threading

import pytest

from ndarray_rt.errors import ParameterError, Unsupported
from ndarray_rt.native import ffi, lib
from tests.native.helpers import F32, Desc, desc


def count() -> int:
    gc.collect()
    return int(lib.ndrt_desc_count())


def test_equal_layouts_are_one_pointer_with_one_id() -> None:
    a, b = desc((2, 3, 4)), desc((2, 3, 4))
    assert a.ptr == b.ptr
    assert desc((2, 3, 4), "abc").ptr == a.ptr
    assert desc((2, 3, 4), strides=(12, 4, 1)).ptr == a.ptr
    assert desc((2, 3, 4), "acb").info.id != a.info.id
    assert desc((2, 3, 4), dtype=lib.NDRT_S32).info.id != a.info.id


def test_ids_are_not_used_again() -> None:
    first = desc((17, 19, 23)).info.id
    assert count() >= 0  # drains
    assert desc((17, 19, 23)).info.id > first


def test_count_returns() -> None:
    before = count()
    kept = [desc((n, 5), strides=(7, 1)) for n in range(2, 1002)]
    kept += [desc((n, 5), strides=(7, 1)) for n in range(2, 1002)]
    assert count() == before + 1000
    del kept
    assert count() == before


def test_count_returns_with_many_threads() -> None:
    before = count()

    def work() -> None:
        for n in range(300):
            kept = [desc((n + 1, 1, 7), strides=(9, 5, 1)), desc((n + 1, 3)), desc((4, 1, n + 1))]
            kept.append(kept[0].permuted(2, 0, 1))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert count() == before


@pytest.mark.parametrize(("channels", "padded"), [(3, 16), (16, 16), (20, 32)])
def test_blocked(channels: int, padded: int) -> None:
    d = desc((2, channels, 5, 5), "aBcd16b")
    assert d.info.nbytes == 2 * padded * 25 * 4
    assert d.info.nelems == 2 * channels * 25
    assert d.list("padded_dims") == [2, padded, 5, 5]
    assert bool(d.info.is_padded) == (channels != padded)
    assert not d.info.is_default
    assert d.info.format == lib.NDRT_FORMAT_BLOCKED
    assert d.list("inner_blks", 1) == [16]
    assert d.list("inner_idxs", 1) == [1]
    assert d.info.same_as == d.info.id


def test_grouped_weights() -> None:
    d = desc((4, 8, 16, 3, 3), "aBCde16c16b")
    assert d.info.ndims == 5
    assert d.info.inner_nblks == 2
    assert d.list("padded_dims") == [4, 16, 16, 3, 3]
    assert d.list("inner_blks", 2) == [16, 16]
    assert d.list("inner_idxs", 2) == [2, 1]


@pytest.mark.parametrize(
    ("dims", "strides", "default"),
    [
        ((2, 3), (3, 1), True),
        ((2, 3), (1, 2), False),
        ((2, 3), (4, 1), False),
        ((1, 3), (99, 1), True),
        ((3, 1), (1, 99), True),
        ((2, 1, 3), (3, 1, 1), True),
        ((1, 1, 1), (7, 8, 9), True),
        ((0, 3), (3, 1), True),
        ((2, 0, 3), (1, 1, 2), True),
        ((2, 3), (0, 1), False),
    ],
)
def test_default(dims: tuple[int, ...], strides: tuple[int, ...], default: bool) -> None:
    d = desc(dims, strides=strides)
    assert bool(d.info.is_default) == default
    assert (d.info.same_as == desc(dims).info.same_as) == default
    assert not d.info.is_padded


def test_same_as_joins_layouts_of_the_same_bytes() -> None:
    nhwc = desc((1, 8, 5, 6), "acdb")
    assert nhwc.info.same_as == nhwc.info.id, "the natural strides are the ordered ones"
    assert desc((1, 8, 5, 6), strides=(1, 1, 48, 8)).info.same_as == nhwc.info.id
    assert desc((1, 8, 5, 6)).info.same_as != nhwc.info.id
    one_channel = desc((4, 1, 5, 6), "acdb")
    assert one_channel.info.same_as == desc((4, 1, 5, 6)).info.id
    assert one_channel.info.is_default


def test_any_has_no_bytes() -> None:
    d = desc((2, 3), "any")
    assert d.info.format == lib.NDRT_FORMAT_ANY
    assert d.info.nbytes == 0
    assert not d.info.is_default


def test_every_plain_order_is_a_tag() -> None:
    d = desc((2, 3, 4, 5), "dbca")
    assert d.list("strides") == [1, 8, 2, 24]
    assert desc((2, 3, 4, 5), "abcd").info.is_default


def test_tags_that_are_none() -> None:
    with pytest.raises(ParameterError, match='no layout is called "nchw"'):
        desc((1, 2, 3, 4), "nchw")
    with pytest.raises(ParameterError, match='"aBcd16b" does not fit 3 dims'):
        desc((1, 2, 3), "aBcd16b")
    with pytest.raises(ParameterError):
        desc((1, 2, 3), "ab")


@pytest.mark.parametrize("dims", [(), (1,) * 13, (2, -1), (1 << 40, 1 << 40)])
def test_bad_dims(dims: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError):
        desc(dims)


def test_bad_dtype_and_strides() -> None:
    with pytest.raises(ParameterError, match="dtype 99"):
        desc((1,), dtype=99)
    with pytest.raises(ParameterError, match="below 0"):
        desc((2, 3), strides=(-3, 1))


def test_permuted_is_numpys_transpose() -> None:
    d = desc((2, 3, 4)).permuted(2, 0, 1)
    assert d.list("dims") == [4, 2, 3]
    assert d.list("strides") == [1, 12, 4]
    blocked = desc((2, 20, 5), "aBc16b").permuted(1, 2, 0)
    assert blocked.list("dims") == [20, 5, 2]
    assert blocked.list("padded_dims") == [32, 5, 2]
    with pytest.raises(ParameterError, match="no permutation"):
        desc((2, 3)).permuted(0, 0)


@pytest.mark.parametrize(
    ("dims", "strides", "new", "expected"),
    [
        ((2, 3, 4), None, (6, 4), (4, 1)),
        ((2, 3, 4), None, (2, 1, 12), (12, 12, 1)),
        ((6, 4), (8, 1), (2, 3, 4), (24, 8, 1)),
        ((6, 4), (8, 1), (6, 2, 2), (8, 2, 1)),
        ((6, 4), (8, 1), (24,), None),
        ((4, 6), (1, 4), (2, 2, 6), (2, 1, 4)),
        ((1, 6), (77, 2), (2, 3), (6, 2)),
        ((5, 1), (3, 1), (5,), (3,)),
        ((1, 1), (7, 9), (1, 1, 1), None),
        ((0, 3), None, (3, 0, 5), None),
    ],
)
def test_reshaped(dims, strides, new, expected) -> None:  # type: ignore[no-untyped-def]
    d = desc(dims, strides=strides)
    if expected is None and 0 not in dims and dims != (1, 1):
        with pytest.raises(Unsupported):
            d.reshaped(*new)
        return
    r = d.reshaped(*new)
    assert r.list("dims") == list(new)
    if expected is None:
        assert r.info.is_default
    else:
        same = desc(new, strides=expected)
        assert r.info.same_as == same.info.same_as


def test_reshaped_keeps_blocks_or_refuses() -> None:
    blocked = desc((2, 32, 5, 5), "aBcd16b")
    with pytest.raises(Unsupported):
        blocked.reshaped(2, 32 * 25)
    assert blocked.reshaped(2, 32, 5, 5).ptr == blocked.ptr
    with pytest.raises(ParameterError, match="1600 elements can not become 1599"):
        blocked.reshaped(1599)


def test_free_of_null_and_read_of_null() -> None:
    lib.ndrt_desc_free(ffi.NULL)
    assert lib.ndrt_desc_read(ffi.NULL) == ffi.NULL


def test_each_call_gives_one_reference() -> None:
    before = count()
    out = ffi.new("ndrt_desc **")
    for _ in range(3):
        assert lib.ndrt_desc_strided(F32, 1, [12345], ffi.NULL, out) == lib.NDRT_OK
    kept = Desc(out[0])
    lib.ndrt_desc_free(out[0])
    assert count() == before + 1
    lib.ndrt_desc_free(out[0])
    assert count() == before + 1, "the last reference still keeps it"
    del kept
    assert count() == before
