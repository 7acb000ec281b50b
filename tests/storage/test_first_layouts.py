"""Which layouts are tried for images, and in which order."""

from __future__ import annotations

import pytest

from ndarray_rt.dtypes import FLOAT32
from ndarray_rt.op import choose
from ndarray_rt.storage.desc import any_desc, channels_last_desc


@pytest.mark.parametrize(("avx512", "shapes", "channels_last"), [
    (True, ((2, 64, 8, 8), (2, 64, 8, 8)), True),
    (False, ((2, 64, 8, 8), (2, 64, 8, 8)), False),
    (False, ((2, 3, 8, 8), (2, 64, 8, 8)), False),
    # a block of 8 channels would be padding in part
    (False, ((2, 1, 8, 8), (2, 20, 8, 8)), True),
    (False, ((2, 20, 8, 8), (2, 48, 8, 8)), True),
])
def test_first_layout(monkeypatch: pytest.MonkeyPatch, avx512: bool,
                      shapes: tuple[tuple[int, ...], ...], channels_last: bool) -> None:
    monkeypatch.setattr(choose, "has_avx512", lambda: avx512)
    describe = channels_last_desc if channels_last else any_desc
    found = next(choose.data_candidates(FLOAT32, *shapes))
    assert found == tuple(describe(FLOAT32, shape) for shape in shapes)
