"""Pickles, copy.copy and copy.deepcopy of arrays of every kind."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import pickletools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt._array.pickling import restore
from ndarray_rt.errors import NdrtError
from ndarray_rt.storage.lease import Packed

nd = mx.nd
DATA = np.arange(2 * 5 * 3 * 3, dtype=np.float32).reshape(2, 5, 3, 3)
PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)


def _pickled(x: Any, protocol: int | None = None) -> Any:
    return pickle.loads(pickle.dumps(x, protocol))


def _out_of_band(x: Any) -> Any:
    buffers: list[Any] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


CLONES: dict[str, Callable[[Any], Any]] = {
    **{f"pickle{p}": partial(_pickled, protocol=p) for p in PROTOCOLS},
    "out of band": _out_of_band, "copy": copy.copy, "deepcopy": copy.deepcopy}
KINDS: dict[str, Any] = {
    "plain": lambda: nd.array(DATA),
    "special": lambda: nd.array(DATA).to_mkldnn(),
    "padded": lambda: nd.array(DATA).to_mkldnn("aBcd16b"),
    "view": lambda: nd.array(DATA)[1, 2:4],
    "view of special": lambda: nd.array(DATA).to_mkldnn("aBcd16b")[1],
    "reshaped": lambda: nd.array(DATA).reshape((10, 9)),
    "reused": lambda: _reused(),
    "imported": lambda: nd.from_dlpack(nd.array(DATA)),
    "untouched": lambda: nd.zeros((2, 3)),
    "empty": lambda: nd.zeros((0, 3)),
    "scalar": lambda: nd.array(3, ctx=mx.cpu(1)),
    **{dtype: lambda dtype=dtype: nd.array([0, 1, 5], dtype=dtype) for dtype in (
        "float16", "float64", "uint8", "int8", "int32", "int64", "bool")},
}


def _reused() -> Any:
    x = nd.zeros((200,))._as_array((2, 5, 3, 3), np.dtype("float32"))
    x[:] = DATA
    return x


@pytest.mark.parametrize("clone", CLONES)
@pytest.mark.parametrize("kind", KINDS)
def test_clones_are_equal_and_apart(clone: str, kind: str) -> None:
    x = KINDS[kind]()
    layout, pins = x.layout, x._chunk.pins
    y = CLONES[clone](x)
    assert (y.shape, y.dtype, y.ctx) == (x.shape, x.dtype, x.ctx)
    gc.collect()
    assert (y._chunk.pins, x._chunk.pins) == (0, pins)
    assert x.layout == layout or x.is_view, "a view reads the default layout"
    before = x.asnumpy()
    np.testing.assert_array_equal(y.asnumpy(), before)
    y[...] = 77
    np.testing.assert_array_equal(x.asnumpy(), before)


def test_bfloat16() -> None:
    pytest.importorskip("ml_dtypes")
    x = nd.array([1.5, -2], dtype="bfloat16")
    for clone in CLONES.values():
        y = clone(x)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())


def test_views_pickle_their_part_only() -> None:
    x = nd.zeros((1000, 1000))
    assert len(pickle.dumps(x[3])) < 4300
    assert len(pickle.dumps(x[3, :2])) < 300


def test_padding_is_not_pickled() -> None:
    x = nd.array(DATA).to_mkldnn("aBcd16b")
    assert x._chunk.nbytes > 2 * DATA.nbytes
    assert len(pickle.dumps(x)) < DATA.nbytes + 300
    assert x.is_special


def test_objects_stay_one_and_storage_does_not() -> None:
    x = nd.array(DATA)
    for clone in (copy.deepcopy, _pickled):
        a, b, part = clone([x, x, x[1]])
        assert a is b
        part[:] = -1
        np.testing.assert_array_equal(a.asnumpy(), DATA)


def test_the_tape_is_left_behind() -> None:
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = x * x
        for clone in CLONES.values():
            assert clone(x).grad is None
            with pytest.raises(mx.MXNetError):
                clone(y).backward()
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [2, 4])


def test_out_of_band_buffers_are_the_array_itself() -> None:
    x = nd.array(DATA)
    buffers: list[Any] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 300
    assert (x._chunk.pins, x._chunk.native.writable_pins) == (1, 0)
    seen = np.frombuffer(buffers[0], np.float32)
    assert not seen.flags.writeable
    x[:] = 4
    assert (seen == 4).all()
    y = pickle.loads(data, buffers=buffers)
    y[:] = 5
    assert (seen == 4).all()
    # buffers may come back from a file or the net, at any address
    moved = b"\0" + bytes(buffers[0])
    z = pickle.loads(data, buffers=[memoryview(moved)[1:]])
    assert (z.asnumpy() == 4).all()
    del seen, buffers
    gc.collect()
    assert x._chunk.pins == 0


def test_a_packed_array_is_pickled_as_it_is() -> None:
    x = nd.array(DATA).to_mkldnn()
    with Packed([x._chunk]):
        y = pickle.loads(pickle.dumps(x))
        assert x.is_special
    np.testing.assert_array_equal(y.asnumpy(), DATA)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_pickle_calls_our_function_alone(protocol: int) -> None:
    names: list[tuple[Any, Any]] = []

    class Watching(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            names.append((module, name))
            return super().find_class(module, name)

    data = pickle.dumps(nd.array(DATA), protocol)
    np.testing.assert_array_equal(Watching(io.BytesIO(data)).load().asnumpy(), DATA)
    allowed = {("ndarray_rt._array.pickling", "restore")}
    if protocol == 2:  # how bytes are written there
        allowed.add(("_codecs", "encode"))
    assert set(names) <= allowed
    pickletools.dis(data, io.StringIO())


def test_bad_pickles() -> None:
    good = (DATA.tobytes(), DATA.shape, "float32", ("cpu", 0), "little")
    np.testing.assert_array_equal(restore(*good).asnumpy(), DATA)
    with pytest.raises(NdrtError, match="360 bytes, got 3"):
        restore(b"abc", *good[1:])
    with pytest.raises(NdrtError, match="ints"):
        restore(good[0], (2, -45), *good[2:])
    with pytest.raises(NdrtError, match="complex64"):
        restore(*good[:2], "complex64", *good[3:])
    with pytest.raises(mx.MXNetError, match="CPUs only"):
        restore(*good[:3], ("gpu", 0), "little")
    swapped = restore(DATA.astype(">f4").tobytes(), *good[1:4], "big")
    np.testing.assert_array_equal(swapped.asnumpy(), DATA)


# of mx.nd.array([1, 2], dtype="int32") and, by its bytes alone, of an array on a GPU
OF_MXNET = (
    b"\x80\x02cmxnet.ndarray.ndarray\nNDArray\nq\x00N\x85q\x01Rq\x02}q\x03X\x06\x00\x00\x00handle"
    b"q\x04c__builtin__\nbytearray\nq\x05c_codecs\nencode\nq\x06X,\x00\x00\x00\xc3\x89\xc3\xba\xc2"
    b"\x93\xc3\xb9\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00"
    b"\x00\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00q\x07X\x06\x00\x00\x00latin1"
    b"q\x08\x86q\tRq\n\x85q\x0bRq\x0csb.").replace(b"mxnet.ndarray.ndarray", b"ndarray_rt.nd")
ON_A_GPU = bytes.fromhex("c9fa93f9 00000000 01000000 0100000000000000 02000000 00000000 00000000"
                         "0000803f")


def test_pickles_of_mxnet() -> None:
    x = pickle.loads(OF_MXNET)
    assert (x.dtype, x.shape, x.asnumpy().tolist()) == (np.int32, (2,), [1, 2])
    y = pickle.loads(pickle.dumps(x))
    np.testing.assert_array_equal(y.asnumpy(), [1, 2])


def test_a_state_takes_the_place_of_what_was_there() -> None:
    x = nd.array(DATA)
    view = x[0]
    x.__setstate__({"handle": bytearray(ON_A_GPU)})
    assert (x.ctx, x.shape, x.asnumpy().tolist()) == (mx.cpu(), (1,), [1])
    np.testing.assert_array_equal(view.asnumpy(), DATA[0])
    for state in (None, {"handle": None}, {"handle": "text"}, {}):
        with pytest.raises(mx.MXNetError, match="'handle'"):
            x.__setstate__(state)
    with pytest.raises(mx.MXNetError):
        x.__setstate__({"handle": ON_A_GPU[:-1]})
    assert x.asnumpy().tolist() == [1]
