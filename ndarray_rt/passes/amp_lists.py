"""Lists of operators for mixed precision: those common to both 16-bit types, and those of bfloat16,
which the precision "bfloat16" follows.

Source: MXNet's contrib.amp.lists.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..op.registry import REGISTRY

# (operator, parameter, values of it for which it runs in float32)
CONDITIONAL_FP32_FUNCS = [("Activation", "act_type", ["softrelu"]),
                          ("LeakyReLU", "act_type", ["elu", "selu"])]

LOSS_OUTPUT_FUNCTIONS = ["SoftmaxOutput", "LinearRegressionOutput", "LogisticRegressionOutput",
                         "MAERegressionOutput"]


def _words(text: str) -> list[str]:
    return text.split()


_CAPITALS = _words("""
    Plus Minus Mul Div Mod Not_Equal Equal Greater Greater_Equal Lesser Lesser_Equal
    Logical_And Logical_Or Logical_Xor Maximum Minimum""")
_PLAIN = _words("""
    plus minus sub mul div mod not_equal equal greater greater_equal lesser lesser_equal
    logical_and logical_or logical_xor maximum minimum""")
_BROADCAST = _words("""
    add plus div equal greater greater_equal lesser lesser_equal logical_and logical_or
    logical_xor maximum minimum minus mod not_equal sub""")
_DENSITIES = _words("""
    gamma exponential uniform negative_binomial generalized_negative_binomial dirichlet
    normal poisson""")
# all inputs are cast to the widest of their dtypes
WIDEST_TYPE_CASTS = [
    *(f"_{name}" for name in (*_CAPITALS, *_PLAIN)),
    *(f"broadcast_{name}" for name in _BROADCAST),
    *(f"elemwise_{name}" for name in ("add", "div", "mul", "sub")),
    *(f"{prefix}random_pdf_{name}" for prefix in ("", "_") for name in _DENSITIES),
    *(f"_contrib_{name}" for name in (
        "MultiProposal", "PSROIPooling", "Proposal", "ROIAlign", "box_iou", "box_nms",
        "box_non_maximum_suppression")),
    "_scatter_elemwise_div", "Correlation", "ElementWiseSum", "add_n", "batch_dot", "dot", "stack",
    "where"]

_LINALG = _words("""
    gelqf gemm gemm2 potrf potri sumlogdiag syrk trmm trsm makediag extractdiag maketrian
    extracttrian inverse det slogdet""")
# they lose too much precision in either 16-bit type
UNSAFE = [
    *(f"{prefix}linalg_{name}" for prefix in ("", "_") for name in _LINALG), "_linalg_syevd",
    *_words("""
        Convolution_v1 IdentityAttachKLSparseReg arccos arcsin cosh erfinv sinh tan arctanh exp
        expm1 log log10 log2 log1p broadcast_power reciprocal _RDivScalar _rdiv_scalar rsqrt
        rcbrt _Power _PowerScalar _power _power_scalar _RPowerScalar _rpower_scalar _Hypot
        _HypotScalar _hypot _hypot_scalar broadcast_hypot _square_sum _contrib_hawkesll sum
        sum_axis nansum prod nanprod mean norm softmin khatri_rao moments gamma gammaln
        _contrib_count_sketch _contrib_SyncBatchNorm _contrib_fft argsort topk SoftmaxOutput
        softmax Softmax log_softmax InstanceNorm LayerNorm GroupNorm L2Normalization
        SoftmaxActivation LinearRegressionOutput LogisticRegressionOutput MAERegressionOutput
        SVMOutput softmax_cross_entropy smooth_l1 MakeLoss make_loss Custom CTCLoss
        _contrib_CTCLoss _contrib_ctc_loss ctc_loss _contrib_DeformableConvolution
        _contrib_DeformablePSROIPooling""")]


def registered(names: Iterable[str]) -> list[str]:
    """Those names that are registered here."""
    return [name for name in names if name in REGISTRY and REGISTRY.is_public(name)]


def all_others(*lists: Iterable[str]) -> list[str]:
    """Every public operator and alias in none of the lists, except AMP's casts."""
    taken = {"amp_cast", "amp_multicast", *(name for one in lists for name in one)}
    return [name for name in REGISTRY.names() if REGISTRY.is_public(name) and name not in taken]


# ---- bfloat16 ----------------------------------------------------------------------------------

# inputs are cast to bfloat16
BF16_FUNCS = ["Convolution", "FullyConnected"]
# inputs stay as they are
BF16_FP32_FUNCS = registered([
    "abs", "_add", "BatchNorm", "BatchNormWithReLU", "clip", "Concat", "concat", "LRN", "Pooling",
    "relu", "shuffle", "_shuffle", "sqrt", "square", "tanh"])
# inputs are cast to the widest of their dtypes
BF16_WIDEST_TYPE_CASTS = registered([
    *WIDEST_TYPE_CASTS, "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget"])
# inputs are cast to float32
BF16_OTHER_FUNCS = all_others(BF16_FUNCS, BF16_FP32_FUNCS, BF16_WIDEST_TYPE_CASTS,
                               (name for name, _, _ in CONDITIONAL_FP32_FUNCS))
# operators with inputs that stay float32, and the inputs that do not ("" if there is one only)
BF16_USE_FP32_PARAMS = {name: ["", "gamma", "beta", "moving_mean", "moving_var"]
                        for name in ("BatchNormWithReLU", "BatchNorm")}
