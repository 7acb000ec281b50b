"""Exchange with torch, where it is installed."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import ndarray_rt as mx

torch = pytest.importorskip("torch")
nd = mx.nd
DATA = np.arange(2 * 5 * 3 * 3, dtype=np.float32).reshape(2, 5, 3, 3)


def test_torch_takes_arrays() -> None:
    for x in (nd.array(DATA), nd.array(DATA).to_mkldnn("aBcd16b")):
        t = torch.from_dlpack(x)
        assert t.data_ptr() == x._chunk.handle.address
        assert torch.equal(t, torch.from_numpy(DATA))
        t[0] = -1
        assert (x.asnumpy()[0] == -1).all()
        x[1] = 5
        assert bool((t[1] == 5).all())
        assert x._chunk.pins == 1
        part = t[0, 0]
        del t
        gc.collect()
        assert x._chunk.pins == 1
        del part
        gc.collect()
        assert x._chunk.pins == 0
    x = nd.array(DATA)
    t = torch.from_dlpack(x[1])
    del x
    gc.collect()
    assert torch.equal(t, torch.from_numpy(DATA[1]))
    legacy = torch.utils.dlpack.from_dlpack(nd.array(DATA).to_dlpack_for_read())
    assert torch.equal(legacy, torch.from_numpy(DATA))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8", "int32",
                                   "int64", "bool"])
def test_dtypes(dtype: str) -> None:
    x = nd.array([0, 1, 1], dtype=dtype)
    t = torch.from_dlpack(x)
    assert str(t.dtype) == f"torch.{dtype}"
    y = nd.from_dlpack(t)
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.asnumpy(), x.asnumpy())


def test_arrays_take_tensors() -> None:
    t = torch.from_numpy(DATA.copy())
    x = nd.from_dlpack(t)
    assert x._chunk.handle.address == t.data_ptr()
    t[0] = -1
    assert (x.asnumpy()[0] == -1).all()
    x *= 2
    assert bool((t[0] == -2).all())
    del t
    gc.collect()
    assert (x.asnumpy()[0] == -2).all()
    crooked = torch.from_numpy(DATA.copy()).permute(0, 2, 3, 1)
    np.testing.assert_array_equal(nd.from_dlpack(crooked).asnumpy(), DATA.transpose(0, 2, 3, 1))
    with pytest.raises(BufferError, match="strides"):
        nd.from_dlpack(crooked, copy=False)
    for shape in ((), (0, 3), (1, 1)):
        assert nd.from_dlpack(torch.ones(shape)).shape == shape
        assert tuple(torch.from_dlpack(nd.ones(shape)).shape) == shape
    with pytest.raises(TypeError, match="complex64"):
        nd.from_dlpack(torch.zeros(3, dtype=torch.complex64))
    with pytest.raises(TypeError, match="int16"):
        nd.from_dlpack(torch.zeros(3, dtype=torch.int16))
    with pytest.raises(BufferError, match="grad"):
        nd.from_dlpack(torch.zeros(3, requires_grad=True))


def test_freed_in_another_thread() -> None:
    x = nd.array(DATA)
    before = mx.memory_stats()["live"]
    held: list[Any] = [torch.from_dlpack(x) for _ in range(20)]
    held += [nd.from_dlpack(torch.from_dlpack(x)) for _ in range(20)]
    threads = [threading.Thread(target=held.pop) for _ in range(len(held))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert x._chunk.pins == 0
    assert mx.memory_stats()["live"] <= before


def test_tensors_saved_for_torch_backward() -> None:
    """Let go of by torch's own threads, or at least without a Python frame."""
    x = nd.array(DATA)
    for _ in range(5):
        w = torch.ones(DATA.shape, requires_grad=True)
        (torch.from_dlpack(x) * w).sum().backward()
        assert torch.equal(w.grad, torch.from_numpy(DATA))
    del w
    gc.collect()
    assert x._chunk.pins == 0


SCRIPT = """
import numpy as np
{imports}
x = mx.nd.array(np.ones((1, 3, 8, 8)))
w = mx.nd.ones((4, 3, 3, 3))
y = mx.nd.Convolution(torch.from_dlpack(x) is not None and x, w, kernel=(3, 3), num_filter=4,
                      no_bias=True)
t = torch.nn.functional.conv2d(torch.from_dlpack(x), torch.from_dlpack(w))
np.testing.assert_allclose(y.asnumpy(), t.numpy(), rtol=1e-5)
z = mx.nd.from_dlpack(t)
kept = [torch.from_dlpack(y), z, torch.from_dlpack(z)]
import sys
sys.kept = kept
print("ok")
"""


@pytest.mark.parametrize("imports", ["import torch\nimport ndarray_rt as mx",
                                     "import ndarray_rt as mx\nimport torch"])
def test_either_may_be_imported_first(imports: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(imports=imports)], timeout=120,
                          capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")
