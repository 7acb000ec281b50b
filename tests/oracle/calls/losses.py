"""SoftmaxOutput, regressions, MakeLoss, make_loss, BlockGrad."""

from __future__ import annotations

from typing import Any

from ..call import Array, Call, Given

SCORES, LABELS = Array((4, 5), -2, 2), [0, 3, 4, 1]
MAP, MAP_LABELS = Array((2, 3, 2, 2), -2, 2), [[[0, 1], [2, 1]], [[2, 2], [0, 1]]]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"grad_scale": 0.3},
    {"use_ignore": True, "ignore_label": 3},
    {"smooth_alpha": 0.2},
    {"use_ignore": True, "ignore_label": 4, "smooth_alpha": 0.1, "grad_scale": 2.0},
]
SUMS = ("null", "batch", "valid")

CALLS = [
    *(
        Call("SoftmaxOutput", [SCORES, LABELS], {"normalization": how, **options}, (0, 1))
        for how in SUMS
        for options in OPTIONS
    ),
    *(
        Call("SoftmaxOutput", [MAP, MAP_LABELS],
             {"normalization": how, "multi_output": True, **options}, (0,))
        for how in SUMS
        for options in ({}, {"use_ignore": True, "ignore_label": 2, "grad_scale": 0.5})
    ),
    Call("SoftmaxOutput", [Array((2, 3, 4), -2, 2), [[0, 1, 2], [3, 3, 1]]],
         {"preserve_shape": True}, (0,)),
    Call("SoftmaxOutput", [Array((2, 3, 4), -2, 2), [[0, 1, 2], [3, 3, 1]]], {}, (0,)),
    Call("SoftmaxOutput", [SCORES, Array((4, 5), 0, 1)], {"grad_scale": 0.5}, (0,)),
    Call("SoftmaxOutput", [SCORES._replace(dtype="float64"), Given(LABELS, "float64")], {}, (0,)),
    Call("SoftmaxOutput", [SCORES, LABELS], {}, (0,), grad_req="add"),
    Call("SoftmaxOutput", [SCORES, LABELS], {"out_grad": True}, (0,),
         differs="the gradient is multiplied by the head gradient, as documented"),
    Call("Softmax", [SCORES, LABELS], {}, (0,)),
    *(
        Call(f"{kind}RegressionOutput", [data, label], {"grad_scale": scale}, (0, 1))
        for kind in ("Linear", "Logistic", "MAE")
        for data, label in (
            (SCORES, Array((4, 5), seed=3)),
            (Array((4, 1), -2, 2), Array((4,), seed=3)),
            (Array((4,), -2, 2), Array((4,), seed=3)),
            (MAP, Array((2, 3, 2, 2), seed=3)),
        )
        for scale in (1.0, 0.3)
    ),
    Call("LinearRegressionOutput", [SCORES, Array((4, 5), seed=3)], {}, (0,), grad_req="add",
         differs="MXNet adds the difference before it is scaled, too"),
    Call("MAERegressionOutput", [[[1.0, 2.0]], [[1.0, 3.0]]], {}, (0,)),
    *(
        Call("MakeLoss", [SCORES],
             {"grad_scale": 0.3, "normalization": how, "valid_thresh": 0.5}, (0,))
        for how in SUMS
    ),
    Call("MakeLoss", [SCORES], {}, (0,), grad_req="add"),
    Call("make_loss", [SCORES], {}, (0,)),
    Call("BlockGrad", [SCORES], {}, (0,)),
    Call("stop_gradient", [SCORES], {}, (0,)),
]
