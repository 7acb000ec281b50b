"""tile, repeat, reverse, stack, Pad, diag, blocks of pixels, parts of arrays."""

from __future__ import annotations

from ..call import Array, Call, Given

A = Array((2, 3))
IMAGE = Array((1, 2, 3, 4))
VOLUME = Array((1, 1, 2, 3, 2))
KINDS = ("float64", "float16", "int32", "uint8", "int64")


def whole(*shape: int, dtype: str) -> Array:
    return Array(shape, 0, 9, dtype, whole=True)


CALLS = [
    *(Call("tile", [A], {"reps": reps}, (0,)) for reps in ((2,), (2, 1, 2), (), (3, 2), 2)),
    *(Call("repeat", [A], {"repeats": 2, "axis": axis}, (0,)) for axis in (None, 0, 1, -1)),
    Call("tile", [A], {"reps": (2, 2)}, (0,), grad_req="add"),
    *(Call("flip", [Array((2, 3, 2))], {"axis": axis}, (0,))
      for axis in (0, 2, (0, 1), (), (1, 1))),
    Call("reverse", [A], {"axis": 1}, (0,)),
    *(Call("stack", [A, Array((2, 3), seed=1)], {"axis": axis}, (0, 1))
      for axis in (0, 1, -1, -3)),
    Call("stack", [A], {}, (0,)),
    *(Call(op, [whole(2, 3, dtype=kind)], params, (0,)) for kind in KINDS
      for op, params in (("tile", {"reps": (2, 2)}), ("repeat", {"repeats": 3, "axis": 1}),
                         ("flip", {"axis": 0}), ("diag", {"k": 1}))),
    *(Call("stack", [whole(2, 3, dtype=kind)] * 2, {"axis": 1}, (0, 1)) for kind in KINDS),
    *(Call("pad", [IMAGE], {"mode": mode, "pad_width": (0, 0, 0, 0, 1, 2, 2, 1),
                            "constant_value": 7}, (0,), grad_req=req)
      for mode in ("constant", "edge", "reflect") for req in ("write", "add")),
    *(Call("Pad", [VOLUME], {"mode": mode, "pad_width": (0, 0, 0, 0, 0, 1, 1, 2, 1, 0)}, (0,))
      for mode in ("constant", "edge", "reflect")),
    *(Call("pad", [Array((1, 1, 2, 3), dtype=kind)],
           {"mode": "edge", "pad_width": (0, 0, 0, 0, 1, 1, 0, 2)}, (0,))
      for kind in ("float64", "float16")),
    Call("pad", [IMAGE], {"mode": "constant", "pad_width": (0, 0, 0, 0, -1, 1, 0, 0)}),
    *(Call("diag", [Array((3, 4))], {"k": k}, (0,)) for k in (0, 1, 3, -2)),
    *(Call("diag", [Array((3,))], {"k": k}, (0,)) for k in (0, 2, -1)),
    Call("diag", [Array((2, 3, 2))], {}, (0,)),
    Call("diag", [Array((2, 3, 4))], {"axis1": -1, "axis2": 1, "k": 1}, (0,)),
    Call("diag", [Array((2, 3, 3, 2))], {"axis1": 1, "axis2": 2, "k": -1}, (0,)),
    *(Call(op, [Array((2, 8, 2, 4), dtype=kind)], {"block_size": 2}, (0,))
      for op in ("depth_to_space", "space_to_depth") for kind in ("float32", "float64")),
    Call("depth_to_space", [Array((1, 9, 1, 2))], {"block_size": 3}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": 2, "axis": 1}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": (1, 3), "axis": -1}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": (2, 2), "axis": 1}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": 2, "squeeze_axis": True}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": (1,), "squeeze_axis": True}, (0,)),
    Call("split_v2", [Array((2, 4))], {"indices_or_sections": ()}, (0,)),
    Call("_internal._split_v2", [Array((2, 4))], {"indices": (0, 3)}, (0,)),
    Call("Crop", [Array((1, 2, 4, 5))], {"num_args": 1, "h_w": (2, 2), "offset": (1, 2)}, (0,)),
    Call("Crop", [Array((1, 2, 4, 5))], {"num_args": 1, "h_w": (3, 2), "center_crop": True}, (0,)),
    Call("Crop", [Array((1, 2, 4, 5)), Array((1, 1, 3, 2))], {"num_args": 2, "offset": (0, 1)},
         (0, 1)),
    Call("_internal._slice_assign", [Array((3, 4)), Given([[-1, -2]])],
         {"begin": (0, 1), "end": (1, 3)}),
    Call("_internal._slice_assign", [Array((3, 4)), Array((3, 2), seed=1)],
         {"begin": (None, 3), "end": (None, None), "step": (1, -2)}),
    Call("_internal._slice_assign_scalar", [Array((3, 4))], {"scalar": 9, "begin": (1,),
                                                            "end": (2,)}),
    Call("_internal._slice_assign_scalar", [whole(3, 4, dtype="int32")],
         {"scalar": 9.7, "begin": (None, -3), "end": (2, None)}),
    Call("_internal._slice_assign_scalar", [Array((3, 4))], {"scalar": 9, "begin": (2,),
                                                            "end": (1,)}),
    Call("fill_element_0index", [Array((3, 4)), Given([-1, -2, -3]), Given([0, 3, 1])]),
    Call("khatri_rao", [Array((2, 3)), Array((4, 3), seed=1)]),
    Call("khatri_rao", [Array((2, 2)), Array((1, 2), seed=1), Array((3, 2), seed=2)]),
    Call("khatri_rao", [Array((2, 3), dtype="float64")] * 2),
    *(Call("im2col", [Array((2, 3, 4, 5), dtype=kind)], params, (0,))
      for kind, params in (("float32", {"kernel": (2, 3)}),
                           ("float32", {"kernel": (2, 2), "stride": (2, 1), "dilate": (1, 2),
                                        "pad": (1, 2)}),
                           ("float64", {"kernel": (3, 3), "pad": (1, 1)}))),
    Call("col2im", [Array((2, 12, 12))], {"output_size": (4, 5), "kernel": (2, 2)}, (0,)),
    Call("col2im", [Array((1, 6, 6))], {"output_size": (3, 4), "kernel": (3, 2), "stride": (2, 1),
                                       "pad": (1, 0)}, (0,)),
]
