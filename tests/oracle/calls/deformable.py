"""Deformable convolutions: groups, strides, offsets beyond the image."""

from __future__ import annotations

from ..call import Array, Call

DATA = Array((2, 4, 6, 7))
MODULATED = [DATA, Array((2, 18, 6, 7), -2.3, 2.3, seed=1), Array((2, 9, 6, 7), seed=2),
             Array((6, 4, 3, 3), seed=3), Array((6,), seed=4)]

CALLS = [
    Call("contrib.DeformableConvolution",
         [DATA, Array((2, 18, 6, 7), -2.3, 2.3, seed=1), Array((6, 4, 3, 3), seed=2),
          Array((6,), seed=3)],
         {"kernel": (3, 3), "pad": (1, 1), "num_filter": 6}, (0, 1, 2, 3), head_scale=100,
         rtol=1e-4),
    Call("contrib.DeformableConvolution",
         [DATA, Array((2, 24, 3, 3), -2.3, 2.3, seed=1), Array((4, 2, 3, 2), seed=2)],
         {"kernel": (3, 2), "pad": (1, 0), "stride": (2, 2), "dilate": (1, 2), "num_filter": 4,
          "num_group": 2, "num_deformable_group": 2, "no_bias": True}, (0, 1, 2), head_scale=100,
         rtol=1e-4),
    Call("contrib.ModulatedDeformableConvolution", MODULATED,
         {"kernel": (3, 3), "pad": (1, 1), "num_filter": 6}, rtol=1e-4),
]
