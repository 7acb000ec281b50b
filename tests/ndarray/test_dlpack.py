"""DLPack: both directions, who owns what and when it ends, and everything that is refused."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.interop import ShareError
from ndarray_rt.dtypes import find_dtype
from ndarray_rt.errors import MissingPackage, NdrtError, TypeMismatch
from ndarray_rt.native import lib
from ndarray_rt.storage.lease import Packed
from tests.ndarray.dlpack_producer import Producer, refusing_deleter

nd = mx.nd
DATA = np.arange(2 * 5 * 3 * 3, dtype=np.float32).reshape(2, 5, 3, 3)
DTYPES = ("float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool")
NUMPY = np.lib.NumpyVersion(np.__version__)


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    gc.collect()
    before = mx.memory_stats()["live"]
    yield
    gc.collect()
    assert mx.memory_stats()["live"] <= before


# ---- out ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("versioned", [False, True])
def test_there_and_back(dtype: str, versioned: bool) -> None:
    x = nd.array(DATA, dtype=dtype)
    capsule = x.__dlpack__(max_version=(1, 2) if versioned else None)
    assert "versioned" in repr(capsule) or not versioned
    y = nd.from_dlpack(capsule)
    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())
    assert y._chunk.handle.address == x._chunk.handle.address
    y[0] = 1
    assert (x.asnumpy()[0] == 1).all()
    assert x._chunk.pins == 1
    del y
    assert x._chunk.pins == 0, "the deleter ran with the last array on the memory"
    assert repr(capsule), "which a used capsule outlives"


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (1, 3, 1), (1,) * 12])
def test_odd_shapes(shape: tuple[int, ...]) -> None:
    x = nd.ones(shape)
    y = nd.from_dlpack(x)
    assert y.shape == shape
    y[...] = 5
    assert (x.asnumpy() == 5).all()


def test_views_hand_out_their_part() -> None:
    x = nd.array(DATA)
    y = nd.from_dlpack(x[1, 2:4])
    np.testing.assert_array_equal(y.asnumpy(), DATA[1, 2:4])
    y[:] = -1
    assert (x.asnumpy()[1, 2:4] == -1).all()
    assert (x.asnumpy() == -1).sum() == y.size


@pytest.mark.skipif(NUMPY < "1.23.0", reason="np.from_dlpack begins at numpy 1.23")
def test_numpy_takes_arrays() -> None:
    x = nd.array(DATA).to_mkldnn("aBcd16b")
    seen = np.from_dlpack(x)
    assert not x.is_special, "converted in place"
    np.testing.assert_array_equal(seen, DATA)
    with pytest.raises(NdrtError, match="exported"):
        x.reorder()
    x[1] = 7
    assert (seen[1] == 7).all()
    if NUMPY >= "2.1.0":
        assert seen.flags.writeable
        fresh = np.from_dlpack(x, copy=True)
        fresh[:] = 0
        assert (x.asnumpy()[1] == 7).all()
    part = seen[0, 0]
    del seen
    assert x._chunk.pins == 1
    del part
    assert x._chunk.pins == 0
    x.reorder()


def test_a_layout_change_by_an_export_is_no_write() -> None:
    x = nd.array(DATA).to_mkldnn()
    writes = x._chunk.writes
    nd.from_dlpack(x)
    assert not x.is_special
    x.reorder()
    assert x.is_special
    x.reorder_to_default()
    assert x._chunk.writes == writes


def test_what_the_caller_asks_for() -> None:
    x = nd.array(DATA)
    assert x.__dlpack_device__() == (1, 0)
    assert nd.ones((1,), mx.cpu(3)).__dlpack_device__() == (1, 0)
    for wishes in ({"dl_device": (2, 0)}, {"dl_device": (1, 1)}, {"stream": 1}):
        with pytest.raises(BufferError, match=next(iter(wishes))):
            x.__dlpack__(**wishes)
    assert x._chunk.pins == 0
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(7, 0), dl_device=(1, 0)))
    copied = nd.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=True))
    copied[:] = 0
    np.testing.assert_array_equal(x.asnumpy(), DATA)
    copied.reorder()  # a copy made for us is ours alone: not pinned
    shared = nd.from_dlpack(x.__dlpack__(max_version=(1, 0), copy=False))
    with pytest.raises(NdrtError, match="exported"):
        shared.reorder()


def test_packed_arrays_are_copied_or_refused() -> None:
    x = nd.array(DATA).to_mkldnn()
    with Packed([x._chunk]):
        with pytest.raises(BufferError, match="without a copy"):
            x.__dlpack__(copy=False)
        y = nd.from_dlpack(x.__dlpack__(max_version=(1, 0)))
        assert x.is_special
        y[:] += 1
        np.testing.assert_array_equal(y.asnumpy(), DATA + 1)
    np.testing.assert_array_equal(x.asnumpy(), DATA)


@pytest.mark.skipif(NUMPY < "2.1.0", reason="np.from_dlpack asks for flags from numpy 2.1 on")
def test_numpy_can_not_write_to_a_copy_that_it_did_not_ask_for() -> None:
    x = nd.array(DATA).to_mkldnn()
    with Packed([x._chunk]):
        seen = np.from_dlpack(x)
        np.testing.assert_array_equal(seen, DATA)
        with pytest.raises(ValueError, match="read-only"):
            seen[...] = 0
        asked = np.from_dlpack(x, copy=True)
        asked[...] = 0
    np.testing.assert_array_equal(x.asnumpy(), DATA)
    np.from_dlpack(x)[...] = 1
    assert (x.asnumpy() == 1).all(), "nobody packs it any more: these are its own bytes"


def test_a_capsule_nobody_took_gives_back() -> None:
    x = nd.array(DATA)
    for make in (x.to_dlpack_for_read, x.to_dlpack_for_write,
                 lambda: nd.to_dlpack_for_read(x), lambda: nd.to_dlpack_for_write(x),
                 lambda: x.__dlpack__(max_version=(1, 0))):
        capsule = make()
        assert x._chunk.pins == 1
        del capsule
        assert x._chunk.pins == 0
    wrong: Any = DATA
    with pytest.raises(TypeMismatch, match="NDArray"):
        nd.to_dlpack_for_read(wrong)


def test_an_export_outlives_its_array() -> None:
    x = nd.array(DATA)
    y = nd.from_dlpack(x)
    del x
    gc.collect()
    nd.ones((1000,))  # which would take freed memory
    np.testing.assert_array_equal(y.asnumpy(), DATA)


def test_no_memory_for_an_export() -> None:
    x = nd.array(DATA)
    for n in range(6):
        lib.ndrt_memory_fail_after(n)
        try:
            capsule = x.__dlpack__(copy=True)
        except MemoryError:
            capsule = None
        finally:
            lib.ndrt_memory_fail_after(-1)
        del capsule
        gc.collect()
        assert x._chunk.pins == 0
    assert n, "the last ones get through"
    np.testing.assert_array_equal(x.asnumpy(), DATA)


# ---- in -------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [False, True])
def test_imports_share_and_give_back_once(versioned: bool) -> None:
    p = Producer(DATA, versioned=versioned)
    x = nd.from_dlpack(p.capsule())
    assert p.deleted == 0
    np.testing.assert_array_equal(x.asnumpy(), DATA)
    p.data[0] = -1
    assert (x.asnumpy()[0] == -1).all()
    x[1] = 9
    assert (p.data[1] == 9).all()
    view = x[1]
    del x
    gc.collect()
    assert p.deleted == 0
    del view
    gc.collect()
    assert p.deleted == 1


def test_the_operators_compute_on_imports() -> None:
    p = Producer(DATA)
    x = nd.from_dlpack(p)
    np.testing.assert_array_equal(nd.broadcast_add(x * 2, x[1:]).asnumpy(), DATA * 2 + DATA[1])
    nd.relu(-x, out=x)
    assert not x.is_special
    assert not p.data[DATA > 0].any()


def test_ways_to_be_dense() -> None:
    for shape, strides in (((2, 1, 3), (3, 77, 1)), ((1, 1), (-5, 9)), ((2, 3), None),
                           ((), None), ((), ())):
        data = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
        p = Producer(data, strides=strides)
        x = nd.from_dlpack(p, copy=False)
        np.testing.assert_array_equal(x.asnumpy(), data)
        x[...] = 5
        assert (p.data == 5).all()


def test_byte_offset() -> None:
    p = Producer(DATA, byte_offset=45 * 4, shape=DATA.shape[1:])
    np.testing.assert_array_equal(nd.from_dlpack(p, copy=False).asnumpy(), DATA[1])


@pytest.mark.parametrize(("make", "reason"), [
    (lambda: Producer(DATA, view=DATA.T), "strides"),
    (lambda: Producer(DATA, view=DATA[::-1]), "strides"),
    (lambda: Producer(DATA, view=DATA[:, ::2, ::-2]), "strides"),
    (lambda: Producer(DATA, view=np.broadcast_to(DATA[0, 0], (4, 3, 3))), "strides"),
    (lambda: Producer(np.zeros(44, np.uint8), view=np.arange(44, dtype=np.uint8)[1:41].view("f4")),
     "aligned"),
    (lambda: Producer(DATA, versioned=True, flags=lib.NDRT_DL_READ_ONLY), "read-only")])
def test_what_can_not_be_shared_is_copied(make: Any, reason: str) -> None:
    p = make()
    wanted = np.array(p.view)
    x = nd.from_dlpack(p)
    assert p.deleted == 1, "the copy needs the other library no more"
    np.testing.assert_array_equal(x.asnumpy(), wanted)
    assert x._chunk.pins == 0
    x[...] = -7
    np.testing.assert_array_equal(p.view, wanted)
    p = make()
    with pytest.raises(ShareError, match=reason):
        nd.from_dlpack(p, copy=False)
    gc.collect()
    assert p.deleted == 1


def test_a_copy_when_asked_for() -> None:
    p = Producer(DATA)
    x = nd.from_dlpack(p, copy=True, device=mx.cpu(2))
    assert (p.deleted, x._chunk.pins, x.ctx) == (1, 0, mx.cpu(2))
    x[:] = 0
    np.testing.assert_array_equal(p.data, DATA)


def test_memory_copied_for_us_is_not_pinned() -> None:
    p = Producer(DATA, versioned=True, flags=lib.NDRT_DL_IS_COPIED)
    x = nd.from_dlpack(p)
    x.reorder()
    assert x.is_special
    gc.collect()
    assert p.deleted == 1, "the contents moved to memory of our own"
    np.testing.assert_array_equal(x.asnumpy(), DATA)


def test_empty_tensors_need_no_memory() -> None:
    p = Producer(np.zeros((0, 3), np.float32), null=True)
    x = nd.from_dlpack(p)
    assert (x.shape, p.deleted) == ((0, 3), 1)


@pytest.mark.parametrize(("changes", "error", "text"), [
    ({"device": (2, 0)}, BufferError, r"device \(2, 0\)"),
    ({"code": 5, "bits": 64}, TypeError, "complex64"),
    ({"code": 0, "bits": 16}, TypeError, "int16"),
    ({"code": 2, "lanes": 4}, TypeError, "float32x4"),
    ({"code": 17, "bits": 4}, TypeError, "unknown4"),
    ({"ndim": 13}, ValueError, "rank 13"),
    ({"ndim": -1}, NdrtError, "-1 dimensions"),
    ({"shape": (2, -5)}, ValueError, "shape"),
    ({"null": True}, NdrtError, "no data"),
    ({"versioned": True, "major": 2}, BufferError, "version 2"),
])
def test_bad_tensors(changes: dict[str, Any], error: type[Exception], text: str) -> None:
    p = Producer(DATA, **changes)
    with pytest.raises(error, match=text):
        nd.from_dlpack(p.capsule())
    gc.collect()
    assert p.deleted == 1


def test_bad_capsules() -> None:
    p = Producer(DATA)
    capsule = p.capsule()
    x = nd.from_dlpack(capsule)
    for _ in range(2):
        with pytest.raises(ValueError, match="used already"):
            nd.from_dlpack(capsule)
    del x, capsule
    gc.collect()
    assert p.deleted == 1
    with pytest.raises(ValueError, match="'strange'"):
        nd.from_dlpack(Producer(DATA).capsule(b"strange"))
    for value in (3, None, [1.0], DATA.tolist()):
        with pytest.raises(TypeError, match="__dlpack__"):
            nd.from_dlpack(value)


def test_another_device_is_not_even_asked() -> None:
    class Gpu:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 2, 1

        def __dlpack__(self, **wishes: Any) -> Any:
            raise AssertionError

    with pytest.raises(BufferError, match=r"\(2, 1\)"):
        nd.from_dlpack(Gpu())


def test_producers_of_before_the_keywords() -> None:
    class Old:
        def __init__(self) -> None:
            self.inner = Producer(DATA)

        def __dlpack__(self) -> Any:
            return self.inner.capsule()

    np.testing.assert_array_equal(nd.from_dlpack(Old()).asnumpy(), DATA)


def test_no_deleter_is_none_to_call() -> None:
    x = nd.from_dlpack(Producer(DATA, deleter=False).capsule())
    np.testing.assert_array_equal(x.asnumpy(), DATA)


def test_an_exception_on_its_way_survives_a_deleter() -> None:
    p = Producer(DATA)
    with pytest.raises(KeyError, match="mine"):
        _raise_holding(nd.from_dlpack(p))
    gc.collect()
    assert p.deleted == 1


def _raise_holding(x: Any) -> None:
    raise KeyError("mine")


def test_bfloat16() -> None:
    bits = np.arange(5, dtype=np.uint16)
    x = nd.from_dlpack(Producer(bits, code=4))
    assert x.dtype == find_dtype("bfloat16")
    if find_spec("ml_dtypes") is None:
        with pytest.raises(MissingPackage, match="ml_dtypes"):
            nd.from_dlpack(x).asnumpy()
        return
    np.testing.assert_array_equal(nd.from_dlpack(x).asnumpy().view(np.uint16), bits)


# ---- threads, and the end -----------------------------------------------------------------


def test_exports_end_in_any_thread() -> None:
    x = nd.array(DATA)
    held = [nd.from_dlpack(x) for _ in range(20)]
    held += [x.to_dlpack_for_read() for _ in range(20)]
    threads = [threading.Thread(target=held.pop) for _ in range(len(held))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x._chunk.pins == 0


def test_the_deleter_needs_no_python() -> None:
    """Called from threads that Python does not know, while this one holds the GIL."""
    x = nd.array(DATA)
    refusing_deleter([x.__dlpack__(max_version=(1, 0)) for _ in range(50)])
    assert x._chunk.pins == 0


def test_one_capsule_for_many_threads() -> None:
    for _ in range(50):
        x = nd.ones((3,))
        capsule = x.__dlpack__()
        got: list[Any] = []
        barrier = threading.Barrier(4)

        def take(barrier: Any = barrier, capsule: Any = capsule, got: Any = got) -> None:
            barrier.wait()
            try:
                got.append(nd.from_dlpack(capsule))
            except ValueError:
                got.append(None)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(y is not None for y in got) == 1
        del take, capsule
        got.clear()
        assert x._chunk.pins == 0


END = """
import ctypes, sys
import numpy as np
import ndarray_rt as mx
x = mx.nd.ones((1000,))
kept = [mx.nd.from_dlpack(np.ones(3)), np.asarray(x), np.from_dlpack(x), x.to_dlpack_for_write(),
        mx.nd.from_dlpack(x)]
kept.append(kept)  # a cycle: collected when modules are gone
sys.kept = kept
capsule = x.__dlpack__()
# never freed: given back after the interpreter's end
ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))(capsule)
get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
managed = get(capsule, b"dltensor")
# DLManagedTensor: tensor (48 bytes), context, deleter
deleter = ctypes.c_void_p.from_address(managed + 56).value
on_exit = ctypes.CDLL(None).__cxa_atexit
on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
on_exit(deleter, managed, None)
print("ok")
"""


def test_exports_alive_at_the_interpreters_end() -> None:
    done = subprocess.run([sys.executable, "-c", END], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("wish", [{"max_version": 1}, {"max_version": "1.0"}, {"max_version": (1,)},
                                  {"dl_device": 1}, {"dl_device": ("cpu", 0)}])
def test_wishes_of_a_wrong_type_are_named(wish: dict[str, Any]) -> None:
    with pytest.raises(TypeMismatch, match=f"{next(iter(wish))}.*a tuple of two ints"):
        nd.ones((2,)).__dlpack__(**wish)
