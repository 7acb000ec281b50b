# Written by `make docs` from the registry.
from collections.abc import Sequence
from typing import Any

from ndarray_rt.symbol.symbol import Symbol

_Ints = int | Sequence[int]
_Bounds = int | None | Sequence[int | None]

def AdaptiveAvgPooling2D(data: Symbol | None = None, output_size: _Ints = ...,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def BatchNormWithReLU(data: Symbol | None = None, gamma: Symbol | None = None,
    beta: Symbol | None = None, moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None, *, eps: float = 0.001, momentum: float = 0.9,
    fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False,
    axis: int = 1, min_calib_range: float | None = None, max_calib_range: float | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Any: ...
def BilinearResize2D(data: Symbol | None = None, like: Symbol | None = None, *, height: int = 1,
    width: int = 1, scale_height: float | None = None, scale_width: float | None = None,
    mode: str = 'size', align_corners: bool = True, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def CTCLoss(data: Symbol | None = None, label: Symbol | None = None,
    data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def DeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None,
    weight: Symbol | None = None, bias: Symbol | None = None, *, kernel: _Ints = ...,
    stride: _Ints = ..., dilate: _Ints = ..., pad: _Ints = ..., num_filter: int = ...,
    num_group: int = 1, num_deformable_group: int = 1, no_bias: bool = False,
    layout: str | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def DeformablePSROIPooling(data: Symbol | None = None, rois: Symbol | None = None,
    trans: Symbol | None = None, *, spatial_scale: float = ..., output_dim: int = ...,
    group_size: int = ..., pooled_size: int = ..., part_size: int = 0, sample_per_part: int = 1,
    trans_std: float = 0.0, no_trans: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def ModulatedDeformableConvolution(data: Symbol | None = None, offset: Symbol | None = None,
    mask: Symbol | None = None, weight: Symbol | None = None, bias: Symbol | None = None, *,
    kernel: _Ints = ..., stride: _Ints = ..., dilate: _Ints = ..., pad: _Ints = ...,
    num_filter: int = ..., num_group: int = 1, num_deformable_group: int = 1,
    no_bias: bool = False, im2col_step: int = 64, layout: str | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def MultiBoxDetection(cls_prob: Symbol | None = None, loc_pred: Symbol | None = None,
    anchor: Symbol | None = None, *, clip: bool = True, threshold: float = 0.01,
    background_id: int = 0, nms_threshold: float = 0.5, force_suppress: bool = False,
    variances: Any = ..., nms_topk: int = -1, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def MultiBoxPrior(data: Symbol | None = None, sizes: Any = ..., ratios: Any = ...,
    clip: bool = False, steps: Any = ..., offsets: Any = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def MultiBoxTarget(anchor: Symbol | None = None, label: Symbol | None = None,
    cls_pred: Symbol | None = None, *, overlap_threshold: float = 0.5,
    ignore_label: float = -1.0, negative_mining_ratio: float = -1.0,
    negative_mining_thresh: float = 0.5, minimum_negative_samples: int = 0, variances: Any = ...,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def MultiProposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None,
    im_info: Symbol | None = None, *, rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16,
    scales: Any = ..., ratios: Any = ..., feature_stride: int = 16, output_score: bool = False,
    iou_loss: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Any: ...
def PSROIPooling(data: Symbol | None = None, rois: Symbol | None = None,
    spatial_scale: float = ..., output_dim: int = ..., pooled_size: int = ...,
    group_size: int = 0, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def Proposal(cls_prob: Symbol | None = None, bbox_pred: Symbol | None = None,
    im_info: Symbol | None = None, *, rpn_pre_nms_top_n: int = 6000,
    rpn_post_nms_top_n: int = 300, threshold: float = 0.7, rpn_min_size: int = 16,
    scales: Any = ..., ratios: Any = ..., feature_stride: int = 16, output_score: bool = False,
    iou_loss: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Any: ...
def ROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: _Ints = ...,
    spatial_scale: float = ..., sample_ratio: int = -1, position_sensitive: bool = False,
    aligned: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def RROIAlign(data: Symbol | None = None, rois: Symbol | None = None, pooled_size: _Ints = ...,
    spatial_scale: float = ..., sampling_ratio: int = -1, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def SparseEmbedding(data: Symbol | None = None, weight: Symbol | None = None,
    input_dim: int = ..., output_dim: int = ..., dtype: Any = 'float32',
    sparse_grad: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def SyncBatchNorm(data: Symbol | None = None, gamma: Symbol | None = None,
    beta: Symbol | None = None, moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None, *, eps: float = 0.001, momentum: float = 0.9,
    fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False,
    ndev: int = 1, key: str = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Any: ...
def allclose(a: Symbol | None = None, b: Symbol | None = None, rtol: float = 1e-05,
    atol: float = 1e-08, equal_nan: bool = True, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def arange_like(data: Symbol | None = None, start: float = 0.0, step: float = 1.0,
    repeat: int = 1, ctx: str = '', axis: int | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def bipartite_matching(data: Symbol | None = None, threshold: float = ...,
    is_ascend: bool = False, topk: int = -1, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def box_decode(data: Symbol | None = None, anchors: Symbol | None = None, std0: float = 1.0,
    std1: float = 1.0, std2: float = 1.0, std3: float = 1.0, clip: float = -1.0,
    format: str = 'center', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def box_encode(samples: Symbol | None = None, matches: Symbol | None = None,
    anchors: Symbol | None = None, refs: Symbol | None = None, means: Symbol | None = None,
    stds: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def box_iou(lhs: Symbol | None = None, rhs: Symbol | None = None, format: str = 'corner',
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def box_nms(data: Symbol | None = None, overlap_thresh: float = 0.5, valid_thresh: float = 0.0,
    topk: int = -1, coord_start: int = 2, score_index: int = 1, id_index: int = -1,
    background_id: int = -1, force_suppress: bool = False, in_format: str = 'corner',
    out_format: str = 'corner', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def box_non_maximum_suppression(data: Symbol | None = None, overlap_thresh: float = 0.5,
    valid_thresh: float = 0.0, topk: int = -1, coord_start: int = 2, score_index: int = 1,
    id_index: int = -1, background_id: int = -1, force_suppress: bool = False,
    in_format: str = 'corner', out_format: str = 'corner', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def calibrate_entropy(hist: Symbol | None = None, hist_edges: Symbol | None = None,
    num_quantized_bins: int = 255, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def count_sketch(data: Symbol | None = None, h: Symbol | None = None, s: Symbol | None = None, *,
    out_dim: int = ..., processing_batch_size: int = 32, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def ctc_loss(data: Symbol | None = None, label: Symbol | None = None,
    data_lengths: Symbol | None = None, label_lengths: Symbol | None = None, *,
    use_data_lengths: bool = False, use_label_lengths: bool = False, blank_label: str = 'first',
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def dequantize(data: Symbol | None = None, min_range: Symbol | None = None,
    max_range: Symbol | None = None, *, out_type: str = 'float32', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def div_sqrt_dim(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def dynamic_fully_connected(data: Symbol | None = None, weight: Symbol | None = None,
    scale: Symbol | None = None, bias: Symbol | None = None, *, num_hidden: int = ...,
    no_bias: bool = False, flatten: bool = True, data_dtype: str = 'int8',
    per_tensor: bool = False, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def edge_id(data: Symbol | None = None, u: Symbol | None = None, v: Symbol | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def fft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def getnnz(data: Symbol | None = None, axis: int | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def gradientmultiplier(data: Symbol | None = None, scalar: float = 1.0, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def group_adagrad_update(weight: Symbol | None = None, grad: Symbol | None = None,
    history: Symbol | None = None, *, lr: float = ..., rescale_grad: float = 1.0,
    clip_gradient: float = -1.0, epsilon: float = 1e-05, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def hawkesll(lda: Symbol | None = None, alpha: Symbol | None = None, beta: Symbol | None = None,
    state: Symbol | None = None, lags: Symbol | None = None, marks: Symbol | None = None,
    valid_length: Symbol | None = None, max_time: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def ifft(data: Symbol | None = None, compute_size: int = 128, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def index_array(data: Symbol | None = None, axes: _Ints | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def index_copy(old_tensor: Symbol | None = None, index_vector: Symbol | None = None,
    new_tensor: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_encdec_qk(queries: Symbol | None = None,
    keys_values: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_encdec_valatt(keys_values: Symbol | None = None,
    attention: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_selfatt_qk(queries_keys_values: Symbol | None = None, heads: int = ...,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def interleaved_matmul_selfatt_valatt(queries_keys_values: Symbol | None = None,
    attention: Symbol | None = None, heads: int = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quadratic(data: Symbol | None = None, a: float = 0.0, b: float = 0.0, c: float = 0.0,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def quantize(data: Symbol | None = None, min_range: Symbol | None = None,
    max_range: Symbol | None = None, *, out_type: str = 'uint8', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantize_asym(data: Symbol | None = None, min_calib_range: float | None = None,
    max_calib_range: float | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantize_v2(data: Symbol | None = None, out_type: str = 'int8',
    min_calib_range: float | None = None, max_calib_range: float | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_act(data: Symbol | None = None, min_data: Symbol | None = None,
    max_data: Symbol | None = None, *, act_type: str = ..., name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_batch_norm(data: Symbol | None = None, gamma: Symbol | None = None,
    beta: Symbol | None = None, moving_mean: Symbol | None = None,
    moving_var: Symbol | None = None, min_data: Symbol | None = None,
    max_data: Symbol | None = None, *, eps: float = 0.001, momentum: float = 0.9,
    fix_gamma: bool = True, use_global_stats: bool = False, output_mean_var: bool = False,
    axis: int = 1, min_calib_range: float | None = None, max_calib_range: float | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_concat(*data: Symbol, num_args: int = ..., dim: int = 1, name: str | None = None,
    attr: dict[str, str] | None = None, **inputs: Symbol) -> Symbol: ...
def quantized_conv(data: Symbol | None = None, weight: Symbol | None = None,
    bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None,
    min_weight: Symbol | None = None, max_weight: Symbol | None = None,
    min_bias: Symbol | None = None, max_bias: Symbol | None = None, *, kernel: _Ints = ...,
    stride: _Ints = ..., dilate: _Ints = ..., pad: _Ints = ..., num_filter: int = ...,
    num_group: int = 1, no_bias: bool = False, layout: str | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_elemwise_add(lhs: Symbol | None = None, rhs: Symbol | None = None,
    lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None,
    rhs_max: Symbol | None = None, *, min_calib_range: float | None = None,
    max_calib_range: float | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_elemwise_mul(lhs: Symbol | None = None, rhs: Symbol | None = None,
    lhs_min: Symbol | None = None, lhs_max: Symbol | None = None, rhs_min: Symbol | None = None,
    rhs_max: Symbol | None = None, *, min_calib_range: float | None = None,
    max_calib_range: float | None = None, enable_float_output: bool = False,
    name: str | None = None, attr: dict[str, str] | None = None) -> Any: ...
def quantized_embedding(data: Symbol | None = None, weight: Symbol | None = None,
    min_weight: Symbol | None = None, max_weight: Symbol | None = None, *, input_dim: int = ...,
    output_dim: int = ..., dtype: Any = 'float32', sparse_grad: bool = False,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_flatten(data: Symbol | None = None, min_data: Symbol | None = None,
    max_data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_fully_connected(data: Symbol | None = None, weight: Symbol | None = None,
    bias: Symbol | None = None, min_data: Symbol | None = None, max_data: Symbol | None = None,
    min_weight: Symbol | None = None, max_weight: Symbol | None = None,
    min_bias: Symbol | None = None, max_bias: Symbol | None = None, *, num_hidden: int = ...,
    no_bias: bool = False, flatten: bool = True, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_pooling(data: Symbol | None = None, min_data: Symbol | None = None,
    max_data: Symbol | None = None, *, kernel: _Ints = ..., pool_type: str = 'max',
    global_pool: bool = False, pooling_convention: str = 'valid', stride: _Ints = ...,
    pad: _Ints = ..., p_value: int | None = None, count_include_pad: bool | None = None,
    layout: str | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def quantized_rnn(data: Symbol | None = None, parameters: Symbol | None = None,
    state: Symbol | None = None, state_cell: Symbol | None = None,
    min_data: Symbol | None = None, max_data: Symbol | None = None, *, state_size: int = ...,
    num_layers: int = ..., bidirectional: bool = False, mode: str = ..., p: float = 0.0,
    state_outputs: bool = False, projection_size: int | None = None,
    lstm_state_clip_min: float | None = None, lstm_state_clip_max: float | None = None,
    lstm_state_clip_nan: bool = False, use_sequence_length: bool = False, quantized: bool = True,
    name: str | None = None, attr: dict[str, str] | None = None) -> Any: ...
def requantize(data: Symbol | None = None, min_range: Symbol | None = None,
    max_range: Symbol | None = None, *, out_type: str = 'int8',
    min_calib_range: float | None = None, max_calib_range: float | None = None,
    name: str | None = None, attr: dict[str, str] | None = None) -> Symbol: ...
def round_ste(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def sign_ste(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def to_dense(data: Symbol | None = None, name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def to_mkldnn(data: Symbol | None = None, layout: str = '', name: str | None = None,
    attr: dict[str, str] | None = None) -> Symbol: ...
def adamw_update(*args: Any, **kwargs: Any) -> Any: ...
def boolean_mask(*args: Any, **kwargs: Any) -> Any: ...
def cond(*args: Any, **kwargs: Any) -> Any: ...
def foreach(*args: Any, **kwargs: Any) -> Any: ...
def mp_adamw_update(*args: Any, **kwargs: Any) -> Any: ...
def rand_zipfian(*args: Any, **kwargs: Any) -> Any: ...
def while_loop(*args: Any, **kwargs: Any) -> Any: ...
