"""Choosing among layouts and implementations that oneDNN offers. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import prod
from typing import TypeVar

from ..cpu_level import has_avx512
from ..dtypes import DType
from ..errors import Unsupported
from ..storage.desc import MemDesc, any_desc, blocked_desc, channels_last_desc, default_desc
from .calibration import DEPTHWISE_PIXELS

T = TypeVar("T")


def prefers_channels_last() -> bool:
    """Of calls that no plan has a layout for: kernels for AVX-512 are fastest on channels-last
    data; older ones on what `any` picks."""
    return has_avx512()


def fills_no_blocks(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether blocks of channels would be padding in part, which is computed with all the rest."""
    return any(shape[1] > FEW_CHANNELS and shape[1] % AVX2_BLOCK for shape in shapes)


# families of layouts for images and what convolutions make of them
CHANNELS_LAST, BLOCKED = "channels-last", "blocked"
# of products and recurrent layers: whose kernels are to compute them, where both have one
OURS, ONEDNN = "ours", "oneDNN"
KERNELS = (OURS, ONEDNN)
BLOCK = 16
# of channels in the layouts that oneDNN picks for AVX2
AVX2_BLOCK = 8
# of channels in blocked layouts here: a vector
VECTOR = BLOCK if has_avx512() else AVX2_BLOCK
# convolutions read so few channels as they come: a block of them would be padding for the most part
FEW_CHANNELS = 4


def family_desc(dtype: DType, shape: tuple[int, ...], family: str) -> MemDesc:
    """The layout of images, or of what convolutions make of them, in a family."""
    if family != BLOCKED:
        return channels_last_desc(dtype, shape)
    return (default_desc(dtype, shape) if shape[1] <= FEW_CHANNELS
            else blocked_desc(dtype, shape, VECTOR))


def data_candidates(dtype: DType, *shapes: tuple[int, ...],
                    family: str = "") -> Iterator[tuple[MemDesc, ...]]:
    """Layouts to try for the data tensors of one primitive, best first; those of `family` before
    all others.

    Each is described when it is asked for: mostly the first one does.
    """
    if family == BLOCKED:
        yield tuple([family_desc(dtype, shape, family) for shape in shapes])
    first, second = channels_last_desc, any_desc
    if not (family == CHANNELS_LAST or prefers_channels_last() or fills_no_blocks(shapes)):
        first, second = second, first
    for describe in (first, second, default_desc):
        yield tuple([describe(dtype, shape) for shape in shapes])


# oneDNN's older kernel of depthwise convolutions
DEPTHWISE_KERNEL = "jit_dw:"


def convolution_kernel(groups: int, data: tuple[int, ...], out: tuple[int, ...]) -> str:
    """How the name of the best kernel for inference begins; "" leaves it to oneDNN."""
    is_depthwise = groups == data[1] == out[1] and groups > 1
    return DEPTHWISE_KERNEL if is_depthwise and prod(out[2:]) >= DEPTHWISE_PIXELS else ""


def first_supported(builders: Iterable[Callable[[], T]]) -> T:
    """The first primitive (or several in one) that can be made; else Unsupported, with why.

    make_primitive refuses reference code, so that what is found is fast.
    """
    reasons = []
    for build in builders:
        try:
            return build()
        except Unsupported as refusal:
            reasons.append(str(refusal))
    raise Unsupported("; ".join(dict.fromkeys(reasons)))
