"""Images: tensors, normalizing, sizes, parts, turning, colors (random ones with fixed factors)."""

from __future__ import annotations

from ..call import Array, Call

BYTES = Array((5, 7, 3), 0, 256, "uint8", whole=True)
FLOATS = Array((5, 7, 3), 0, 256)
GRAY = Array((5, 7, 1), 0, 256)
FIXED = {"min_factor": 1.5, "max_factor": 1.5}

CALLS = [
    *(Call("image.to_tensor", [Array(shape, 0, 256, dtype, whole=True)])
      for shape, dtype in (((3, 4, 3), "uint8"), ((2, 3, 4, 1), "float32"), ((2, 2, 2), "int32"))),
    Call("image.normalize", [Array((3, 4, 5))], {"mean": (0.1, 0.2, 0.3), "std": (1, 2, 3)}, (0,)),
    Call("image.normalize", [Array((2, 3, 2, 2))], {"mean": 0.5, "std": (3, 2, 1)}, (0,)),
    Call("image.normalize", [Array((1, 4, 5), dtype="float64")], {"mean": 0.5, "std": 0.25}, (0,),
         grad_req="add"),
    Call("image.normalize", [Array((3, 4, 5), 0, 256, "uint8", whole=True)],
         {"mean": (0, 1, 2), "std": (2, 2, 2)}),
    *(Call("image.resize", [image], {"size": size, "interp": interp}, atol=1e-3)
      for image in (BYTES, FLOATS) for interp in range(5) for size in ((3, 4), (9, 6))),
    Call("image.resize", [Array((8, 6, 3), 0, 256, "uint8", whole=True)], {"size": (3, 4)}),
    Call("image.resize", [Array((8, 6, 1), 0, 256)], {"size": (3, 4)}),
    Call("image.resize", [Array((2, 5, 4, 3), 0, 256, "uint8", whole=True)], {"size": 3}),
    Call("image.resize", [BYTES], {"size": 3, "keep_ratio": True}),
    Call("image.resize", [Array((7, 5, 3), 0, 256)], {"size": 3, "keep_ratio": True}),
    Call("image.crop", [BYTES], {"x": 1, "y": 2, "width": 4, "height": 3}),
    Call("image.crop", [Array((2, 5, 7, 3))], {"x": 0, "y": 1, "width": 3, "height": 2}, (0,)),
    *(Call(f"image.flip_{way}", [image], {}, grads)
      for way in ("left_right", "top_bottom")
      for image, grads in ((Array((4, 6, 3), 0, 256, "uint8", whole=True), ()),
                           (Array((2, 4, 1)), (0,)))),
    *(Call(f"image.flip_{way}", [BYTES], differs="leaves the middle of odd sides as it was")
      for way in ("left_right", "top_bottom")),
    *(Call(f"image.random_flip_{way}", [[[[1], [1]], [[1], [1]]]])
      for way in ("left_right", "top_bottom")),
    *(Call(f"image.random_{what}", [image], FIXED, grads)
      for what in ("brightness", "contrast", "saturation")
      for image, grads in ((BYTES, ()), (FLOATS, (0,)), (GRAY, ()))),
    *(Call("image.random_hue", [image], {"min_factor": turn, "max_factor": turn}, atol=1e-2)
      for turn in (0.0, 0.1, 0.5, 0.9) for image in (FLOATS,)),
    Call("image.random_hue", [BYTES], {"min_factor": 0.1, "max_factor": 0.1},
         differs="what is just below a whole number is cut off to the one below"),
    Call("image.random_color_jitter", [FLOATS],
         {"brightness": 1e-12, "contrast": 1e-12, "saturation": 1e-12, "hue": 1e-12}, (0,),
         atol=1e-2),
    Call("image.random_color_jitter", [BYTES],
         {"brightness": 0.4, "contrast": 0.3, "saturation": 0.2, "hue": 0.1},
         differs="drawn at random"),
    Call("image.adjust_lighting", [BYTES], {"alpha": (0.1, -0.2, 0.3)}),
    Call("image.adjust_lighting", [FLOATS], {"alpha": (0.1, -0.2, 0.3)}, (0,)),
    Call("image.random_lighting", [FLOATS], {"alpha_std": 0.0}, (0,)),
    Call("image.random_lighting", [FLOATS], {}, differs="drawn at random"),
    *(Call(f"image.random_{what}", [BYTES], {"min_factor": 0.5, "max_factor": 1.5},
           differs="drawn at random") for what in ("brightness", "contrast", "saturation", "hue")),
    *(Call("_internal._cvimresize", [image], {"w": 4, "h": 3, "interp": interp}, atol=1e-3)
      for image in (BYTES, FLOATS) for interp in range(5)),
    *(Call("_internal._cvcopyMakeBorder", [image], {"top": 1, "bot": 2, "left": 3, "right": 9,
                                                    "type": kind, "values": (1.0, 2.0, 3.0)})
      for image in (BYTES, FLOATS) for kind in range(5)),
]
