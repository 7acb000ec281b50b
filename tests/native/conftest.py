"""Leaves the process-wide settings as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ndarray_rt.native import lib


@pytest.fixture(autouse=True)
def settings_come_back() -> Iterator[None]:
    threads, flush = lib.ndrt_threads_get(), lib.ndrt_flush_subnormals_get()
    yield
    lib.ndrt_memory_fail_after(-1)
    lib.ndrt_threads_set(threads)
    lib.ndrt_flush_subnormals_set(flush)
