"""Activation, LeakyReLU, Dropout, softmax and its kin."""

from __future__ import annotations

from ..call import Array, Call, Given

X2 = Array((2, 4, 7, 6), -1, 1)
EDGES = Given([[-3, -1, -0.5, 0.0], [0.25, 1, 2, 30]])

CALLS = [
    *(
        Call("Activation", [EDGES], {"act_type": kind}, (0,))
        for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign")
    ),
    *(
        Call("LeakyReLU", [EDGES], params, (0,), rtol=1e-4, atol=1e-5)
        for params in ({}, {"slope": 0.1}, {"act_type": "elu", "slope": 0.5}, {"act_type": "selu"},
                       {"act_type": "gelu"})
    ),
    Call("LeakyReLU", [X2, Array((4,), 0, 1)], {"act_type": "prelu"}, (0, 1), head_scale=10),
    Call("LeakyReLU", [X2, [0.3]], {"act_type": "prelu"}, (0, 1), head_scale=10),
    *(
        Call("LeakyReLU", [EDGES], {"act_type": "rrelu", **bounds}, train=False,
             differs="outside of training MXNet leaves the mask as memory was")
        for bounds in ({}, {"lower_bound": 0.5, "upper_bound": 0.7})
    ),
    Call("Dropout", [X2], {"p": 0.0}, (0,)),
    Call("Dropout", [X2], {"p": 1.0}, (0,)),
    Call("Dropout", [X2], {"p": 1.0, "mode": "always", "axes": (0,)}, train=False),
    Call("Dropout", [X2], {"p": 0.7}, (0,), train=False),
    Call("Dropout", [X2], {"p": 0.5, "axes": (1,)}, (0,), train=False),
    *(
        Call(op, [Array((3, 4, 5), -3, 3)], params, (0,), head_scale=10, rtol=1e-4)
        for op in ("softmax", "log_softmax", "softmin")
        for params in ({}, {"axis": 1}, {"axis": -3}, {"temperature": 2.5})
    ),
    *(
        Call("softmax", [Array((3, 4), -3, 3), Given([0, 4, 2], kind)],
             {"use_length": True, "axis": 1}, (0,))
        for kind in ("int32", "int64")
    ),
    Call("softmax", [Array((2, 3, 4), -3, 3), Given([[0, 1, 2, 3], [3, 2, 1, 0]], "int32")],
         {"use_length": True, "axis": 1, "temperature": 0.5}, (0,)),
    # MXNet rounds to float16 (here float32) what goes into exp
    Call("softmax", [Array((3, 4), dtype="float16")], {"dtype": "float32"}, (0,), rtol=2e-3),
    Call("softmax", [Array((3, 4))], {"dtype": "float64"}, (0,), rtol=2e-6),
    Call("softmax", [Array((3, 4))], {}, (0,), grad_req="add"),
]
