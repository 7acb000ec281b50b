"""Primitives whose sizes oneDNN can not count are refused before it is asked."""

from __future__ import annotations

import pytest

from ndarray_rt.dtypes import FLOAT32
from ndarray_rt.errors import Unsupported
from ndarray_rt.storage.desc import any_desc, channels_last_desc, default_desc
from ndarray_rt.storage.primitive import Direction, Kind, make_primitive


def test_a_deconvolution_of_too_wide_an_image() -> None:
    """oneDNN 3.2 divides by zero while it makes this one."""
    width = 4 + 2 * 1_000_000_007 - 2 + 2
    with pytest.raises(Unsupported, match="deconvolution for images"):
        make_primitive(Kind.DECONVOLUTION, Direction.FORWARD_INFERENCE,
                       src=channels_last_desc(FLOAT32, (2, 3, 4, 4)),
                       weights=any_desc(FLOAT32, (4, 3, 3, 3)),
                       bias=default_desc(FLOAT32, (4,)),
                       dst=channels_last_desc(FLOAT32, (2, 4, 6, width)),
                       strides=(1, 1), dilates=(0, 1_000_000_006), pad_l=(0, 0), pad_r=(0, 0))


def test_a_step_beyond_32_bits() -> None:
    with pytest.raises(Unsupported, match="steps of a window"):
        make_primitive(Kind.CONVOLUTION, Direction.FORWARD_INFERENCE,
                       src=channels_last_desc(FLOAT32, (1, 16, 4, 4)),
                       weights=any_desc(FLOAT32, (16, 16, 1, 1)),
                       dst=channels_last_desc(FLOAT32, (1, 16, 1, 1)),
                       strides=(1 << 31, 1 << 31), dilates=(0, 0), pad_l=(0, 0), pad_r=(0, 0))
