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
    """For calls without a planned layout: AVX-512 kernels are fastest on channels-last data, older
    ones in the layout that oneDNN picks for `any`."""
    return has_avx512()


def fills_no_blocks(shapes: Iterable[tuple[int, ...]]) -> bool:
    """Whether blocked layouts would contain padding channels, which are computed too."""
    return any(shape[1] > FEW_CHANNELS and shape[1] % AVX2_BLOCK for shape in shapes)


# layouts of images and results of convolutions
CHANNELS_LAST, BLOCKED = "channels-last", "blocked"
# for products and recurrent layers: whose kernels compute them, where both have one
NATIVE, ONEDNN = "native", "oneDNN"
KERNELS = (NATIVE, ONEDNN)
BLOCK = 16
# channels per block in the layouts that oneDNN picks for AVX2
AVX2_BLOCK = 8
# channels per block in blocked layouts on this CPU: one vector
VECTOR = BLOCK if has_avx512() else AVX2_BLOCK
# convolutions read so few channels in plain layout: most of a block would be padding
FEW_CHANNELS = 4


def layout_desc(dtype: DType, shape: tuple[int, ...], layout: str) -> MemDesc:
    """Descriptor of images, or of results of convolutions: channels-last or blocked."""
    if layout != BLOCKED:
        return channels_last_desc(dtype, shape)
    return (default_desc(dtype, shape) if shape[1] <= FEW_CHANNELS
            else blocked_desc(dtype, shape, VECTOR))


def data_candidates(dtype: DType, *shapes: tuple[int, ...],
                    layout: str = "") -> Iterator[tuple[MemDesc, ...]]:
    """Layouts to try for the data tensors of one primitive, best first; those of `layout` come
    first.

    A generator, as mostly the first one is taken.
    """
    if layout == BLOCKED:
        yield tuple([layout_desc(dtype, shape, layout) for shape in shapes])
    first, second = channels_last_desc, any_desc
    if not (layout == CHANNELS_LAST or prefers_channels_last() or fills_no_blocks(shapes)):
        first, second = second, first
    for describe in (first, second, default_desc):
        yield tuple([describe(dtype, shape) for shape in shapes])


# oneDNN's older kernel for depthwise convolutions
DEPTHWISE_KERNEL = "jit_dw:"


def convolution_kernel(groups: int, data: tuple[int, ...], out: tuple[int, ...]) -> str:
    """Prefix of the name of the best kernel for inference; "" leaves the choice to oneDNN."""
    is_depthwise = groups == data[1] == out[1] and groups > 1
    return DEPTHWISE_KERNEL if is_depthwise and prod(out[2:]) >= DEPTHWISE_PIXELS else ""


def first_supported(builders: Iterable[Callable[[], T]]) -> T:
    """What the first builder that succeeds returns; Unsupported with all reasons if none does.

    make_primitive refuses reference implementations, so that the result is fast.
    """
    reasons = []
    for build in builders:
        try:
            return build()
        except Unsupported as refusal:
            reasons.append(str(refusal))
    raise Unsupported("; ".join(dict.fromkeys(reasons)))
