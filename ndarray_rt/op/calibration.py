"""Where one kernel is faster than another, as measured: the one table of thresholds.

Machine: AMD EPYC (Zen 4, AVX-512, 1 MiB of second cache a core), 2 cores, one or two threads,
float32, oneDNN 3.2; 21 to 25 November 2026. What differs without AVX-512: AMD EPYC (Zen 3, AVX2,
512 KiB of second cache a core), one thread, other work beside it; 26 November 2026. On another
machine the numbers may lie elsewhere: what they decide between is right on both sides of them.
`Executor.tune` measures in their place.
"""

from __future__ import annotations

from ..cpu_level import has_avx512

# ---- products of rows with a weight that is kept packed, by the packed GEMM ----------------------

# Columns of a block where rows are pixels, best first: half of each line that a CPU fetches ahead
# from wider ones is for later.
WIDTHS_FOR_PIXELS = (32, 64, 16) if has_avx512() else (16, 24, 32)
# the same where rows are those of a layer, and more than a few
WIDTHS_FOR_ROWS = (64, 32, 48, 16) if has_avx512() else (16, 24, 32)
# Of more pixels oneDNN's product is up to 2 % faster; of more features a block of columns and the
# data do not fit into the second cache together. With AVX2 oneDNN's convolution takes 1.04 to 1.14
# times as long for 12,544 to 50,176 pixels, the most that were measured (0.93 of 2048 features).
MOST_PIXELS, MOST_FEATURES = 8192 if has_avx512() else 1 << 20, 2048
# With AVX2 oneDNN's convolution of fewer weights than this is up to 6 % faster than products of
# pixels; of more it takes 1.0 to 1.3 times as long.
LEAST_WEIGHTS = 0 if has_avx512() else 4097
# Of so many rows of a layer the packed GEMM is as fast as oneDNN's or, with two threads, up to 1.2
# times as fast, and it needs nothing made for a number of rows; of 1024 oneDNN's is up to half a
# percent faster.
MOST_ROWS = 256
# Of up to 3 rows the skinny GEMM takes with AVX2 as long as oneDNN's product or less; of 4 up to
# 1.6 times as long, where the weights are in a cache.
MOST_FEW = 4 if has_avx512() else 3

# ---- recurrent layers ----------------------------------------------------------------------------

# Samples of LSTM layers, of up to 3 of which the kernel for few of them took 0.69 to 0.92 of the
# time of oneDNN's layer with AVX2 (20 steps, states of 128 to 512), of 4 from 0.9 to 1.19.
MOST_SAMPLES = 4 if has_avx512() else 3

# ---- oneDNN's inner product ----------------------------------------------------------------------

# oneDNN takes narrow blocks of columns where there are few rows, and then many rows at a time. If a
# row is so many features or a multiple of them, all rows lie in the same few sets of the first
# cache, and narrow blocks are half as fast as wide ones. They are faster only where threads can not
# share wide ones evenly.
ALIASING = 512
WIDE, LEAST_OF_REUSED = 64, 32 if has_avx512() else 16
# below it the last of wide blocks would be padding for a good part
LEAST_OF_WIDE = 128

# ---- convolutions --------------------------------------------------------------------------------

# of fewer channels than this oneDNN's convolution of one pixel makes more channels at least as fast
# as its inner product, which is up to 2.7 times as fast elsewhere
LEAST_CHANNELS = 48
# Multiply-adds of an image, for each thread that shares them out, from which a primitive of one
# image, run for each, takes as long as one of the whole batch within 5 % (images of 7x7 to 56x56;
# within 3 % from 12 million on, with 2 million up to 25 % longer). Such layers take little of a
# network's time.
LEAST_IMAGE_WORK = 3_000_000
# oneDNN's newer kernel of depthwise convolutions comes first in its list, but on images of at least
# so many pixels the older one is faster (up to 1.5 times; with AVX2 on all, 1.1 to 1.4 times).
DEPTHWISE_PIXELS = 100 if has_avx512() else 0
# Of images of at least so many pixels our kernel is faster than both. With AVX2 it takes up to 1.35
# times as long of smaller ones, and up to 1.1 times where the pixels that it reads one behind the
# other are a multiple of so many numbers apart: they lie in the same sets of the first cache.
LEAST_DEPTHWISE_PIXELS, ALIASING_PIXELS = (0, 0) if has_avx512() else (100, 512)
# Windows of images of a few channels of which the direct kernel is faster than oneDNN's. With AVX2
# that of 3x3 is 0.91 to 1.09 times as fast, of 5x5 and 7x7 0.7 to 0.8 times; from 9x9 on oneDNN has
# only its general product, which takes two to three times as long.
FEW_CHANNELS_WINDOWS: tuple[tuple[int, int], ...] = ((2, 2), (3, 3))
if not has_avx512():
    FEW_CHANNELS_WINDOWS += (9, 9), (10, 10), (11, 11)
# Products of windows with AVX2: the windows of which oneDNN's convolution takes 1.0 to 1.4 times as
# long, and from how many channels on. Of fewer it is up to 15 % faster, of 5x5 and 7x7 up to 35 %;
# of images of fewer pixels, and of fewer filters behind the last whole block, up to 15 % too.
LEAST_CHANNELS_OF_WINDOWS: dict[tuple[int, ...], int] = (
    {} if has_avx512() else {(3, 3): 8, (1, 1): 128})
LEAST_PIXELS_OF_WINDOWS, LEAST_OF_LAST_BLOCK = 49, 9
# pixels of a window, from which on oneDNN's kernel for these images writes blocks faster than
# channels-last results
LEAST_BLOCKED_WINDOW = 10
# Of a normed convolution: a strip's pixels take so many bytes for each thread, half of what a
# core's second cache holds, and there are at most so many strips.
STRIP_BYTES, MOST_STRIPS = (512 if has_avx512() else 256) << 10, 16
# of more pixels of a normed convolution oneDNN's product is 2 to 5 % faster than the packed GEMM,
# of 196 as fast and of 49 up to 10 % slower; with AVX2 it takes 16 % longer over all of a network
MOST_NORMED_PIXELS = 512 if has_avx512() else 16384
# Of a separable convolution, in bytes: what lies between its convolutions, of which less stays in a
# core's second cache from one layer to the next; the rows of it that a thread has at a time, of
# which more do not stay there; the weights of the 1x1 convolutions, which all rows read again.
LEAST_BETWEEN, MOST_AT_A_TIME, MOST_SEPARABLE_WEIGHTS = 512 << 10, 1 << 20, 128 << 10

# ---- pooling -------------------------------------------------------------------------------------

# Elements that the windows of an image read, for each thread that shares them out, from which a
# primitive of one image, run for each, takes as long as one of the whole batch (images of 7x7 to
# 112x112, in batches of 2 and 16; with 40,000 it takes up to 7 % longer).
LEAST_POOLING_WORK = 100_000

# ---- layouts: a model, in place of measuring -----------------------------------------------------

# of one core: what a good kernel reaches, and what comes from memory where caches are too small
FLOPS_PER_MS = 100e6
BYTES_PER_MS = 8e6
# tensors above this come from memory and not from a cache
LARGE = 4 << 20
# time of a convolution in 16-blocked layouts over its time in channels-last, with the package's own
# kernels, which are for channels-last: by kind, and whether tensors are large
BLOCKED_OVER_LAST = {
    ("first", False): 0.87, ("first", True): 0.87,
    ("dense", False): 1.5, ("dense", True): 1.3,
    ("pointwise", False): 1.06, ("pointwise", True): 1.0,
    ("depthwise", False): 1.0, ("depthwise", True): 1.0,
}
