"""GridGenerator, BilinearSampler, SpatialTransformer, Correlation, proposals, PSROIPooling."""

from __future__ import annotations

from ..call import Array, Call

MATRICES = [[1, 0, 0, 0, 1, 0], [0.7, 0.2, 0.1, -0.3, 1.2, -0.4]]
ROIS = [[0, 1, 1, 5, 4], [1, 0.5, 2.25, 7.5, 6], [1, -3, -2, 2, 3], [0, 4, 4, 2, 2]]
PROB, PRED = Array((2, 12, 5, 6), 0, 1), Array((2, 24, 5, 6))
INFO = [[70, 90, 1.0], [80, 96, 0.5]]
SMALL = {"scales": (1, 2), "ratios": (0.5, 1, 2), "rpn_post_nms_top_n": 12, "rpn_min_size": 8}

CALLS = [
    Call("GridGenerator", [MATRICES], {"transform_type": "affine", "target_shape": (3, 4)}, (0,)),
    Call("GridGenerator", [Array((2, 2, 3, 4))], {"transform_type": "warp"}, (0,)),
    Call("GridGenerator", [MATRICES],
         {"transform_type": "affine", "target_shape": (3, 2)}, (0,), grad_req="add"),
    Call("BilinearSampler", [Array((2, 3, 4, 5)), Array((2, 2, 3, 3), -1.3, 1.3, seed=1)], {},
         (0, 1)),
    Call("BilinearSampler", [Array((1, 1, 4, 5)), [[[[-1, 0, 1]], [[1, 0.5, -1]]]]], {}, (0,)),
    Call("BilinearSampler", [Array((2, 3, 4, 5), dtype="float64"),
                             Array((2, 2, 3, 3), -1.3, 1.3, "float64", 1)], {}, (0, 1)),
    Call("SpatialTransformer", [Array((2, 3, 5, 6)), MATRICES],
         {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (4, 3)}, (0,)),
    Call("SpatialTransformer", [Array((1, 2, 5, 6)), [MATRICES[1]]],
         {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (5, 6)}, (0, 1),
         rtol=1e-4),
    *(Call("Correlation", [Array((2, 3, 7, 8)), Array((2, 3, 7, 8), seed=1)], params, (0, 1))
      for params in (
          {}, {"kernel_size": 3, "max_displacement": 2, "pad_size": 3, "stride2": 2},
          {"max_displacement": 2, "stride1": 2, "pad_size": 2, "is_multiply": False},
          {"kernel_size": 3, "pad_size": 1, "is_multiply": False})),
    Call("contrib.PSROIPooling", [Array((2, 18, 7, 8)), ROIS],
         {"spatial_scale": 1.0, "output_dim": 2, "pooled_size": 3}, (0, 1)),
    Call("contrib.PSROIPooling", [Array((2, 12, 7, 8)), ROIS],
         {"spatial_scale": 0.5, "output_dim": 3, "pooled_size": 3, "group_size": 2}, (0,)),
    Call("contrib.MultiProposal", [PROB, PRED, INFO], SMALL, (0, 1, 2)),
    Call("contrib.MultiProposal", [PROB, PRED, INFO],
         {**SMALL, "output_score": True, "threshold": 0.3}),
    Call("contrib.MultiProposal", [PROB, PRED, INFO],
         {**SMALL, "output_score": True, "iou_loss": True, "rpn_pre_nms_top_n": 20}),
    Call("contrib.Proposal", [Array((1, 24, 4, 4), 0, 1), Array((1, 48, 4, 4)), [[64, 64, 1]]],
         {"rpn_post_nms_top_n": 20, "output_score": True}),
]
