"""UpSampling, resizing, adaptive pooling, SVMOutput, CTCLoss, SyncBatchNorm, SoftmaxActivation."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

IMAGE = Array((2, 2, 4, 5), -2, 2)
SMALL = Array((2, 2, 2, 3), -2, 2, seed=2)
FLIPPED = "the gradient is that of what the forward gives"
SIZES: list[dict[str, Any]] = [
    {"height": 6, "width": 7},
    {"height": 6, "width": 7, "align_corners": False},
    {"height": 2, "width": 3},
    {"height": 2, "width": 3, "align_corners": False},
    {"height": 1, "width": 1},
    {"height": 4, "width": 5},
    {"height": 9, "width": 1, "align_corners": False},
    {"scale_height": 2.0, "scale_width": 0.7},
    {"scale_height": 1.5, "scale_width": 2.0, "align_corners": False},
    {"scale_height": 1.5, "scale_width": 2.0, "mode": "odd_scale"},
    {"scale_height": 0.5, "scale_width": 0.5, "mode": "odd_scale"},
    {"mode": "to_even_down"},
    {"mode": "to_even_up"},
    {"mode": "to_odd_down"},
    {"mode": "to_odd_up"},
]
SPEECH = Array((6, 3, 5), -2, 2, seed=3)
LABELS = [[1, 2, 0], [3, 3, 1], [0, 0, 0]]
LENGTHS = [6, 5, 3]

CALLS = [
    *(
        Call("contrib.BilinearResize2D", [IMAGE], size, (0,), head_scale=20, rtol=1e-4)
        for size in SIZES
    ),
    Call("contrib.BilinearResize2D", [IMAGE, SMALL], {"mode": "like"}, (0, 1), head_scale=10),
    Call("contrib.BilinearResize2D", [IMAGE._replace(dtype="float64")],
         {"height": 3, "width": 8}, (0,), rtol=1e-6, atol=1e-5),
    Call("contrib.BilinearResize2D", [IMAGE], {"height": 3, "width": 8}, (0,), grad_req="add"),
    *(
        Call("contrib.AdaptiveAvgPooling2D", [IMAGE], {"output_size": size}, (0,), head_scale=10)
        for size in (1, (2,), (3, 2), (6, 7), (4, 5))
    ),
    Call("contrib.AdaptiveAvgPooling2D", [IMAGE], {}, (0,)),
    Call("contrib.AdaptiveAvgPooling2D", [IMAGE._replace(dtype="float64")], {"output_size": 3},
         (0,)),
    Call("contrib.AdaptiveAvgPooling2D", [IMAGE], {"output_size": 3}, (0,), grad_req="add"),
    Call("UpSampling", [SMALL], {"scale": 2, "sample_type": "nearest"}, (0,), head_scale=10),
    Call("UpSampling", [SMALL], {"scale": 1, "sample_type": "nearest"}, (0,), head_scale=10),
    Call("UpSampling", [SMALL._replace(dtype="float64")], {"scale": 3, "sample_type": "nearest"},
         (0,)),
    Call("UpSampling", [SMALL, Array((2, 3, 4, 6), seed=4)],
         {"scale": 2, "sample_type": "nearest", "num_args": 2}, (0, 1), head_scale=10),
    Call("UpSampling", [SMALL, SMALL._replace(seed=5), Array((2, 2, 4, 6), seed=6)],
         {"scale": 2, "sample_type": "nearest", "num_args": 3, "multi_input_mode": "sum"},
         (0, 1, 2), head_scale=10),
    Call("UpSampling", [SMALL], {"scale": 2, "sample_type": "nearest"}, (0,), grad_req="add"),
    *(
        Call("UpSampling", [SMALL, Array((2, 1, size, size), seed=8)],
             {"scale": scale, "sample_type": "bilinear", "num_filter": 2, "num_args": 2}, (0, 1),
             head_scale=20)
        for scale, size in ((2, 4), (3, 5), (1, 1), (4, 8))
    ),
    *(
        Call("SVMOutput", [Array((4, 5), -2, 2), [0, 3, 4, 7]],
             {"use_linear": linear, "margin": margin, "regularization_coefficient": scale},
             (0, 1))
        for linear in (False, True)
        for margin, scale in ((1.0, 1.0), (0.5, 0.3))
    ),
    Call("SVMOutput", [Array((2, 3, 4), -2, 2), [[0, 1, 2], [3, 3, 1]]], {}, (0,)),
    Call("SVMOutput", [Array((4, 5), -2, 2), [0, 3, 4, 1]], {}, (0,), grad_req="add"),
    Call("CTCLoss", [SPEECH, LABELS], {}, (0, 1)),
    Call("ctc_loss", [SPEECH, [[1, 2, -1], [3, 3, 1], [-1, -1, -1]]], {"blank_label": "last"},
         (0,)),
    Call("contrib.CTCLoss", [SPEECH, LABELS, LENGTHS], {"use_data_lengths": True}, (0,)),
    Call("CTCLoss", [SPEECH, LABELS, LENGTHS, [2, 3, 0]],
         {"use_data_lengths": True, "use_label_lengths": True}, (0,)),
    Call("contrib.ctc_loss", [SPEECH, [[0, 1, 2], [2, 2, 2], [3, 1, 3]], LENGTHS, [1, 3, 2]],
         {"use_data_lengths": True, "use_label_lengths": True, "blank_label": "last"}, (0,)),
    Call("CTCLoss", [SPEECH, LABELS, [2, 3, 0]], {"use_label_lengths": True}, (0,)),
    Call("CTCLoss", [Array((3, 2, 4), seed=4), [[1, 1, 1], [1, 2, 3]]], {}),
    Call("CTCLoss", [SPEECH, Given(LABELS, "int32")], {}),
    Call("CTCLoss", [SPEECH, LABELS], {}, (0,), grad_req="add"),
    *(
        Call("contrib.SyncBatchNorm",
             [IMAGE, Array((2,), 0.5, 1.5), Array((2,), seed=1), Array((2,), seed=2),
              Array((2,), 0.5, 2, seed=3)],
             {"key": "k", **params}, (0, 1, 2), (3, 4), head_scale=20)
        for params in ({}, {"fix_gamma": False, "eps": 0.1, "momentum": 0.5},
                       {"fix_gamma": False, "use_global_stats": True},
                       {"fix_gamma": False, "output_mean_var": True})
    ),
    Call("SoftmaxActivation", [Array((3, 5), -2, 2)], {}, (0,)),
    Call("SoftmaxActivation", [Array((2, 3, 4), -2, 2)], {"mode": "channel"}, (0,)),
    Call("SoftmaxActivation", [IMAGE], {"mode": "channel"}, (0,), head_scale=10),
    Call("SoftmaxActivation", [Array((2, 3, 4), -2, 2)], {}),
    Call("SoftmaxActivation", [Array((2, 3, 4), -2, 2)], {}, (0,), differs=FLIPPED),
]
