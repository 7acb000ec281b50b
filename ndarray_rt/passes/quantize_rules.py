"""What becomes of operators when a graph is quantized. Knows no graph.

Source: what MXNet's operators declare for its pass QuantizeGraph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..dtypes import find_dtype
from ..ops.quantization.recurrent import is_plain_lstm


def _always(params: Any) -> bool:
    return True


def _none(params: Any) -> frozenset[int]:
    return frozenset()


@dataclass(frozen=True)
class Rule:
    """The operator on 8-bit numbers that stands for an operator on floats.

    The smart mode starts from what `leads`, and takes of the others what lies between. The inputs
    `floats` stay what they are, those that are `shifted` become uint8 with a scale and a shift in
    place of a range. What `widens` has int32 sums, which are brought back to 8 bits; what
    `gives_floats` has outputs of floats. `by_rows` is the rule instead where weights are to have a
    scale for each row. Inputs of what is `signed` are int8: where they may become uint8, the
    operator stays on floats.
    """

    quantized: str
    leads: bool = False
    widens: bool = False
    accepts: Callable[[Any], bool] = _always
    floats: Callable[[Any], frozenset[int]] = _none
    shifted: frozenset[int] = frozenset()
    gives_floats: bool = False
    attrs: tuple[tuple[str, str], ...] = ()
    by_rows: Rule | None = None
    signed: bool = False


def _is_embedding_of_floats(params: Any) -> bool:
    return bool(find_dtype(params.dtype).name == "float32")


def _is_pooled_in_bytes(params: Any) -> bool:
    """Not averages of windows that may end behind the image: MXNet's operator divides them by all
    of the window, which that on floats does not."""
    is_inside = params.global_pool or params.pooling_convention == "valid"
    return bool(params.pool_type == "max" or (params.pool_type == "avg" and is_inside))


def _is_on_floats(params: Any) -> bool:
    return not params.quantized


def _all_but_data_and_sum(params: Any) -> frozenset[int]:
    return frozenset(i for i, name in enumerate(params.inputs) if name not in ("data", "sum"))


def _attention(name: str) -> Rule:
    return Rule(name, leads=True, widens=True, accepts=_is_on_floats,
                attrs=(("quantized", "True"),))


_DENSE = Rule("_sg_mkldnn_fully_connected", leads=True, widens=True, accepts=_is_on_floats,
              attrs=(("quantized", "True"),))

RULES: dict[str, Rule] = {
    # MXNet's operator has images of 2 or 3 axes
    "Convolution": Rule("_contrib_quantized_conv", leads=True, widens=True,
                        accepts=lambda p: len(p.kernel) > 1),
    "FullyConnected": Rule("_contrib_quantized_fully_connected", leads=True, widens=True),
    "elemwise_add": Rule("_contrib_quantized_elemwise_add", widens=True),
    "elemwise_mul": Rule("_contrib_quantized_elemwise_mul", widens=True, signed=True),
    "Activation": Rule("_contrib_quantized_act", accepts=lambda p: p.act_type == "relu"),
    "Pooling": Rule("_contrib_quantized_pooling", accepts=_is_pooled_in_bytes),
    "Concat": Rule("_contrib_quantized_concat", accepts=lambda p: p.dim > 0),
    "Flatten": Rule("_contrib_quantized_flatten"),
    "BatchNorm": Rule("_contrib_quantized_batch_norm", floats=lambda p: frozenset(range(1, 5))),
    "Embedding": Rule("_contrib_quantized_embedding", accepts=_is_embedding_of_floats,
                      floats=lambda p: frozenset({0})),
    "RNN": Rule("_contrib_quantized_rnn", leads=True, accepts=is_plain_lstm,
                floats=lambda p: frozenset((1, 2, 3)), shifted=frozenset({0}), gives_floats=True,
                attrs=(("quantized", "true"),)),
    "_sg_mkldnn_conv": Rule("_sg_mkldnn_conv", leads=True, widens=True, accepts=_is_on_floats,
                            floats=_all_but_data_and_sum, attrs=(("quantized", "true"),)),
    "_sg_mkldnn_fully_connected": replace(_DENSE, by_rows=replace(
        _DENSE, floats=_all_but_data_and_sum,
        attrs=(*_DENSE.attrs, ("channel_wise_quantize", "True")))),
    **{name: _attention(name) for name in ("_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt")},
}

# Operators whose outputs MXNet calls by names; those of others it numbers when it quantizes them.
NAMED_OUTPUTS = frozenset((
    "Activation", "BatchNorm", "BatchNorm_v1", "BilinearSampler", "CTCLoss", "Concat",
    "Convolution", "Convolution_v1", "Correlation", "Crop", "Custom", "Deconvolution", "Dropout",
    "FullyConnected", "GridGenerator", "GroupNorm", "IdentityAttachKLSparseReg", "InstanceNorm",
    "L2Normalization", "LRN", "LayerNorm", "LeakyReLU", "MakeLoss", "Pad", "Pooling",
    "Pooling_v1", "RNN", "ROIPooling", "SVMOutput", "SequenceLast", "SequenceMask",
    "SequenceReverse", "SliceChannel", "SoftmaxActivation", "SoftmaxOutput", "SpatialTransformer",
    "SwapAxis", "UpSampling", "_contrib_BatchNormWithReLU", "_contrib_DeformableConvolution",
    "_contrib_DeformablePSROIPooling", "_contrib_MultiBoxDetection", "_contrib_MultiBoxPrior",
    "_contrib_MultiBoxTarget", "_contrib_MultiProposal", "_contrib_PSROIPooling",
    "_contrib_Proposal", "_contrib_ROIAlign", "_contrib_RROIAlign", "_contrib_SyncBatchNorm",
    "_contrib_calibrate_entropy", "_contrib_count_sketch", "_contrib_fft", "_contrib_hawkesll",
    "_contrib_ifft", "_contrib_index_array", "_contrib_interleaved_matmul_encdec_qk",
    "_contrib_interleaved_matmul_encdec_valatt", "_contrib_interleaved_matmul_selfatt_qk",
    "_contrib_interleaved_matmul_selfatt_valatt", "col2im", "elemwise_add", "im2col",
    "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected", "_sg_mkldnn_selfatt_qk",
    "_sg_mkldnn_selfatt_valatt", "make_loss", "softmax", "softmin"))
