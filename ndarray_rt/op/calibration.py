"""Measured thresholds at which one kernel becomes faster than another: the one table of them.

Machine: AMD EPYC (Zen 4, AVX-512, 1 MiB of L2 cache per core), 2 cores, one or two threads,
float32, oneDNN 3.2; 21 to 25 November 2026. For AVX2: AMD EPYC (Zen 3, 512 KiB of L2 cache per
core), one thread, with other work running; 26 November 2026. Other machines may have other
thresholds: both kernels are correct on either side, and `Executor.tune` measures instead.
"""

from __future__ import annotations

from ..cpu_level import has_avx512

# ---- GEMM with a prepacked weight ----------------------------------------------------------------

# Columns of a weight block where rows are pixels, best first: of wider blocks the CPU prefetches
# lines of which half is used only later.
WIDTHS_FOR_PIXELS = (32, 64, 16) if has_avx512() else (16, 24, 32)
# the same where rows are samples of a dense layer, and more than a few
WIDTHS_FOR_ROWS = (64, 32, 48, 16) if has_avx512() else (16, 24, 32)
# For more pixels oneDNN's GEMM is up to 2 % faster; for more features a block of columns and the
# data do not fit into L2 together. With AVX2 oneDNN's convolution takes 1.04 to 1.14 times as long
# for 12,544 to 50,176 pixels, the most that were measured (0.93 for 2048 features).
MOST_PIXELS, MOST_FEATURES = 8192 if has_avx512() else 1 << 20, 2048
# With AVX2 oneDNN's convolution is up to 6 % faster for weights smaller than this; for larger ones
# it takes 1.0 to 1.3 times as long as the packed GEMM.
LEAST_WEIGHTS = 0 if has_avx512() else 4097
# For groups of up to 7 channels oneDNN has only its GEMM, which takes 4 to 12 times as long as the
# packed one (measured with AVX2); for 8 its convolution takes 1.0 to 1.4 times as long with AVX2,
# for more 0.8 to 1.1 times.
MOST_OF_GROUP = 7 if has_avx512() else 8
# For this many rows the packed GEMM is as fast as oneDNN's or, with two threads, up to 1.2 times as
# fast, and needs no primitive for each number of rows; for 1024 oneDNN's is up to 0.5 % faster.
MOST_ROWS = 256
# With AVX2 the skinny GEMM takes at most as long as oneDNN's for up to 3 rows, and up to 1.6 times
# as long for 4 if the weights are in a cache.
MOST_FEW = 4 if has_avx512() else 3

# ---- recurrent layers ----------------------------------------------------------------------------

# Samples up to which the LSTM kernel for few samples is faster with AVX2: 0.69 to 0.92 of the time
# of oneDNN's layer for up to 3, 0.9 to 1.19 for 4 (20 steps, states of 128 to 512).
MOST_SAMPLES = 4 if has_avx512() else 3

# ---- oneDNN's inner product ----------------------------------------------------------------------

# With few rows oneDNN picks narrow blocks of columns and many rows at a time. If the length of a
# row is a multiple of this many features, all rows map to the same few sets of the L1 cache, and
# narrow blocks are half as fast as wide ones. They are faster only where threads can not share wide
# blocks evenly.
ALIASING = 512
WIDE, LEAST_OF_REUSED = 64, 32 if has_avx512() else 16
# with fewer columns much of the last wide block would be padding
LEAST_OF_WIDE = 128

# ---- convolutions --------------------------------------------------------------------------------

# With few input channels and more output channels, oneDNN's convolution of one pixel is at least as
# fast as its inner product, which is up to 2.7 times as fast otherwise
LEAST_CHANNELS = 48
# Multiply-adds of one image per thread from which running a primitive for one image on each image
# takes as long as one for the whole batch within 5 % (images of 7x7 to 56x56; within 3 % from
# 12 million on, up to 25 % longer with 2 million). Such layers take little of a network's time.
LEAST_IMAGE_WORK = 3_000_000
# oneDNN's newer depthwise kernel is first in its list, but for images of at least this many pixels
# the older one is up to 1.5 times as fast (with AVX2 for all sizes, 1.1 to 1.4 times).
DEPTHWISE_PIXELS = 100 if has_avx512() else 0
# For images of at least this many pixels the native depthwise kernel is faster than both.
# With AVX2 it takes up to 1.35 times as long for smaller images, and up to 1.1 times where the
# pixels that it reads are a multiple of this many numbers apart: those map to the same sets of the
# L1 cache.
LEAST_DEPTHWISE_PIXELS, ALIASING_PIXELS = (0, 0) if has_avx512() else (100, 512)
# Windows for which the direct convolution of images with few channels is faster than oneDNN's. With
# AVX2 its speed is 0.91 to 1.09 times oneDNN's for 3x3, 0.7 to 0.8 times for 5x5 and 7x7; from 9x9
# on oneDNN has only its general GEMM, which takes two to three times as long.
FEW_CHANNELS_WINDOWS: tuple[tuple[int, int], ...] = ((2, 2), (3, 3))
if not has_avx512():
    FEW_CHANNELS_WINDOWS += (9, 9), (10, 10), (11, 11)
# Direct convolution with AVX2: the windows for which oneDNN's takes 1.0 to 1.4 times as long, and
# the fewest channels. For fewer channels oneDNN's is up to 15 % faster, for 5x5 and 7x7 up to 35 %,
# and up to 15 % for smaller images and for fewer filters in the last, partial block.
LEAST_CHANNELS_OF_WINDOWS: dict[tuple[int, ...], int] = (
    {} if has_avx512() else {(3, 3): 8, (1, 1): 128})
LEAST_PIXELS_OF_WINDOWS, LEAST_OF_LAST_BLOCK = 49, 9
# pixels of a window from which oneDNN's kernel for these images is faster with a blocked result
# than with a channels-last one
LEAST_BLOCKED_WINDOW = 10
# A convolution fused with batch norm works on strips of pixels: bytes of a strip per thread, half
# of a core's L2 cache, and the most strips.
STRIP_BYTES, MOST_STRIPS = (512 if has_avx512() else 256) << 10, 16
# For more pixels oneDNN's GEMM is 2 to 5 % faster in a convolution fused with batch norm than the
# packed GEMM, as fast for 196 and up to 10 % slower for 49; with AVX2 it takes 16 % longer over a
# whole network.
MOST_NORMED_PIXELS = 512 if has_avx512() else 16384
# Separable convolution, in bytes: size of the tensor between its convolutions below which it stays
# in L2 from one layer to the next; rows of it that one thread holds, of which more would not stay
# in L2; size of the weights of the 1x1 convolutions, which are read again for each row.
LEAST_BETWEEN, MOST_AT_A_TIME, MOST_SEPARABLE_WEIGHTS = 512 << 10, 1 << 20, 128 << 10

# ---- pooling -------------------------------------------------------------------------------------

# Elements read by the windows of one image per thread from which running a primitive for one image
# on each image takes as long as one for the whole batch (images of 7x7 to 112x112, batches of 2 and
# 16; up to 7 % longer with 40,000).
LEAST_POOLING_WORK = 100_000

# ---- functions element by element ---------------------------------------------------------------

# With AVX2 oneDNN's tanh, also inside gelu_tanh and as a post-op, looks its polynomials up in a
# table: 3.6 ns an element where the native kernel takes 1.1.
SLOW_POST_OPS = frozenset[str]() if has_avx512() else frozenset({"tanh", "gelu_tanh"})

# ---- layouts: a cost model, used without measurements --------------------------------------------

# of one core: operations per millisecond of a good kernel, bytes per millisecond from memory
FLOPS_PER_MS = 100e6
BYTES_PER_MS = 8e6
# larger tensors come from memory and not from a cache
LARGE = 4 << 20
# time of a convolution in layouts of 16-channel blocks over its time in channels-last, for which
# native kernels are written: by kind, and whether tensors are large
BLOCKED_OVER_LAST = {
    ("first", False): 0.87, ("first", True): 0.87,
    ("dense", False): 1.5, ("dense", True): 1.3,
    ("pointwise", False): 1.06, ("pointwise", True): 1.0,
    ("depthwise", False): 1.0, ("depthwise", True): 1.0,
}
