"""Every native kernel: its name, the family that computes it, and what a call of it is given.

`native/generate_kernels.py` makes of it the enumeration and the accessors in C, which family
computes what, and the functions in `ndarray_rt/storage/kernels`. A kernel has one row here and its
C code in the file of its family; kernels of a family stand together.

Arrays: a name, its type behind a colon (float32 where there is none; `any` for bytes), `>` before
what is only written, `=` before what is read and written, `?` behind what may be left out, `*5`
behind what is up to five arrays. Counts are whole numbers, with `:int` where C wants an int and
`:flag` for yes and no, `*3` for three of them, `#parts` for how many `parts` there are. Numbers are
real ones, floats in C unless they are `:f64`. `~` is before what the family itself fills in when it
runs.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """A row: see above."""

    name: str
    family: str
    arrays: str = ""
    counts: str = ""
    numbers: str = ""
    doc: str = ""
    typed: bool = True


def _old(family: str, *names: str) -> tuple[Kernel, ...]:
    return tuple(Kernel(name, family, typed=False) for name in names)


# of convolutions with square windows over channels-last images
_WINDOWS = ("images channels height width filters window:int stride:int pad_y pad_x", "low high")

KERNELS: tuple[Kernel, ...] = (
    *_old("basic", "add_to", "copy", "zero", "sgd", "sgd_mom", "adam", "philox", "bias_grad",
          "blend", "dropout_mask", "dropout", "uniform", "normal", "fill", "sloped"),
    *_old("gather", "gather", "gather_grad", "pick", "pick_grad", "one_hot", "where",
          "sequence_mask", "arange", "erf"),
    *_old("math", "reduce", "arg_extreme", "running_sum", "softmax_columns", "product_grad",
          "prelu", "exp", "arithmetic", "step_grad"),
    *_old("ordering", "topk", "topk_grad"),
    *_old("norms", "norm_rows", "row_slopes", "norm_rows_grad", "sum_slopes", "norm_axis",
          "norm_axis_grad", "norm_axis_vectors", "l2", "l2_grad"),
    *_old("resize", "resize_axis"),
    Kernel("batch_stats", "batch_stats", ">out =mean =var data beta gamma?",
           "outer channels inner block all:flag", "epsilon",
           "Normalizes the channels anew whose statistics float has lost, or all; data lies in "
           "blocks of `block` channels."),
    *_old("last_axis", "norm_last"),
    *_old("lrn", "lrn"),
    Kernel("fold_norm", "folded_norms", ">weight_out >bias_out weight beta mean var gamma? bias?",
           "groups inputs channels width", "epsilon:f64",
           "Weight and bias that do what a layer and the batch normalization behind it do; the "
           "weight is (groups, inputs of a group, channels of a group, width)."),
    *_old("vision", "roi_align", "roi_align_grad", "roi_pool", "roi_pool_grad", "resize", "box_nms",
          "multibox_prior", "multibox_detection", "multibox_match", "multibox_assign"),
    *_old("optimizers", "nag_mom", "rmsprop", "rmspropalex", "ftrl", "ftml", "signsgd", "signum",
          "lamb_1", "lamb_2", "adamw", "norm", "sgd_of_many", "sgd_mom_of_many",
          "nag_mom_of_master"),
    *_old("moves", "flat_places", "put_rows", "axis_move", "axis_move_grad", "sequence_reverse",
          "sequence_last", "sequence_last_grad"),
    *_old("functions", "function"),
    *_old("scalars", "scalar"),
    Kernel("quantized", "quantized", ">out data scale zero", "outer channels inner", "low high",
           "What data come back as from whole numbers within limits: (round(data / scale) + zero, "
           "kept within them, - zero) scale; one scale and zero of a channel."),
    *_old("draws", "draw", "randint", "multinomial", "shuffle"),
    Kernel("join_rows", "joins", ">out parts*5", "rows columns #parts widths*5",
           doc="The rows of up to NDRT_JOINED_MOST arrays one behind the other."),
    Kernel("join_scaled", "joins", ">out factors shifts parts*7",
           "rows columns #parts rectify:flag widths*7",
           doc="The same of up to NDRT_SCALED_MOST arrays, each column times its factor plus its "
           "shift, and 0 where `rectify` and that is not above it; columns behind those of the "
           "last array stay."),
    Kernel("lost_maxima", "maxima", "=out data =places:any?",
           "outer lanes sides*3 windows*3 kernel*3 stride*3 pad*3 places_dtype:int",
           doc="Does again what max pooling by oneDNN loses: (outer, three axes, lanes); places of "
           "the maxima are u8 or s32."),
    Kernel("max_pool", "maxima", ">out data",
           "outer lanes sides*3 windows*3 kernel*3 stride*3 pad*3", "low high",
           "Maxima within bounds; each window meets data, and along the first two axes has up to "
           "NDRT_MAX_POOL_ROWS places."),
    Kernel("few_rows", "few_rows", ">out data weights bias?", "rows features columns width",
           "low high",
           "data times weights plus bias within bounds. Weights are blocks of `width` columns, of "
           "16 features each time, the last ones padded."),
    Kernel("lstm_steps", "lstm",
           ">out gates weights hidden cell >cells counts:u8? >states?",
           "steps batch size holds:flag",
           doc="`gates` (steps, batch, 4 size) is what inputs add to the gates i f g o; weights "
           "between the states, for each 16 elements (size, 4 gates, 16). With `counts` (u8, steps "
           "batch) a step of 0 gives 0 and leaves the cells, or with `holds` the states, as they "
           "were; `states` is then two more of them."),
    Kernel("depthwise", "windows", ">out data weights bias?", *_WINDOWS,
           "A filter for each channel, windows of 3, strides of 1 or 2; all is channels-last, "
           "weights (for each 16 channels: y x 16)."),
    Kernel("few_channels", "windows", ">out data weights bias?", *_WINDOWS,
           "Up to NDRT_FEW_CHANNELS_MOST channels, windows of up to NDRT_FEW_CHANNELS_WINDOW, "
           "strides of 1, 2 or 4; data is plain, out channels-last, weights (for each 16 filters: "
           "y x channels 16)."),
    Kernel("products", "products", ">out data weights bias? added?",
           "rows features columns width", "low high",
           "data times weights plus bias plus `added` within bounds; weights as of few_rows, in "
           "blocks of 16 k columns."),
    Kernel("separable", "separable",
           ">out data >scratch depthwise projection expansion? expansion_bias? depthwise_bias? "
           "projection_bias? added?",
           "images channels height width between filters stride:int pad_y pad_x expansion_width "
           "projection_width slots:int",
           "expansion_low expansion_high depthwise_low depthwise_high low high",
           "Products of pixels (the expansion), windows of 3x3 over these, products of the pixels "
           "of that, each within bounds; `slots`: threads that scratch has room for, each "
           "ndrt_separable_scratch numbers."),
)

# families and kernels that there is no form for AVX2 of
WIDE_FAMILIES = ("few_rows", "lstm", "windows", "products", "separable")
WIDE_KERNELS = ("max_pool",)

# the folders below native/kernels/ with the families whose code is there
FOLDERS = {
    "elementwise": ("basic", "functions", "scalars", "quantized"),
    "reduce": ("math", "ordering"),
    "norm": ("norms", "batch_stats", "last_axis", "lrn", "folded_norms"),
    "index": ("gather", "moves", "joins"),
    "optimizer": ("optimizers",),
    "random": ("draws",),
    "vision": ("vision", "resize"),
    "pool": ("maxima",),
    "gemm": ("few_rows", "products"),
    "conv": ("windows", "separable"),
    "rnn": ("lstm",),
}
