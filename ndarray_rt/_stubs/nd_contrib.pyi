# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.ndarray.ndarray import NDArray

_Ints = int | Sequence[int]

def AdaptiveAvgPooling2D(data: NDArray, output_size: _Ints = ..., out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def BatchNormWithReLU(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray,
    moving_var: NDArray, *, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True,
    use_global_stats: bool = False, output_mean_var: bool = False, axis: int = 1,
    min_calib_range: float | None = None, max_calib_range: float | None = None, out: Any = None,
    name: str | None = None, ctx: Any = None) -> Any: ...
def BilinearResize2D(data: NDArray | None = None, like: NDArray | None = None, *,
    height: int = 1, width: int = 1, scale_height: float | None = None,
    scale_width: float | None = None, mode: str = 'size', align_corners: bool = True,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def CTCLoss(data: NDArray | None = None, label: NDArray | None = None,
    data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def DeformableConvolution(data: NDArray | None = None, offset: NDArray | None = None,
    weight: NDArray | None = None, bias: NDArray | None = None, *, kernel: _Ints = ...,
    stride: _Ints = ..., dilate: _Ints = ..., pad: _Ints = ..., num_filter: int = ...,
    num_group: int = 1, num_deformable_group: int = 1, no_bias: bool = False,
    layout: str | None = None, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def ModulatedDeformableConvolution(data: NDArray | None = None, offset: NDArray | None = None,
    mask: NDArray | None = None, weight: NDArray | None = None, bias: NDArray | None = None, *,
    kernel: _Ints = ..., stride: _Ints = ..., dilate: _Ints = ..., pad: _Ints = ...,
    num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1,
    no_bias: bool = False, im2col_step: int = 64, layout: str | None = None, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def MultiBoxDetection(cls_prob: NDArray, loc_pred: NDArray, anchor: NDArray, *,
    clip: bool = True, threshold: float = 0.01, background_id: int = 0,
    nms_threshold: float = 0.5, force_suppress: bool = False, variances: Any = ...,
    nms_topk: int = -1, out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def MultiBoxPrior(data: NDArray, sizes: Any = ..., ratios: Any = ..., clip: bool = False,
    steps: Any = ..., offsets: Any = ..., out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def MultiBoxTarget(anchor: NDArray, label: NDArray, cls_pred: NDArray, *,
    overlap_threshold: float = 0.5, ignore_label: float = -1.0,
    negative_mining_ratio: float = -1.0, negative_mining_thresh: float = 0.5,
    minimum_negative_samples: int = 0, variances: Any = ..., out: Any = None,
    name: str | None = None, ctx: Any = None) -> list[NDArray]: ...
def MultiProposal(cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, *,
    rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7,
    rpn_min_size: int = 16, scales: Any = ..., ratios: Any = ..., feature_stride: int = 16,
    output_score: bool = False, iou_loss: bool = False, out: Any = None, name: str | None = None,
    ctx: Any = None) -> Any: ...
def PSROIPooling(data: NDArray, rois: NDArray, spatial_scale: float, output_dim: int,
    pooled_size: int, group_size: int = 0, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def Proposal(cls_prob: NDArray, bbox_pred: NDArray, im_info: NDArray, *,
    rpn_pre_nms_top_n: int = 6000, rpn_post_nms_top_n: int = 300, threshold: float = 0.7,
    rpn_min_size: int = 16, scales: Any = ..., ratios: Any = ..., feature_stride: int = 16,
    output_score: bool = False, iou_loss: bool = False, out: Any = None, name: str | None = None,
    ctx: Any = None) -> Any: ...
def ROIAlign(data: NDArray, rois: NDArray, pooled_size: _Ints, spatial_scale: float,
    sample_ratio: int = -1, position_sensitive: bool = False, aligned: bool = False,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def RROIAlign(data: NDArray, rois: NDArray, pooled_size: _Ints, spatial_scale: float,
    sampling_ratio: int = -1, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def SyncBatchNorm(data: NDArray, gamma: NDArray, beta: NDArray, moving_mean: NDArray,
    moving_var: NDArray, *, eps: float = 0.001, momentum: float = 0.9, fix_gamma: bool = True,
    use_global_stats: bool = False, output_mean_var: bool = False, ndev: int = 1, key: str,
    out: Any = None, name: str | None = None, ctx: Any = None) -> Any: ...
def allclose(a: NDArray, b: NDArray, rtol: float = 1e-05, atol: float = 1e-08,
    equal_nan: bool = True, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def arange_like(data: NDArray, start: float = 0.0, step: float = 1.0, repeat: int = 1,
    ctx: str = '', axis: int | None = None, out: Any = None,
    name: str | None = None) -> NDArray: ...
def bipartite_matching(data: NDArray, threshold: float, is_ascend: bool = False, topk: int = -1,
    out: Any = None, name: str | None = None, ctx: Any = None) -> list[NDArray]: ...
def box_decode(data: NDArray, anchors: NDArray, std0: float = 1.0, std1: float = 1.0,
    std2: float = 1.0, std3: float = 1.0, clip: float = -1.0, format: str = 'center',
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def box_encode(samples: NDArray, matches: NDArray, anchors: NDArray, refs: NDArray,
    means: NDArray, stds: NDArray, out: Any = None, name: str | None = None,
    ctx: Any = None) -> list[NDArray]: ...
def box_iou(lhs: NDArray, rhs: NDArray, format: str = 'corner', out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def box_nms(data: NDArray, overlap_thresh: float = 0.5, valid_thresh: float = 0.0,
    topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1,
    background_id: int = -1, force_suppress: bool = False, in_format: str = 'corner',
    out_format: str = 'corner', out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def box_non_maximum_suppression(data: NDArray, overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1,
    id_index: int = -1, background_id: int = -1, force_suppress: bool = False,
    in_format: str = 'corner', out_format: str = 'corner', out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def ctc_loss(data: NDArray | None = None, label: NDArray | None = None,
    data_lengths: NDArray | None = None, label_lengths: NDArray | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def div_sqrt_dim(data: NDArray, out: Any = None, name: str | None = None,
    ctx: Any = None) -> NDArray: ...
def gradientmultiplier(data: NDArray, scalar: float = 1.0, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def index_array(data: NDArray, axes: _Ints | None = None, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def index_copy(old_tensor: NDArray, index_vector: NDArray, new_tensor: NDArray, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_encdec_qk(queries: NDArray, keys_values: NDArray, heads: int,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_encdec_valatt(keys_values: NDArray, attention: NDArray, heads: int,
    out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_selfatt_qk(queries_keys_values: NDArray, heads: int, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
def interleaved_matmul_selfatt_valatt(queries_keys_values: NDArray, attention: NDArray,
    heads: int, out: Any = None, name: str | None = None, ctx: Any = None) -> NDArray: ...
def quadratic(data: NDArray, a: float = 0.0, b: float = 0.0, c: float = 0.0, out: Any = None,
    name: str | None = None, ctx: Any = None) -> NDArray: ...
