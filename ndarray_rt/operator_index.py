"""Which module registers which operators, by names and aliases: written by `make docs`.

A module is imported when one of its operators is first asked for (docs/architecture.md).
"""

from __future__ import annotations

PLACES = {
    "ndarray_rt.imperative.custom": "Custom _backward_Custom",
    "ndarray_rt.imperative.function": "_backward_function",
    "ndarray_rt.imperative.fused_attention": "_sg_mkldnn_selfatt_qk _sg_mkldnn_selfatt_valatt",
    "ndarray_rt.imperative.fused_conv": "_sg_mkldnn_conv",
    "ndarray_rt.imperative.fused_dense": "_sg_mkldnn_fully_connected",
    "ndarray_rt.imperative.subgraph_ops": "_foreach _while_loop _cond _backward_subgraph",
    "ndarray_rt.ops.fused.affine_batch_norm": "_affine_batch_norm",
    "ndarray_rt.ops.fused.bent_sums": "_bend_sums",
    "ndarray_rt.ops.fused.constant": "_constant",
    "ndarray_rt.ops.fused.elementwise": "_fused_elementwise",
    "ndarray_rt.ops.fused.fold_batch_norm": "_fold_batch_norm",
    "ndarray_rt.ops.fused.normed_convolution": "_fused_normed_Convolution",
    "ndarray_rt.ops.fused.numpy_function": "_numpy_function",
    "ndarray_rt.ops.fused.quantize_weight": "_quantize_weight",
    "ndarray_rt.ops.fused.quantized": "_quantized",
    "ndarray_rt.ops.fused.requantized": (
        "_fused_quantized_conv _fused_quantized_fully_connected _fused_quantized_elemwise_add"
    ),
    "ndarray_rt.ops.fused.round_layers": "_round_layer _round_dense",
    "ndarray_rt.ops.fused.round_weight": "_round_weight",
    "ndarray_rt.ops.fused.rounded_layers": "_fused_rounded_conv _fused_rounded_dense",
    "ndarray_rt.ops.fused.scale_batch_norm": "_scale_batch_norm",
    "ndarray_rt.ops.fused.separable_convolution": "_fused_separable_Convolution",
    "ndarray_rt.ops.fused.shuffle_channels": "_shuffle_channels _shuffle_filters",
    "ndarray_rt.ops.fused.shuffled_convolution": "_fused_shuffled_Convolution",
    "ndarray_rt.ops.image.border": "_cvcopyMakeBorder",
    "ndarray_rt.ops.image.color": (
        "_image_random_brightness _image_random_contrast _image_random_saturation "
        "_image_random_hue _image_random_color_jitter _image_adjust_lighting "
        "_image_random_lighting"
    ),
    "ndarray_rt.ops.image.convert": (
        "_image_to_tensor _backward_image_to_tensor _image_normalize _backward_image_normalize"
    ),
    "ndarray_rt.ops.image.crop": "_image_crop _backward_image_crop",
    "ndarray_rt.ops.image.flip": (
        "_image_flip_left_right _image_random_flip_left_right _image_flip_top_bottom "
        "_image_random_flip_top_bottom"
    ),
    "ndarray_rt.ops.image.resize": "_image_resize _cvimresize",
    "ndarray_rt.ops.linalg.determinant": (
        "_linalg_det linalg_det _backward_linalg_det _linalg_slogdet linalg_slogdet "
        "_backward_linalg_slogdet _linalg_inverse linalg_inverse _linalg_sumlogdiag "
        "linalg_sumlogdiag _backward_linalg_sumlogdiag"
    ),
    "ndarray_rt.ops.linalg.diagonal": (
        "_linalg_extractdiag linalg_extractdiag _linalg_makediag linalg_makediag "
        "_linalg_extracttrian linalg_extracttrian _linalg_maketrian linalg_maketrian"
    ),
    "ndarray_rt.ops.linalg.factor": (
        "_linalg_potrf linalg_potrf _backward_linalg_potrf _linalg_potri linalg_potri "
        "_backward_linalg_potri _linalg_gelqf linalg_gelqf _backward_linalg_gelqf _linalg_syevd "
        "_backward_linalg_syevd"
    ),
    "ndarray_rt.ops.linalg.gemm": "_linalg_gemm linalg_gemm",
    "ndarray_rt.ops.linalg.syrk": "_linalg_syrk linalg_syrk",
    "ndarray_rt.ops.linalg.triangle": "_backward_linalg_triangle",
    "ndarray_rt.ops.linalg.triangular": "_linalg_trmm linalg_trmm _linalg_trsm linalg_trsm",
    "ndarray_rt.ops.nn.activation": "Activation _backward_Activation",
    "ndarray_rt.ops.nn.batch_norm": "BatchNorm BatchNorm_v1 _fused_BatchNorm",
    "ndarray_rt.ops.nn.batch_norm_backward": "_backward_BatchNorm",
    "ndarray_rt.ops.nn.batch_norm_relu": "_contrib_BatchNormWithReLU",
    "ndarray_rt.ops.nn.convolution": (
        "Convolution Convolution_v1 _fused_Convolution _backward_Convolution"
    ),
    "ndarray_rt.ops.nn.ctc_loss": (
        "CTCLoss ctc_loss _contrib_CTCLoss _contrib_ctc_loss _backward_CTCLoss"
    ),
    "ndarray_rt.ops.nn.deconvolution": "Deconvolution _fused_Deconvolution _backward_Deconvolution",
    "ndarray_rt.ops.nn.dropout": "Dropout _backward_Dropout",
    "ndarray_rt.ops.nn.embedding": "Embedding _contrib_SparseEmbedding _backward_Embedding",
    "ndarray_rt.ops.nn.fully_connected": (
        "FullyConnected _fused_FullyConnected _backward_FullyConnected"
    ),
    "ndarray_rt.ops.nn.group_norm": (
        "GroupNorm _backward_GroupNorm InstanceNorm _backward_InstanceNorm"
    ),
    "ndarray_rt.ops.nn.im2col": "im2col _backward_im2col col2im _backward_col2im",
    "ndarray_rt.ops.nn.interleaved_attention": (
        "_contrib_interleaved_matmul_selfatt_qk _backward_selfatt_qk "
        "_contrib_interleaved_matmul_selfatt_valatt _backward_selfatt_valatt "
        "_contrib_interleaved_matmul_encdec_qk _backward_encdec_qk "
        "_contrib_interleaved_matmul_encdec_valatt _backward_encdec_valatt "
        "_backward_crossed_selfatt_qk"
    ),
    "ndarray_rt.ops.nn.kl_sparse_reg": (
        "IdentityAttachKLSparseReg _backward_IdentityAttachKLSparseReg"
    ),
    "ndarray_rt.ops.nn.l2_normalization": "L2Normalization _backward_L2Normalization",
    "ndarray_rt.ops.nn.layer_norm": "LayerNorm _backward_LayerNorm",
    "ndarray_rt.ops.nn.leaky_relu": "LeakyReLU _backward_LeakyReLU",
    "ndarray_rt.ops.nn.lrn": "LRN _backward_LRN",
    "ndarray_rt.ops.nn.pooling": "Pooling _fused_Pooling _backward_Pooling _backward_Pooling_taken",
    "ndarray_rt.ops.nn.pooling_v1": "Pooling_v1 _backward_Pooling_v1",
    "ndarray_rt.ops.nn.regression_output": (
        "LinearRegressionOutput _backward_linear_reg_out LogisticRegressionOutput "
        "_backward_logistic_reg_out MAERegressionOutput _backward_mae_reg_out"
    ),
    "ndarray_rt.ops.nn.resize": (
        "_contrib_BilinearResize2D _backward_contrib_BilinearResize2D "
        "_contrib_AdaptiveAvgPooling2D _backward_contrib_AdaptiveAvgPooling2D "
        "_fused__contrib_AdaptiveAvgPooling2D"
    ),
    "ndarray_rt.ops.nn.sequence_ends": "SequenceLast _backward_SequenceLast SequenceReverse",
    "ndarray_rt.ops.nn.sequence_mask": "SequenceMask",
    "ndarray_rt.ops.nn.softmax": (
        "softmax _backward_softmax log_softmax _backward_log_softmax softmin _backward_softmin"
    ),
    "ndarray_rt.ops.nn.softmax_activation": "SoftmaxActivation",
    "ndarray_rt.ops.nn.softmax_cross_entropy": (
        "softmax_cross_entropy _backward_softmax_cross_entropy"
    ),
    "ndarray_rt.ops.nn.softmax_output": "SoftmaxOutput Softmax _backward_SoftmaxOutput",
    "ndarray_rt.ops.nn.svm_output": "SVMOutput _backward_SVMOutput",
    "ndarray_rt.ops.nn.sync_batch_norm": "_contrib_SyncBatchNorm",
    "ndarray_rt.ops.nn.up_sampling": "UpSampling _backward_UpSampling",
    "ndarray_rt.ops.quantization.batch_norm": "_contrib_quantized_batch_norm",
    "ndarray_rt.ops.quantization.calibrate": "_contrib_calibrate_entropy",
    "ndarray_rt.ops.quantization.concat": "_contrib_quantized_concat",
    "ndarray_rt.ops.quantization.dynamic": "_contrib_dynamic_fully_connected _quantize_rows",
    "ndarray_rt.ops.quantization.elementwise": (
        "_contrib_quantized_elemwise_add _contrib_quantized_elemwise_mul _contrib_quantized_act "
        "_contrib_quantized_flatten"
    ),
    "ndarray_rt.ops.quantization.embedding": "_contrib_quantized_embedding",
    "ndarray_rt.ops.quantization.layers": (
        "_contrib_quantized_conv _contrib_quantized_fully_connected"
    ),
    "ndarray_rt.ops.quantization.linear": (
        "_quantize_linear _dequantize_linear _qlinear_add _map_bytes"
    ),
    "ndarray_rt.ops.quantization.linear_layers": "_qlinear_conv _qlinear_fully_connected",
    "ndarray_rt.ops.quantization.pooling": "_contrib_quantized_pooling",
    "ndarray_rt.ops.quantization.quantize": (
        "_contrib_quantize _contrib_quantize_v2 _contrib_quantize_asym"
    ),
    "ndarray_rt.ops.quantization.recurrent": "_contrib_quantized_rnn",
    "ndarray_rt.ops.quantization.requantize": "_contrib_dequantize _contrib_requantize",
    "ndarray_rt.ops.random.by_array": (
        "_sample_uniform sample_uniform _sample_normal sample_normal _sample_gamma sample_gamma "
        "_sample_exponential sample_exponential _sample_poisson sample_poisson "
        "_sample_negative_binomial sample_negative_binomial _sample_generalized_negative_binomial "
        "sample_generalized_negative_binomial"
    ),
    "ndarray_rt.ops.random.by_number": (
        "_random_uniform uniform random_uniform _random_normal normal random_normal _random_gamma "
        "random_gamma _random_exponential random_exponential _random_poisson random_poisson "
        "_random_negative_binomial random_negative_binomial _random_generalized_negative_binomial "
        "random_generalized_negative_binomial _random_uniform_like _random_normal_like "
        "_random_gamma_like _random_exponential_like _random_poisson_like "
        "_random_negative_binomial_like _random_generalized_negative_binomial_like"
    ),
    "ndarray_rt.ops.random.multinomial": (
        "_sample_multinomial sample_multinomial _backward_sample_multinomial"
    ),
    "ndarray_rt.ops.random.pdf": (
        "_random_pdf_uniform random_pdf_uniform _backward_random_pdf_uniform _random_pdf_normal "
        "random_pdf_normal _backward_random_pdf_normal _random_pdf_gamma random_pdf_gamma "
        "_backward_random_pdf_gamma _random_pdf_exponential random_pdf_exponential "
        "_backward_random_pdf_exponential _random_pdf_poisson random_pdf_poisson "
        "_backward_random_pdf_poisson _random_pdf_negative_binomial random_pdf_negative_binomial "
        "_backward_random_pdf_negative_binomial _random_pdf_generalized_negative_binomial "
        "random_pdf_generalized_negative_binomial "
        "_backward_random_pdf_generalized_negative_binomial _random_pdf_dirichlet "
        "random_pdf_dirichlet _backward_random_pdf_dirichlet"
    ),
    "ndarray_rt.ops.random.randint": "_random_randint random_randint",
    "ndarray_rt.ops.random.shuffle": "_shuffle shuffle",
    "ndarray_rt.ops.random.zipfian": "_sample_unique_zipfian",
    "ndarray_rt.ops.rnn.masked": "_masked_RNN",
    "ndarray_rt.ops.rnn.operator": "RNN _backward_RNN",
    "ndarray_rt.ops.tensor.all_finite": "all_finite multi_all_finite _contrib_allclose",
    "ndarray_rt.ops.tensor.amp": "amp_cast amp_multicast",
    "ndarray_rt.ops.tensor.arange_like": "_contrib_arange_like",
    "ndarray_rt.ops.tensor.arg_extreme": "argmax argmin argmax_channel",
    "ndarray_rt.ops.tensor.binary": (
        "elemwise_add _add _plus _Plus _grad_add elemwise_sub _sub _minus _Minus elemwise_mul "
        "_mul _Mul elemwise_div _div _Div _mod _Mod _power _Power _maximum _Maximum _minimum "
        "_Minimum _hypot _Hypot _equal _Equal _not_equal _Not_Equal _greater _Greater "
        "_greater_equal _Greater_Equal _lesser _Lesser _lesser_equal _Lesser_Equal _logical_and "
        "_Logical_And _logical_or _Logical_Or _logical_xor _Logical_Xor"
    ),
    "ndarray_rt.ops.tensor.broadcast": (
        "broadcast_add broadcast_plus broadcast_sub broadcast_minus broadcast_mul broadcast_div "
        "broadcast_mod broadcast_power broadcast_maximum broadcast_minimum broadcast_hypot "
        "broadcast_equal broadcast_not_equal broadcast_greater broadcast_greater_equal "
        "broadcast_lesser broadcast_lesser_equal broadcast_logical_and broadcast_logical_or "
        "broadcast_logical_xor _backward_broadcast_mod _backward_broadcast_power "
        "_backward_broadcast_maximum _backward_broadcast_minimum _backward_broadcast_hypot "
        "_broadcast_reduce"
    ),
    "ndarray_rt.ops.tensor.broadcast_to": (
        "broadcast_to broadcast_axis broadcast_axes broadcast_like"
    ),
    "ndarray_rt.ops.tensor.clip": "clip _backward_clip",
    "ndarray_rt.ops.tensor.concat": "Concat concat _rnn_param_concat _backward_Concat",
    "ndarray_rt.ops.tensor.count_sketch": "_contrib_count_sketch _backward_count_sketch",
    "ndarray_rt.ops.tensor.crop": "Crop _backward_Crop",
    "ndarray_rt.ops.tensor.cumsum": "_np_cumsum cumsum _backward_cumsum",
    "ndarray_rt.ops.tensor.dense_forms": (
        "_scatter_plus_scalar _scatter_minus_scalar _scatter_elemwise_div _square_sum "
        "cast_storage _contrib_getnnz _contrib_edge_id"
    ),
    "ndarray_rt.ops.tensor.depth_space": "depth_to_space space_to_depth",
    "ndarray_rt.ops.tensor.diag": "diag _backward_diag",
    "ndarray_rt.ops.tensor.div_sqrt_dim": "_contrib_div_sqrt_dim",
    "ndarray_rt.ops.tensor.flip": "reverse flip",
    "ndarray_rt.ops.tensor.formula": (
        "hard_sigmoid _backward_hard_sigmoid smooth_l1 _backward_smooth_l1 _contrib_quadratic "
        "_backward_quadratic"
    ),
    "ndarray_rt.ops.tensor.fourier": "_contrib_fft _contrib_ifft",
    "ndarray_rt.ops.tensor.gather_nd": "gather_nd _backward_gather_nd scatter_nd _scatter_set_nd",
    "ndarray_rt.ops.tensor.gemm2": "_linalg_gemm2 linalg_gemm2",
    "ndarray_rt.ops.tensor.getitem": "_index _backward_index",
    "ndarray_rt.ops.tensor.hawkes": "_contrib_hawkesll _backward_hawkesll",
    "ndarray_rt.ops.tensor.histogram": "_histogram",
    "ndarray_rt.ops.tensor.identity": (
        "_copy identity BlockGrad stop_gradient _identity_with_attr_like_rhs "
        "_contrib_gradientmultiplier make_loss MakeLoss _backward_MakeLoss Cast cast "
        "_backward_cast zeros_like ones_like"
    ),
    "ndarray_rt.ops.tensor.index_copy": "_contrib_index_copy batch_take",
    "ndarray_rt.ops.tensor.init": "_zeros _ones _full _arange _linspace _eye",
    "ndarray_rt.ops.tensor.khatri_rao": "khatri_rao",
    "ndarray_rt.ops.tensor.layouts": "_contrib_to_mkldnn _contrib_to_dense",
    "ndarray_rt.ops.tensor.matmul": "dot _fused_dot _backward_dot batch_dot _fused_batch_dot",
    "ndarray_rt.ops.tensor.moments": "moments _backward_moments",
    "ndarray_rt.ops.tensor.nan_reduce": "nansum _backward_nansum nanprod _backward_nanprod",
    "ndarray_rt.ops.tensor.norm": "norm _backward_norm",
    "ndarray_rt.ops.tensor.one_hot": "one_hot",
    "ndarray_rt.ops.tensor.pad": "Pad pad _backward_Pad",
    "ndarray_rt.ops.tensor.pick": "pick choose_element_0index _backward_pick",
    "ndarray_rt.ops.tensor.positions": (
        "shape_array size_array _contrib_index_array _ravel_multi_index ravel_multi_index "
        "_unravel_index unravel_index"
    ),
    "ndarray_rt.ops.tensor.product_slopes": "_backward_product_slope",
    "ndarray_rt.ops.tensor.reduce": (
        "sum sum_axis _backward_sum mean _backward_mean max max_axis _backward_max min min_axis "
        "_backward_min prod _backward_prod"
    ),
    "ndarray_rt.ops.tensor.repeat": "tile _backward_tile repeat _backward_repeat",
    "ndarray_rt.ops.tensor.reshape_like": "reshape_like",
    "ndarray_rt.ops.tensor.scalar": (
        "_plus_scalar _PlusScalar _minus_scalar _MinusScalar _rminus_scalar _RMinusScalar "
        "_mul_scalar _MulScalar _div_scalar _DivScalar _rdiv_scalar _RDivScalar _mod_scalar "
        "_ModScalar _rmod_scalar _RModScalar _power_scalar _PowerScalar _rpower_scalar "
        "_RPowerScalar _maximum_scalar _MaximumScalar _minimum_scalar _MinimumScalar "
        "_hypot_scalar _HypotScalar _equal_scalar _EqualScalar _not_equal_scalar _NotEqualScalar "
        "_greater_scalar _GreaterScalar _greater_equal_scalar _GreaterEqualScalar _lesser_scalar "
        "_LesserScalar _lesser_equal_scalar _LesserEqualScalar _logical_and_scalar "
        "_LogicalAndScalar _logical_or_scalar _LogicalOrScalar _logical_xor_scalar "
        "_LogicalXorScalar _backward_rdiv_scalar _backward_mod_scalar _backward_rmod_scalar "
        "_backward_power_scalar _backward_rpower_scalar _backward_maximum_scalar "
        "_backward_minimum_scalar _backward_hypot_scalar"
    ),
    "ndarray_rt.ops.tensor.shape_ops": (
        "Reshape reshape Flatten flatten expand_dims squeeze _backward_reshape"
    ),
    "ndarray_rt.ops.tensor.slice_assign": (
        "_slice_assign _crop_assign _slice_assign_scalar _crop_assign_scalar fill_element_0index"
    ),
    "ndarray_rt.ops.tensor.slice_channel": "SliceChannel split",
    "ndarray_rt.ops.tensor.split_v2": "_split_v2",
    "ndarray_rt.ops.tensor.stack": "stack",
    "ndarray_rt.ops.tensor.straight_through": "_contrib_round_ste _contrib_sign_ste",
    "ndarray_rt.ops.tensor.sum_n": "add_n ElementWiseSum",
    "ndarray_rt.ops.tensor.take": "take _backward_take",
    "ndarray_rt.ops.tensor.topk": "topk sort argsort _backward_topk",
    "ndarray_rt.ops.tensor.transpose": "transpose SwapAxis swapaxes",
    "ndarray_rt.ops.tensor.unary": (
        "negative abs _backward_abs sign relu _backward_relu sigmoid _backward_sigmoid tanh "
        "_backward_tanh softsign _backward_softsign silu _backward_silu exp _backward_exp expm1 "
        "_backward_expm1 log _backward_log log2 _backward_log2 log10 _backward_log10 log1p "
        "_backward_log1p sqrt _backward_sqrt rsqrt _backward_rsqrt cbrt _backward_cbrt rcbrt "
        "_backward_rcbrt square _backward_square reciprocal _backward_reciprocal floor ceil round "
        "rint fix trunc sin _backward_sin cos _backward_cos tan _backward_tan sinh _backward_sinh "
        "cosh _backward_cosh arcsin _backward_arcsin arccos _backward_arccos arctan "
        "_backward_arctan arcsinh _backward_arcsinh arccosh _backward_arccosh arctanh "
        "_backward_arctanh degrees radians erf _backward_erf erfinv _backward_erfinv gamma "
        "_backward_gamma gammaln _backward_gammaln logical_not"
    ),
    "ndarray_rt.ops.tensor.where": "where",
    "ndarray_rt.ops.tensor.windows": (
        "slice crop _backward_slice slice_axis _backward_slice_axis slice_like "
        "_backward_slice_like"
    ),
    "ndarray_rt.ops.updates.adamw": "_adamw_update _mp_adamw_update",
    "ndarray_rt.ops.updates.adaptive": (
        "adam_update rmsprop_update rmspropalex_update ftrl_update ftml_update"
    ),
    "ndarray_rt.ops.updates.group_adagrad": "_contrib_group_adagrad_update",
    "ndarray_rt.ops.updates.lamb": (
        "lamb_update_phase1 mp_lamb_update_phase1 lamb_update_phase2 mp_lamb_update_phase2"
    ),
    "ndarray_rt.ops.updates.many": (
        "multi_sgd_update preloaded_multi_sgd_update multi_sgd_mom_update "
        "preloaded_multi_sgd_mom_update multi_mp_sgd_update preloaded_multi_mp_sgd_update "
        "multi_mp_sgd_mom_update preloaded_multi_mp_sgd_mom_update _multi_adamw_update "
        "_multi_mp_adamw_update _multi_lamb_update _multi_mp_lamb_update"
    ),
    "ndarray_rt.ops.updates.momentum": (
        "sgd_update sgd_mom_update nag_mom_update signsgd_update signum_update mp_sgd_update "
        "mp_sgd_mom_update mp_nag_mom_update"
    ),
    "ndarray_rt.ops.updates.norms": "multi_sum_sq multi_lars",
    "ndarray_rt.ops.vision.bipartite_matching": "_contrib_bipartite_matching",
    "ndarray_rt.ops.vision.box_codes": "_contrib_box_encode _contrib_box_decode",
    "ndarray_rt.ops.vision.box_iou": "_contrib_box_iou",
    "ndarray_rt.ops.vision.box_nms": (
        "_contrib_box_nms _contrib_box_non_maximum_suppression _backward_contrib_box_nms"
    ),
    "ndarray_rt.ops.vision.correlation": "Correlation _backward_Correlation",
    "ndarray_rt.ops.vision.deformable_convolution": (
        "_contrib_DeformableConvolution _backward_DeformableConvolution "
        "_contrib_ModulatedDeformableConvolution _backward_ModulatedDeformableConvolution"
    ),
    "ndarray_rt.ops.vision.deformable_psroi_pooling": (
        "_contrib_DeformablePSROIPooling _backward_DeformablePSROIPooling"
    ),
    "ndarray_rt.ops.vision.multibox_detection": "_contrib_MultiBoxDetection",
    "ndarray_rt.ops.vision.multibox_prior": "_contrib_MultiBoxPrior",
    "ndarray_rt.ops.vision.multibox_target": "_contrib_MultiBoxTarget",
    "ndarray_rt.ops.vision.proposal": "_contrib_Proposal _contrib_MultiProposal",
    "ndarray_rt.ops.vision.psroi_pooling": "_contrib_PSROIPooling _backward_PSROIPooling",
    "ndarray_rt.ops.vision.roi_align": "_contrib_ROIAlign _backward_ROIAlign",
    "ndarray_rt.ops.vision.roi_pooling": "ROIPooling _backward_ROIPooling",
    "ndarray_rt.ops.vision.rroi_align": "_contrib_RROIAlign _backward_RROIAlign",
    "ndarray_rt.ops.vision.spatial_transformer": (
        "GridGenerator _backward_GridGenerator BilinearSampler _backward_BilinearSampler "
        "SpatialTransformer"
    ),
}

# made by gradients and passes only
HIDDEN = (
    "_affine_batch_norm _backward_Activation _backward_BatchNorm _backward_BilinearSampler "
    "_backward_CTCLoss _backward_Concat _backward_Convolution _backward_Correlation "
    "_backward_Crop _backward_Custom _backward_Deconvolution _backward_DeformableConvolution "
    "_backward_DeformablePSROIPooling _backward_Dropout _backward_Embedding "
    "_backward_FullyConnected _backward_GridGenerator _backward_GroupNorm "
    "_backward_IdentityAttachKLSparseReg _backward_InstanceNorm _backward_L2Normalization "
    "_backward_LRN _backward_LayerNorm _backward_LeakyReLU _backward_MakeLoss "
    "_backward_ModulatedDeformableConvolution _backward_PSROIPooling _backward_Pad "
    "_backward_Pooling _backward_Pooling_taken _backward_Pooling_v1 _backward_RNN "
    "_backward_ROIAlign _backward_ROIPooling _backward_RROIAlign _backward_SVMOutput "
    "_backward_SequenceLast _backward_SoftmaxOutput _backward_UpSampling _backward_abs "
    "_backward_arccos _backward_arccosh _backward_arcsin _backward_arcsinh _backward_arctan "
    "_backward_arctanh _backward_broadcast_hypot _backward_broadcast_maximum "
    "_backward_broadcast_minimum _backward_broadcast_mod _backward_broadcast_power "
    "_backward_cast _backward_cbrt _backward_clip _backward_col2im "
    "_backward_contrib_AdaptiveAvgPooling2D _backward_contrib_BilinearResize2D "
    "_backward_contrib_box_nms _backward_cos _backward_cosh _backward_count_sketch "
    "_backward_crossed_selfatt_qk _backward_cumsum _backward_diag _backward_dot "
    "_backward_encdec_qk _backward_encdec_valatt _backward_erf _backward_erfinv _backward_exp "
    "_backward_expm1 _backward_function _backward_gamma _backward_gammaln _backward_gather_nd "
    "_backward_hard_sigmoid _backward_hawkesll _backward_hypot_scalar _backward_im2col "
    "_backward_image_crop _backward_image_normalize _backward_image_to_tensor _backward_index "
    "_backward_linalg_det _backward_linalg_gelqf _backward_linalg_potrf "
    "_backward_linalg_potri _backward_linalg_slogdet _backward_linalg_sumlogdiag "
    "_backward_linalg_syevd _backward_linalg_triangle _backward_linear_reg_out _backward_log "
    "_backward_log10 _backward_log1p _backward_log2 _backward_log_softmax "
    "_backward_logistic_reg_out _backward_mae_reg_out _backward_max _backward_maximum_scalar "
    "_backward_mean _backward_min _backward_minimum_scalar _backward_mod_scalar "
    "_backward_moments _backward_nanprod _backward_nansum _backward_norm _backward_pick "
    "_backward_power_scalar _backward_prod _backward_product_slope _backward_quadratic "
    "_backward_random_pdf_dirichlet _backward_random_pdf_exponential "
    "_backward_random_pdf_gamma _backward_random_pdf_generalized_negative_binomial "
    "_backward_random_pdf_negative_binomial _backward_random_pdf_normal "
    "_backward_random_pdf_poisson _backward_random_pdf_uniform _backward_rcbrt "
    "_backward_rdiv_scalar _backward_reciprocal _backward_relu _backward_repeat "
    "_backward_reshape _backward_rmod_scalar _backward_rpower_scalar _backward_rsqrt "
    "_backward_sample_multinomial _backward_selfatt_qk _backward_selfatt_valatt "
    "_backward_sigmoid _backward_silu _backward_sin _backward_sinh _backward_slice "
    "_backward_slice_axis _backward_slice_like _backward_smooth_l1 _backward_softmax "
    "_backward_softmax_cross_entropy _backward_softmin _backward_softsign _backward_sqrt "
    "_backward_square _backward_subgraph _backward_sum _backward_take _backward_tan "
    "_backward_tanh _backward_tile _backward_topk _bend_sums _constant _dequantize_linear "
    "_fold_batch_norm _fused_BatchNorm _fused_Convolution _fused_Deconvolution "
    "_fused_FullyConnected _fused_Pooling _fused__contrib_AdaptiveAvgPooling2D "
    "_fused_batch_dot _fused_dot _fused_elementwise _fused_normed_Convolution "
    "_fused_quantized_conv _fused_quantized_elemwise_add _fused_quantized_fully_connected "
    "_fused_rounded_conv _fused_rounded_dense _fused_separable_Convolution "
    "_fused_shuffled_Convolution _map_bytes _masked_RNN _numpy_function _qlinear_add "
    "_qlinear_conv _qlinear_fully_connected _quantize_linear _quantize_rows _quantize_weight "
    "_quantized _round_dense _round_layer _round_weight _scale_batch_norm _shuffle_channels "
    "_shuffle_filters"
)
