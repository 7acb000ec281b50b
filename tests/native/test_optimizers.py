"""Steps of optimizers refuse arrays of numbers that are not among theirs."""

from __future__ import annotations

import pytest

from ndarray_rt.errors import ParameterError
from ndarray_rt.native import call, ffi, lib

NAG = lib.NDRT_KERNEL_NAG_MOM  # four arrays, so numbers are at 4 and 5


@pytest.mark.parametrize(("dims", "text"), [
    ([-1, 0, 0, 0], "a count below 0"),
    ([4, 8, 0, 0], "unknown flags 8"),
    ([4, 0, -2, 4], "numbers of kind -2 at 4"),
    ([4, 0, 1, 3], "numbers of kind 1 at 3"),
    ([4, 0, 1, 5], "numbers of kind 1 at 5"),
    ([4, 0, 1, 2**63 - 1], "numbers of kind 1 at 9223372036854775807"),
    ([0, 0, 1, 4], "array 4 has no bytes"),
    ([4, 0, 0, 0], "array 0 has no bytes"),
])
def test_refusals(dims: list[int], text: str) -> None:
    packed = ffi.new("ndrt_kernel_call *", {"kernel": NAG, "counts": dims})
    with pytest.raises(ParameterError, match=text):
        call(lib.ndrt_kernel_run, packed, what="kernel")
