"""Pages of buffers that somebody waits for: huge ones as long as making them is quick."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ndarray_rt as mx
from ndarray_rt.native import lib
from ndarray_rt.storage.handle import Handle, trim

MIB = 1 << 20
NEVER = 1 << 62

pytestmark = [
    pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(),
                       reason="no huge pages here"),
    pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="maps no buffer for itself")]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """No buffer of before, nor how its pages were."""
    trim()
    yield
    lib.ndrt_memory_slow_page(-1)


def wishes(handle: Handle) -> list[str]:
    """What was asked for of the pieces of a buffer, as the system notes it: hg (huge pages), nh
    (none), or nothing."""
    found, is_inside = [], False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split(" ", 1)[0]
        if "-" in first:
            begin, end = (int(part, 16) for part in first.split("-"))
            is_inside = begin < handle.address + handle.nbytes and handle.address < end
        elif is_inside and first == "VmFlags:":
            found.append(" ".join(flag for flag in line.split() if flag in ("hg", "nh")))
    return found


def test_huge_pages_while_they_are_quick() -> None:
    lib.ndrt_memory_slow_page(NEVER)
    assert wishes(Handle(8 * MIB, soon=True)) == ["hg"]
    assert wishes(Handle(8 * MIB)) == ["hg"]


def test_small_pages_behind_a_slow_one() -> None:
    lib.ndrt_memory_slow_page(0)
    first, second = Handle(8 * MIB, soon=True), Handle(8 * MIB, soon=True)
    assert wishes(first) == ["hg", "nh"]
    assert wishes(second) == ["nh"]
    assert wishes(Handle(8 * MIB)) == ["hg"]  # nobody waits
    lib.ndrt_memory_slow_page(NEVER)
    assert wishes(Handle(9 * MIB, soon=True)) == ["hg"]


@pytest.mark.parametrize("nbytes", [8 * MIB, 5 * MIB + 64, MIB, 100])
def test_huge_pages_later_keep_contents_and_place(nbytes: int) -> None:
    lib.ndrt_memory_slow_page(0)
    handle = Handle(nbytes, soon=True)
    address, bytes_of = handle.address, np.frombuffer(handle.buffer(), np.uint8)
    bytes_of[:] = np.arange(nbytes, dtype=np.uint8)
    for _ in range(2):
        handle.take_huge_pages()
        assert handle.address == address
        np.testing.assert_array_equal(bytes_of, np.arange(nbytes, dtype=np.uint8))
        if nbytes > 2 * MIB:
            assert set(wishes(handle)) == {"hg"}


def test_zeros_are_zeros() -> None:
    for limit in (0, NEVER):
        lib.ndrt_memory_slow_page(limit)
        for _ in range(2):  # fresh, and used before
            handle = Handle(5 * MIB, zero=True, soon=True)
            bytes_of = np.frombuffer(handle.buffer(), np.uint8)
            assert not bytes_of.any()
            bytes_of[:] = 1
            del bytes_of, handle


def test_weights_have_huge_pages_when_a_run_is_recorded() -> None:
    """Those that runs read, as the prologue made them."""
    lib.ndrt_memory_slow_page(0)
    data = mx.sym.var("data")
    net = mx.sym.BatchNorm(mx.sym.Convolution(
        data, kernel=(1, 1), num_filter=1024, no_bias=True, name="conv"), name="norm")
    executor = net.simple_bind(mx.cpu(), grad_req="null", data=(1, 1024, 1, 1))
    for array in executor.arg_dict.values():
        array[:] = 0.001
    x = mx.nd.ones((1, 1024, 1, 1))
    lib.ndrt_memory_slow_page(0)
    first = executor.forward(is_train=False, data=x)[0].asnumpy()
    made = executor._runs.program_for(False).prologue.made
    handles = [chunk.handle for chunk in made if chunk.nbytes > 2 * MIB]
    assert handles
    assert all("nh" in wishes(handle) for handle in handles)
    for _ in range(3):
        np.testing.assert_array_equal(executor.forward(is_train=False, data=x)[0].asnumpy(), first)
    assert executor.capture_state == "captured"
    assert all(set(wishes(handle)) == {"hg"} for handle in handles)


def test_files_are_read_into_such_pages(tmp_path: Path) -> None:
    path = tmp_path / "net.params"
    values = np.arange(3 * MIB // 4, dtype=np.float32)
    mx.nd.save(path, {"w": mx.nd.array(values)})
    trim()
    lib.ndrt_memory_slow_page(0)
    Handle(8 * MIB, soon=True)
    found = mx.nd.load(path)["w"]
    np.testing.assert_array_equal(found.asnumpy(), values)
    assert wishes(found._chunk.handle) == ["nh"]
