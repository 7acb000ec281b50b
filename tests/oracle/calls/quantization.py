"""Quantization: whole numbers of 8 bits, their ranges, layers on them.

Products stay below what 16 bits hold, two by two: MXNet's own saturate beyond on some CPUs.
"""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

MIXED = ("without calibration MXNet cuts off all of the uint8 array but a 127; with calibration it "
         "rounds that array before it adds")


def ends(*values: float) -> list[Given]:
    return [Given([value]) for value in values]


def s8(*shape: int, seed: int = 0, most: int = 128) -> Array:
    return Array(shape, -most, most, "int8", seed, whole=True)


def u8(*shape: int, seed: int = 0, most: int = 256) -> Array:
    return Array(shape, 0, most, "uint8", seed, whole=True)


def s32(*shape: int, most: float = 2e9) -> Array:
    return Array(shape, -most, most, "int32", whole=True)


X = Array((2, 5, 3, 4), -2.5, 2.0)
FLAT = Array((3, 7), -0.8, 2.0, seed=3)
CALIBRATED: dict[str, Any] = {"min_calib_range": -1.3, "max_calib_range": 0.9}
POSITIVE: dict[str, Any] = {"min_calib_range": 0.0, "max_calib_range": 1.7}
C = "contrib."
HIST = Given([round(3000 / (1 + abs(i - 150) / 9) ** 2) for i in range(301)])
EDGES = Given([(i - 150.5) / 40 for i in range(302)])
SPARSE = Given([40 * (i % 7 == 0) + (i == 11) for i in range(301)])

ALL = [
    *(Call(C + "quantize", [x, *ends(*r)], {"out_type": dtype})
      for x in (X, FLAT) for dtype in ("int8", "uint8") for r in ((-1.0, 1.5), (0.0, 2.0))),
    *(Call(C + "quantize_v2", [x], {"out_type": dtype, **given})
      for x in (X, FLAT) for dtype in ("auto", "int8", "uint8")
      for given in ({}, CALIBRATED, POSITIVE)),
    Call(C + "quantize_v2", [FLAT], {"min_calib_range": 0.5}),
    *(Call(C + "quantize_v2", [x], {"out_type": dtype, **given})
      for x, dtype in ((s8(3, 4), "int8"), (u8(3, 4), "uint8")) for given in ({}, CALIBRATED)),
    Call(C + "quantize_asym", [Array((4, 2, 6), -1.5, 3.0)]),
    Call(C + "quantize_asym", [Array((4, 2, 6), -1.5, 3.0)], CALIBRATED),
    *(Call(C + "dequantize", [x, *ends(-1.5, 2.25)])
      for x in (s8(2, 5, 3, 4), u8(2, 5, 3, 4), s8(3, 7), u8(9))),
    *(Call(C + "requantize", [s32(2, 5, 3, 4), *ends(-9.5, 10.25)], {"out_type": dtype, **given})
      for dtype in ("auto", "int8", "uint8") for given in ({}, CALIBRATED, POSITIVE)),
    Call(C + "requantize", [s32(3, 7, most=90000), *ends(-4000.0, 3000.0)]),
    *(Call(C + "quantized_conv", [u8(2, 5, 7, 6), s8(8, 5, 3, 3, most=60), s8(8),
                                  *ends(0.0, 2.5, -0.7, 0.9, -1.5, 1.0)],
           {"kernel": (3, 3), "num_filter": 8, **more})
      for more in ({}, {"pad": (1, 1), "stride": (2, 2)}, {"dilate": (2, 1), "pad": (2, 0)})),
    Call(C + "quantized_conv", [u8(2, 5, 7, 6), s8(8, 5, 1, 1, most=60), *ends(0., 2.5, -.7, .9)],
         {"kernel": (1, 1), "num_filter": 8, "no_bias": True}),
    Call(C + "quantized_conv", [u8(1, 2, 4, 5, 3), s8(3, 2, 2, 2, 2, most=60),
                                *ends(0., 2.5, -.7, .9)],
         {"kernel": (2, 2, 2), "num_filter": 3, "no_bias": True, "layout": "NCDHW"}),
    *(Call(C + "quantized_fully_connected", [x, s8(4, 30, most=60), s8(4),
                                             *ends(low, 2.5, -0.7, 0.9, -1.5, 1.0)],
           {"num_hidden": 4})
      for x, low in ((s8(3, 30), -1.0), (u8(3, 30), 0.0), (u8(3, 2, 5, 3), 0.0))),
    *(Call(C + "quantized_fully_connected", [x, s8(4, 9, most=60), *ends(-1.0, 2.5, -0.7, 0.9)],
           {"num_hidden": 4, "no_bias": True, "flatten": False})
      for x in (s8(3, 2, 9), u8(3, 2, 9))),
    *(Call(C + "quantized_pooling", [x, *ends(-1.5, 2.25)],
           {"kernel": (2, 3), "pool_type": kind, **more})
      for x in (s8(2, 5, 6, 7), u8(2, 5, 6, 7)) for kind in ("max", "avg")
      for more in ({}, {"pad": (1, 1), "stride": (2, 2)}, {"global_pool": True},
                   {"pad": (1, 1), "count_include_pad": False},
                   {"pooling_convention": "full", "stride": (3, 2)})),
    Call(C + "quantized_pooling", [u8(1, 2, 4, 5, 3), *ends(-1.5, 2.25)],
         {"kernel": (2, 2, 2), "pool_type": "avg"}),
    *(Call(C + "quantized_concat", [a, b, *ends(-1.5, 2.25, -0.5, 3.0)], {"num_args": 2, "dim": 1})
      for a, b in ((s8(2, 5, 3, 4), s8(2, 4, 3, 4, seed=1)), (u8(2, 5, 3, 4), s8(2, 4, 3, 4)),
                   (s8(2, 5, 3, 4), u8(2, 4, 3, 4)), (u8(2, 5), u8(2, 4, seed=1)))),
    Call(C + "quantized_concat", [s8(2, 5), s8(2, 5, seed=1), s8(2, 5, seed=2),
                                  *ends(-2.0, 1.5, -0.5, 2.0, 0.5, 1.0)],
         {"num_args": 3, "dim": 0}),
    *(Call(C + "quantized_act", [s8(*shape), *ends(-1.5, 2.25)], {"act_type": "relu"})
      for shape in ((2, 5, 3, 4), (3, 7))),
    Call(C + "quantized_flatten", [u8(2, 5, 3, 4), *ends(-1.5, 2.25)]),
    Call(C + "quantized_flatten", [s8(2, 5, 3, 4), *ends(-1.5, 2.25)]),
    *(Call(C + "quantized_elemwise_add", [a, b, *ends(-1.5, 2.25, -0.5, 3.0)], given)
      for a, b in ((s8(2, 5, 3, 4), s8(2, 5, 3, 4, seed=1)), (u8(3, 7), u8(3, 7, seed=1)))
      for given in ({}, CALIBRATED, POSITIVE)),
    *(Call(C + "quantized_elemwise_add", [s8(3, 7), u8(3, 7), *ends(-1.5, 2.25, 0.0, 3.0)], given,
           differs=MIXED) for given in ({}, CALIBRATED)),
    *(Call(C + "quantized_batch_norm",
           [x, Array((5,), 0.5, 1.5), Array((5,), seed=1), Array((5,), seed=2),
            Array((5,), 0.3, 2.0, seed=3), *ends(-1.5, 2.25)], {**CALIBRATED, **more})
      for x in (s8(4, 5, 3, 4), u8(4, 5, 3, 4)) for more in ({}, {"eps": 0.1})),
    Call(C + "quantized_embedding", [Given([0, 3, 7, -1, 1.7]), s8(4, 3), *ends(-1.0, 2.0)],
         {"input_dim": 4, "output_dim": 3}),
    Call(C + "quantized_embedding", [Given([[0, 3], [7, -1]], "int32"), s8(4, 3), *ends(-1., 2.)],
         {"input_dim": 4, "output_dim": 3}),
    # numbers whose products MXNet can add up on CPUs without VNNI
    *(Call(C + "quantized_rnn",
           [u8(4, 2, 5, most=128), Array(((1 + both) * 4 * 3 * 10,), -0.5, 0.5),
            Array((1 + both, 2, 3), seed=1), Array((1 + both, 2, 3), seed=2), *ends(64.0, 64.0)],
           {"state_size": 3, "num_layers": 1, "mode": "lstm", "bidirectional": both,
            "state_outputs": told}) for both, told in ((False, True), (True, True), (True, False))),
    *(Call(C + "calibrate_entropy", [hist, EDGES], {"num_quantized_bins": bins})
      for hist in (HIST, SPARSE) for bins in (31, 63, 255)),
]
# in training MXNet's pooling wants room that it does not take
CALLS = [call._replace(train=False) for call in ALL]
