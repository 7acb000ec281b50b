"""Arrays to and from numpy: copies, pinned exports, buffers, functions."""

from __future__ import annotations

import gc
import sys
import threading
from collections import deque
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.interop import export
from ndarray_rt.errors import NdrtError
from ndarray_rt.storage.lease import Packed

nd = mx.nd
DATA = np.arange(2 * 5 * 3 * 3, dtype=np.float32).reshape(2, 5, 3, 3)


def test_asnumpy_is_a_copy_in_any_layout() -> None:
    for x in (nd.array(DATA), nd.array(DATA).to_mkldnn(), nd.array(DATA).to_mkldnn("aBcd16b")):
        layout = x.layout
        got = x.asnumpy()
        got[:] = 0
        np.testing.assert_array_equal(x.asnumpy(), DATA)
        np.testing.assert_array_equal(x[1, 2:4].asnumpy(), DATA[1, 2:4])
        assert layout in (x.layout, "default") or x.layout == "default"


def test_numpy_functions_take_arrays() -> None:
    x = nd.array(DATA)
    np.testing.assert_array_equal(np.asarray(x), DATA)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    np.testing.assert_array_equal(np.add(x, DATA), DATA * 2)
    assert float(np.mean(x)) == DATA.mean()
    np.testing.assert_array_equal(np.sum(x, axis=1), DATA.sum(axis=1))
    assert isinstance(DATA * x, nd.NDArray)
    assert isinstance(np.float32(2) * x, nd.NDArray)
    array = DATA.copy()
    array += x
    np.testing.assert_array_equal(array, DATA * 2)
    # from 3.12 on numpy looks at the array's buffer first, and shares it
    np.asarray(x)[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), DATA * (sys.version_info < (3, 12)))
    np.array(x)[:] = 99
    assert not (x.asnumpy() == 99).any()


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="numpy 2 passes copy=")
def test_array_without_a_copy() -> None:
    x = nd.array(DATA).to_mkldnn()
    seen = np.asarray(x, copy=False)
    assert not x.is_mkldnn
    seen[0] = -1
    assert (x.asnumpy()[0] == -1).all()
    x[1] = 7
    assert (seen[1] == 7).all()
    with pytest.raises(ValueError, match=r"(?i)a copy"):
        np.asarray(x, dtype=np.float64, copy=False)
    fresh = np.array(x, copy=True)
    fresh[:] = 0
    assert (seen[1] == 7).all()


def test_exports_pin_and_let_go() -> None:
    x = nd.array(DATA)
    first = export(x)
    part = export(x[1, 1:3], writable=False)
    assert (x._chunk.pins, x._chunk.native.writable_pins) == (2, 1)
    assert not part.flags.writeable
    np.testing.assert_array_equal(part, DATA[1, 1:3])
    with pytest.raises(NdrtError, match="exported"):
        x.reorder()
    # operators write through the pinned bytes
    x += 1
    y = nd.relu(nd.array(DATA).to_mkldnn(), out=x)
    assert y is x
    assert not x.is_mkldnn
    np.testing.assert_array_equal(first, DATA)
    kept = first[0, 0]
    del first, part
    gc.collect()
    assert x._chunk.pins == 1, "a numpy view keeps the export alive"
    del kept
    gc.collect()
    assert (x._chunk.pins, x._chunk.native.writable_pins) == (0, 0)
    x.reorder()
    np.testing.assert_array_equal(x.asnumpy(), DATA)


def test_an_export_outlives_its_array() -> None:
    before = mx.memory_stats()["live"]
    seen = export(nd.array(DATA))
    gc.collect()
    np.testing.assert_array_equal(seen, DATA)
    del seen
    gc.collect()
    assert mx.memory_stats()["live"] <= before


def test_exports_let_go_in_any_thread() -> None:
    x = nd.array(DATA)
    held = [export(x) for _ in range(20)]
    threads = [threading.Thread(target=held.pop) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert x._chunk.pins == 0


def test_exports_of_odd_shapes() -> None:
    for shape in ((0, 3), (), (1,), (3, 0)):
        x = nd.ones(shape)
        seen = export(x)
        assert seen.shape == shape
        seen[...] = 5
        assert (x.asnumpy() == 5).all()
    assert export(nd.array([1, 0], dtype="bool")).dtype == np.bool_


def test_a_packed_array_is_not_converted_under_the_plan() -> None:
    x = nd.array(DATA).to_mkldnn()
    packed = Packed([x._chunk])
    with pytest.raises(ValueError, match="without a copy"):
        export(x)
    packed.give_back()
    np.testing.assert_array_equal(export(x), DATA)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="buffers of Python classes begin at 3.12")
def test_memoryview() -> None:
    x = nd.array(DATA)
    with memoryview(x) as view:
        assert (view.shape, view.format) == (DATA.shape, "f")
        assert x._chunk.pins == 1
        view[0, 0, 0, 0] = 9
    gc.collect()
    assert x._chunk.pins == 0
    assert x.asnumpy()[0, 0, 0, 0] == 9


def test_buffer_method() -> None:
    x = nd.array(DATA)
    view = x.__buffer__(0)
    view[0, 0, 0, 1] = 9
    assert x.asnumpy()[0, 0, 0, 1] == 9
    view.release()
    del view
    gc.collect()
    assert x._chunk.pins == 0


def test_from_numpy_without_a_copy() -> None:
    source = DATA.copy()
    x = nd.from_numpy(source)
    assert x.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        source[0] = 0
    x[0] = -1
    assert (source[0] == -1).all()
    x *= 2
    assert (source[0] == -2).all()
    with pytest.raises(NdrtError, match="exported"):
        x.reorder()
    assert nd.from_numpy(np.arange(3)).dtype == np.int64
    with pytest.raises(ValueError, match="contiguous"):
        nd.from_numpy(DATA.T)
    wrong: Any = [1, 2]
    with pytest.raises(TypeError, match="numpy array"):
        nd.from_numpy(wrong)
    copied = nd.from_numpy(DATA.T.copy(), zero_copy=False)
    copied[:] = 0
    del source
    gc.collect()
    assert (x.asnumpy()[0] == -2).all()


def test_from_numpy_copies_what_it_must_not_write_to(tmp_path: Any) -> None:
    file = tmp_path / "data"
    DATA.tofile(file)
    mapped = np.memmap(file, np.float32, "r", shape=DATA.shape)
    crooked = np.frombuffer(bytearray(b"\0" + DATA.tobytes()), np.float32, offset=1)
    for source in (mapped, np.frombuffer(DATA.tobytes(), np.float32), crooked):
        before = np.array(source)
        x = nd.from_numpy(source)
        x[:] = 5  # in memory that is mapped read-only this would end the process
        assert x._chunk.pins == 0
        np.testing.assert_array_equal(source, before)
    assert nd.from_numpy(np.zeros((0, 3))).shape == (0, 3)
    assert nd.from_numpy(np.array(3.0)).shape == ()


def test_from_numpy_is_written_to_through_older_views() -> None:
    source = np.ones((4, 4), np.float32)
    older = source[:]
    x = nd.from_numpy(source)
    older[0] = 9
    assert (x.asnumpy()[0] == 9).all()
    # whoever keeps something computed from it has to look again
    assert x._chunk.native.writable_pins == 1


# ---- numpy's functions, and operators with numpy arrays -----------------------------------


def test_operators_with_numpy_arrays_give_arrays() -> None:
    x, a = nd.array([1, 2, 3]), np.array([10.0, 20.0, 30.0])
    for made, wanted in ((x + a, [11, 22, 33]), (a + x, [11, 22, 33]), (a - x, [9, 18, 27]),
                         (np.float64(2) * x, [2, 4, 6]), (np.int64(2) - x, [1, 0, -1]),
                         (np.array(2.0) * x, [2, 4, 6]), (x * np.array(2.0), [2, 4, 6]),
                         (np.float32(2) ** x, [2, 4, 8]), (a < x, [0, 0, 0]), (a == x, [0, 0, 0]),
                         (np.float32(2) <= x, [0, 1, 1]), (np.float32(2) == x, [0, 1, 0])):
        assert isinstance(made, nd.NDArray)
        assert made.dtype == np.float32
        np.testing.assert_array_equal(made.asnumpy(), wanted)
    x += a
    assert isinstance(x, nd.NDArray)
    np.testing.assert_array_equal(x.asnumpy(), [11, 22, 33])


def test_operators_with_numpy_arrays_are_recorded() -> None:
    x, a = nd.array([1, 2, 3]), np.array([10.0, 20.0, 30.0])
    x.attach_grad()
    with mx.autograd.record():
        y = (a * x).sum()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), a)


def test_in_place_operators_of_numpy_write_to_the_numpy_array() -> None:
    x, a = nd.array([1, 2, 3]), np.array([10.0, 20.0, 30.0])
    same = a
    a += x
    a *= x
    assert a is same
    assert a.dtype == np.float64
    np.testing.assert_array_equal(a, [11, 44, 99])


def test_ufuncs_that_are_operators_give_arrays() -> None:
    x, a = nd.array([1, 2, 3]), np.array([10.0, 20.0, 30.0])
    for made, wanted in ((np.add(x, a), [11, 22, 33]), (np.add(a, x), [11, 22, 33]),
                         (np.power(x, x), [1, 4, 27]), (np.less(a, x), [0, 0, 0])):
        assert isinstance(made, nd.NDArray)
        np.testing.assert_array_equal(made.asnumpy(), wanted)
    with pytest.raises(TypeError):
        np.add(x, "text")
    other: Any = object()
    with pytest.raises(TypeError):
        np.add(x, other)


def test_other_ufuncs_give_numpy_arrays() -> None:
    x: Any = nd.array([1, 2, 3])
    a: Any = np.array([10.0, 20.0, 30.0])
    for made, wanted in ((np.sin(x), np.sin(np.array([1, 2, 3], np.float32))),
                         (np.maximum(x, 2), [2, 2, 3]),
                         (np.add.accumulate(x), [1, 3, 6]),
                         (np.add.outer(x, a)[0], [11, 21, 31]),
                         (np.add.reduce(x), 6), (np.isfinite(x), [True] * 3),
                         (np.add(x, a, where=[True, False, True], out=a.copy()), [11, 20, 33])):
        assert not isinstance(made, nd.NDArray)
        assert made.dtype != object
        np.testing.assert_array_equal(made, wanted)
    for array, wanted in ((a @ x, [140]), (a // x, [10, 10, 10]), (x // a, [0, 0, 0])):
        assert isinstance(array, nd.NDArray)
        np.testing.assert_array_equal(array.asnumpy(), wanted)
    assert np.add(x, a, out=a) is a
    np.testing.assert_array_equal(a, [11, 22, 33])
    for write in (lambda: np.sin(a, out=x), lambda: np.add(a, a, out=x),
                  lambda: np.add.at(x, [0], 1)):
        with pytest.raises(TypeError):
            write()
    np.testing.assert_array_equal(x.asnumpy(), [1, 2, 3])
    np.add.at(a, nd.array([0], dtype="int32"), 1)
    assert a[0] == 12


def test_functions_give_numpy_results() -> None:
    x, a = nd.array(DATA).to_mkldnn(), DATA
    for func, args, kwargs in (
            (np.mean, (), {}), (np.sum, (), {"axis": (0, 1), "dtype": np.float64}),
            (np.argmax, (), {"axis": 1, "keepdims": True}), (np.round, (1,), {}),
            (np.cumsum, (), {}),
            (np.clip, (1, 4), {}), (np.sort, (), {}), (np.transpose, ((0, 2, 3, 1),), {}),
            (np.std, (), {"axis": 0, "keepdims": True}), (np.reshape, ((10, 9),), {}),
            (np.repeat, (2,), {}), (np.argsort, (), {"kind": "stable"}), (np.shape, (), {}),
            (np.size, (), {}), (np.ndim, (), {}), (np.zeros_like, (), {})):
        made, wanted = func(x, *args, **kwargs), func(a, *args, **kwargs)
        assert type(made) is type(wanted), func
        assert getattr(made, "dtype", None) == getattr(wanted, "dtype", None), func
        np.testing.assert_array_equal(made, wanted)
    np.testing.assert_array_equal(np.concatenate([x, a]), np.concatenate([a, a]))
    np.testing.assert_array_equal(np.stack((x, x), axis=1), np.stack((a, a), axis=1))
    np.testing.assert_array_equal(np.where(x > 3, x, a * 2), np.where(a > 3, a, a * 2))
    assert np.array_equal(x, a)
    assert np.allclose(x, a)
    assert x.is_special, "nothing of this changes the array"
    assert x._chunk.pins == 0


def test_places_of_the_largest_are_arrays_as_in_mxnet() -> None:
    x = nd.array([[3, 1, 2], [6, 5, 4]])
    for func in (np.argmax, np.argmin):
        for made, wanted in ((func(x, axis=1), func(x.asnumpy(), 1)), (func(x, 0), func(
                x.asnumpy(), 0)), (func(x), func(x.asnumpy()))):
            assert type(made) is nd.NDArray
            assert made.dtype == np.float32
            np.testing.assert_array_equal(made.asnumpy().ravel(), np.ravel(wanted))
    assert (np.argmax(x, axis=1) == nd.array([0, 0])).sum().asscalar() == 2


def test_functions_that_write_refuse_arrays() -> None:
    x: Any = nd.array([1, 2, 3])
    for write in (lambda: np.copyto(x, 5), lambda: np.put(x, [0], 5), lambda: np.putmask(x, x, 5),
                  lambda: np.mean(np.ones((2, 3)), axis=0, out=x),
                  lambda: np.concatenate([np.ones(3)], out=x)):
        with pytest.raises((ValueError, TypeError)):
            write()
    np.testing.assert_array_equal(x.asnumpy(), [1, 2, 3])


def test_functions_find_arrays_in_any_sequence_or_refuse() -> None:
    x = nd.array([1, 2, 3])
    np.testing.assert_array_equal(np.concatenate(deque([x, x])), [1, 2, 3, 1, 2, 3])
    with pytest.raises(TypeError):
        np.zeros((2,), like=x)


def test_numbers() -> None:
    x = nd.array([2.5])
    assert (float(x), int(x), x.asscalar(), x.item()) == (2.5, 2, 2.5, 2.5)
    assert range(9)[nd.array([4], dtype="int32")] == 4
    assert nd.ones((1, 1)).asscalar() == 1
    for bad in (nd.ones((2,)), nd.ones((0,))):
        with pytest.raises(ValueError, match="not a scalar"):
            bad.asscalar()
    with pytest.raises(TypeError, match="index"):
        range(9)[x]
    assert bool(nd.array([1])) is True
    assert bool(nd.array([0])) is False
    assert bool(nd.zeros((0,))) is False
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nd.ones((2,)))


def test_repr() -> None:
    assert repr(nd.array([[1, 2]])) == "\n[[1. 2.]]\n<NDArray 1x2 @cpu(0)>"
    assert str(nd.array([1, 2], dtype="int32")) == "\n[1 2]\n<NDArray 2 @cpu(0)>"
