"""Every native kernel: its name, the family that computes it, and what a call of it is given.

`native/generate_kernels.py` makes of it the enumeration and the accessors in C, which family
computes what, and the functions in `ndarray_rt/storage/kernels`. A kernel has one row here and its
C code in the file of its family; kernels of a family stand together.

Arrays: a name, its type behind a colon (float32 where there is none; `any` for bytes), `>` before
what is only written, `=` before what is read and written, `?` behind what may be left out, `*5`
behind what is up to five arrays. Counts are whole numbers, with `:int` where C wants an int and
`:flag` for yes and no, `?` behind those that are 0 where they are left out, `*3` for three of them,
`#parts` for how many `parts` there are. Numbers are real ones, floats in C unless they are `:f64`.
"""

from __future__ import annotations

from byte_kernels import BYTE_KERNELS
from kernel_row import Kernel

# of convolutions with square windows over channels-last images
_WINDOWS = ("images channels height width filters window:int stride:int pad_y pad_x", "low high")
# Of steps of optimizers. With `half_grad` the gradient has 16 bits; with `half_out` the weight is a
# master copy, which changes, and `out` takes it in 16 bits; with `keep_master` the copy stays.
_UPDATED = ">out:any =weight grad:any"
_UPDATE = "count half_grad:flag? half_out:flag? keep_master:flag?"
_RATES = "lr wd rescale_grad clip_gradient"  # a bound below 0 is none
_FINISH = "first_slope first_low first_high last_slope last_low last_high"
_REGIONS = "regions channels height width images rows columns"

KERNELS: tuple[Kernel, ...] = (
    Kernel("add_to", "basic", "=out data", "n", doc="out += data."),
    Kernel("copy", "basic", ">out:any data:any", "nbytes", doc="The same; they may overlap."),
    Kernel("zero", "basic", ">out:any", "nbytes", doc="All bits are 0."),
    Kernel("fill", "basic", ">out", "n", "value", "The same number everywhere."),
    Kernel("blend", "basic", "=out data", "n", "a b", "out = a out + b data."),
    Kernel("sloped", "basic", ">out x slopes data", "n",
           doc="data, times its slope where x is not above 0."),
    Kernel("bias_grad", "basic", ">out data", "rows channels", doc="The sums of columns."),
    # Places are an array of kind F32, F64, S32, S8, U8 or NDRT_INDEX_S64; beyond the axis they go
    # to its nearer end, or with `wrap` round and round.
    Kernel("gather", "gather", ">out:any table:any places:any",
           "outer count rows width kind:int wrap:flag",
           doc="out[o][i] = table[o][places[i]], rows of `width` bytes."),
    Kernel("gather_grad", "gather", ">dx dy places:any",
           "outer count rows width kind:int wrap:flag",
           doc="The gradient of the table: rows of `width` elements that belong there, added up."),
    Kernel("pick", "gather", ">out:any data:any places:any",
           "outer length inner size kind:int wrap:flag",
           doc="out[o][i] = data[o][places[o][i]][i], elements of `size` bytes."),
    Kernel("pick_grad", "gather", ">dx dy places:any", "outer length inner kind:int wrap:flag",
           doc="The gradient of the data."),
    Kernel("one_hot", "gather", ">out:any places:any", "count depth kind:int dtype:int",
           "on:f64 off:f64", "Rows of `off` with `on` at each place; dtype F32 or S32."),
    Kernel("where", "gather", ">out condition:any x y", "count width kind:int",
           doc="x where the condition of that kind is not 0, else y; `width` elements each."),
    Kernel("sequence_mask", "gather", ">out data lengths:any",
           "rows columns width steps_axis kind:int", "value",
           "`value` behind the lengths; which of the first two counts are the steps is "
           "`steps_axis`."),
    Kernel("arange", "gather", ">out", "n repeat", "start step",
           "Each value of start + i step `repeat` times."),
    Kernel("reduce", "math", ">out:any data:any >parts:f64?",
           "outer length inner kind:int what:int", "factor:f64",
           "data reduced along the middle, as ndrt_reduction says, times a factor; kind F32, F64 "
           "or S32. For rows of more than NDRT_REDUCE_BLOCK `parts` has a number for each block of "
           "each."),
    Kernel("arg_extreme", "math", ">out:any data:any", "outer length inner kind:int least:int",
           doc="The place of the greatest, or with `least` the least element along the middle."),
    Kernel("running_sum", "math", ">out:any data:any",
           "outer length inner kind:int backwards:int",
           doc="Sums up to each element along the middle, or from the end."),
    Kernel("softmax_columns", "math", ">out data", "outer length inner log:int",
           "divisor:f64 sign:f64",
           "Softmax along the middle, or its logarithm, of data by `divisor` times `sign`."),
    Kernel("product_grad", "math", ">dx dy data", "outer length inner",
           doc="Each element times the product of the others along the middle, times dy."),
    Kernel("prelu", "math", ">out data slopes", "outer blocks inner channels",
           doc="data, times the slope of its channel where it is not above 0."),
    Kernel("exp", "math", ">out data", "n", doc="e to the power of each element."),
    Kernel("arithmetic", "math", ">out:any left:any right:any", "n kind:int what:int",
           doc="What ndrt_arithmetic_id says of two arrays; kind F32, F64 or S32."),
    Kernel("step_grad", "math", ">dx dy data", "n what:int", "low high",
           "dy times a slope that is a step (ndrt_step); data of relu: its output."),
    Kernel("topk", "ordering", ">values:any >places:any data:any >scratch:any",
           "rows n k slots dtype:int descending:flag what:int places_dtype:int",
           doc="The first k of each row in order, those that tie in the order of their places; NaN "
           "counts as the greatest. dtype F32 or S32; `what`: 1 values, 2 places, 3 both; places "
           "F32 or S32; scratch is `slots` times ndrt_topk_pairs of 8 bytes."),
    Kernel("topk_grad", "ordering", ">dx dy places:any", "rows n k places_dtype:int",
           doc="The gradient of the rows."),
    Kernel("softmax_grad", "softmax_grad", ">dx y dy", "outer length inner log:flag",
           "divisor:f64 sign:f64",
           "The gradient of data from `softmax_columns`, or from rows where inner is 1: y is that "
           "output."),
    # Rows of contiguous elements, of which row r has the numbers r modulo `vectors` of gamma and
    # beta; slopes are 6 floats a row.
    Kernel("norm_rows", "norms", ">out data gamma beta >mean >std", "rows width vectors",
           "epsilon:f64", "Rows normalized."),
    Kernel("row_slopes", "norms", ">slopes:any dy data gamma mean std", "rows width vectors",
           doc="What the gradients of rows are made of."),
    Kernel("norm_rows_grad", "norms", ">dx dy data slopes:any", "rows width vectors",
           doc="The gradient of the data."),
    Kernel("sum_slopes", "norms", ">dgamma >dbeta slopes:any", "rows width vectors",
           doc="The gradients of gamma and beta."),
    # along the middle of three axes
    Kernel("norm_axis", "norms", ">out data gamma beta >mean >std", "outer length inner",
           "epsilon", "Columns normalized."),
    Kernel("norm_axis_grad", "norms", ">dx dy data gamma mean std", "outer length inner",
           doc="The gradient of the data."),
    Kernel("norm_axis_vectors", "norms", ">dgamma >dbeta dy data mean std", "outer length inner",
           doc="The gradients of gamma and beta."),
    Kernel("l2", "norms", ">out data >norm", "outer length inner", "epsilon:f64",
           "data / norm, norm = sqrt(sum data^2 + epsilon)."),
    Kernel("l2_grad", "norms", ">dx dy out norm", "outer length inner",
           doc="The gradient of the data."),
    Kernel("resize_axis", "resize", ">out data", "outer size made inner kind:int back:flag",
           doc="Along an axis from `size` to `made` places, as ndrt_resize_kind says, or with "
           "`back` the gradient of that."),
    Kernel("batch_stats", "batch_stats", ">out =mean =var data beta gamma?",
           "outer channels inner block all:flag", "epsilon",
           "Normalizes the channels anew whose statistics float has lost, or all; data lies in "
           "blocks of `block` channels."),
    Kernel("normalize_channels", "channel_norm", ">out data mean var beta gamma?",
           "outer channels inner block relu:flag", "epsilon",
           "Batch normalization with these statistics; data lies in blocks of `block` channels. "
           "With `relu` what is below 0 becomes 0."),
    Kernel("norm_last", "last_axis", ">out data gamma beta >mean >std", "rows width", "epsilon",
           "Rows normalized; gamma and beta of an element each."),
    Kernel("lrn", "lrn", ">out data", "outer channels inner neighbours",
           "alpha:f64 beta:f64 knorm:f64", "Local response normalization over channels."),
    Kernel("fold_norm", "folded_norms", ">weight_out >bias_out weight beta mean var gamma? bias?",
           "groups inputs channels width", "epsilon:f64",
           "Weight and bias that do what a layer and the batch normalization behind it do; the "
           "weight is (groups, inputs of a group, channels of a group, width)."),
    # Regions are rows of image, left, top, right, bottom; `rows` and `columns` of bins.
    Kernel("roi_align", "regions", ">out data rois", f"{_REGIONS} samples split:flag", "scale",
           "Means of bins of regions, of so many samples along each axis (0: by the size); with "
           "`split` each bin has planes of its own."),
    Kernel("roi_align_grad", "regions", ">dx dy rois", f"{_REGIONS} samples split:flag", "scale",
           "The gradient of the data."),
    Kernel("roi_pool", "regions", ">out >places:s32 data rois", _REGIONS, "scale",
           "The greatest in each bin of regions, and its place in the plane; -1: none."),
    Kernel("roi_pool_grad", "regions", ">dx dy places:s32 rois", _REGIONS,
           doc="The gradient of the data."),
    Kernel("resize", "images", ">out:any data:any", "images height width depth rows columns "
           "dtype:int", doc="Images of another size, as OpenCV makes them; dtype F32 or U8."),
    # Boxes are left, top, right, bottom.
    Kernel("box_nms", "boxes", ">out >record:s32 data >scratch:any",
           "batches boxes width most coordinates score kind force:flag centered:flag "
           "to_center:flag", "overlap valid background",
           "Boxes that no better one overlaps with by more than `overlap`, best first, and their "
           "places; of no kind with `kind` -1, and of all kinds with `force`. `centered`: data has "
           "centers and sizes; `to_center`: out has. Scratch is 9 words a box."),
    Kernel("multibox_prior", "boxes", ">out", "rows columns anchors which clip:flag",
           "half_width half_height step_y step_x offset_y offset_x",
           "One of the anchors of each pixel."),
    Kernel("multibox_detection", "boxes", ">out classes shifts anchors >scratch:any",
           "batches kinds count most clip:flag force:flag", "threshold overlap variances*4",
           "Rows of class, probability and box; `most` of them suppress others, 0: all. Scratch is "
           "15 words an anchor."),
    Kernel("multibox_match", "boxes", ">match:s32 >scratch:any anchors labels classes",
           "batches count most width kinds", "threshold ratio limit",
           "The label of each anchor, -1: is ignored, -2: background. Labels are `most` rows of "
           "`width`: class, box; scratch is 2 words an anchor and label."),
    Kernel("multibox_assign", "boxes", ">target >mask >kind anchors labels match:s32",
           "batches count most width", "ignored variances*4", "What is learned by these matches."),
    Kernel("sgd", "optimizers", f"{_UPDATED} lrs? wds?", f"{_UPDATE} which?", _RATES,
           "lr and wd are the element `which` - 1 of `lrs` and `wds` where it is not 0."),
    Kernel("sgd_mom", "optimizers", f"{_UPDATED} =mom lrs? wds?", f"{_UPDATE} which?",
           f"{_RATES} momentum", "The same with momentum."),
    Kernel("nag_mom", "optimizers", f"{_UPDATED} =mom", _UPDATE, f"{_RATES} momentum",
           "With Nesterov's momentum."),
    Kernel("nag_mom_of_master", "optimizers", f"{_UPDATED} =mom", _UPDATE, f"{_RATES} momentum",
           "The same, and the new weight decays into the momentum."),
    Kernel("signsgd", "optimizers", _UPDATED, _UPDATE, _RATES, "By the gradient's sign."),
    Kernel("signum", "optimizers", f"{_UPDATED} =mom", _UPDATE, f"{_RATES} momentum wd_lh",
           "By the momentum's sign."),
    Kernel("adam", "optimizers", f"{_UPDATED} =mean =var", _UPDATE, f"{_RATES} beta1 beta2 epsilon",
           "Kingma and Ba, 2014."),
    Kernel("adamw", "optimizers", f"{_UPDATED} =mean =var rescale_grad", _UPDATE,
           "lr wd eta clip_gradient beta1 beta2 epsilon",
           "Loshchilov and Hutter, 2019; nothing changes where `rescale_grad`, one element, is 0 "
           "or not finite."),
    Kernel("rmsprop", "optimizers", f"{_UPDATED} =n", _UPDATE,
           f"{_RATES} gamma1 epsilon clip_weights", "Tieleman and Hinton, 2012."),
    Kernel("rmspropalex", "optimizers", f"{_UPDATED} =n =g =delta", _UPDATE,
           f"{_RATES} gamma1 gamma2 epsilon clip_weights", "Graves, 2013."),
    Kernel("ftrl", "optimizers", f"{_UPDATED} =z =n", _UPDATE, f"{_RATES} lamda1 beta",
           "McMahan et al., 2013."),
    Kernel("ftml", "optimizers", f"{_UPDATED} =d =v =z", _UPDATE,
           "lr wd rescale_grad clip_grad beta1 beta2 epsilon t", "Zheng and Kwok, 2017."),
    Kernel("lamb_1", "optimizers", f"{_UPDATED} =mean =var", _UPDATE,
           "t wd rescale_grad clip_gradient beta1 beta2 epsilon bias_correction",
           "The direction of a step of LAMB (You et al., 2019)."),
    Kernel("lamb_2", "optimizers", ">out:any =weight step norm step_norm", _UPDATE,
           "lr lower_bound upper_bound", "That step; the norms have one element each."),
    Kernel("norm", "optimizers", ">out data:any", "count half:flag root:flag",
           doc="The sum of squares, or the root of that, of one element; with `half` data has 16 "
           "bits."),
    Kernel("flat_places", "moves", ">out:s64 coordinates:any", "rank n kind:int lengths*7",
           doc="The number of the element with the coordinates of each column, which below 0 count "
           "from the end; NDRT_RANGE for one beyond its axis."),
    Kernel("put_rows", "moves", "=out:any data:any places:s64", "n rows width",
           doc="out[places[i]] = data[i], rows of `width` bytes; the last one stays."),
    Kernel("axis_move", "moves", ">out:any data:any",
           "outer length width count kind:int begin step",
           doc="out[o][i] = data[o][f(i)], f as ndrt_axis_kind says of begin + i step; `length` of "
           "data's axis, `count` of out's, `width` bytes of a part."),
    Kernel("axis_move_grad", "moves", ">dx dy", "outer length width count kind:int begin step",
           doc="The gradient of the data; `width` in elements."),
    Kernel("sequence_reverse", "moves", ">out:any data:any lengths:any",
           "steps batch width kind:int",
           doc="The first lengths[b] steps of b turned round; parts of `width` bytes."),
    Kernel("sequence_last", "moves", ">out:any data:any lengths:any",
           "rows columns width steps_axis kind:int",
           doc="The part that is a sequence's last; which of the first two counts are the steps is "
           "`steps_axis`."),
    Kernel("sequence_last_grad", "moves", ">dx:any dy:any lengths:any",
           "rows columns width steps_axis kind:int", doc="The gradient of the data."),
    Kernel("function", "functions", ">out x dy?", "n which:int", "p:f64 q:f64",
           "A function (ndrt_function_id) of x and two numbers; a slope is multiplied by dy."),
    Kernel("scalar", "scalars", ">out:any x:any", "n kind:int which:int", "p:f64",
           "A function (ndrt_function_id) of x and p; kind F16, F64, S32, S8, U8 or "
           "NDRT_INDEX_S64."),
    Kernel("quantized", "quantized", ">out data scale zero", "outer channels inner", "low high",
           "What data come back as from whole numbers within limits: (round(data / scale) + zero, "
           "kept within them, - zero) scale; one scale and zero of a channel."),
    *BYTE_KERNELS,
    Kernel("least_loss", "entropy", ">threshold >lost hist edges >scratch",
           "bins levels slots:int",
           doc="Beyond which value of a histogram of `bins` around 0, an odd number, what is cut "
           "off and told apart by `levels` loses least entropy, and what that is; `slots`: "
           "threads that scratch has room for, each 2 bins, behind them a number for each bin."),
    Kernel("widen", "halves", ">out data:any", "n kind:int",
           doc="Numbers of 16 bits, of kind F16 or BF16, as floats."),
    Kernel("narrow", "halves", ">out:any data", "n kind:int",
           doc="Floats rounded to numbers of 16 bits, of kind F16 or BF16."),
    # Random numbers; `stream` moves on when the kernel runs.
    Kernel("philox", "draws", ">out:u32", "n key counter", doc="The words of a stream."),
    Kernel("dropout_mask", "draws", ">out =stream:random", "n", "bound factor",
           "`factor` where a word of 24 bits is below `bound`, else 0."),
    Kernel("dropout", "draws", ">out =stream:random >mask data", "n", "bound factor",
           "That as a mask, and data times it."),
    Kernel("uniform", "draws", ">out =stream:random", "n", "low:f64 width:f64 limit",
           "low + width u, at most `limit`."),
    Kernel("normal", "draws", ">out =stream:random", "n", "loc:f64 scale:f64", "loc + scale z."),
    Kernel("draw", "draws", ">out:any =stream:random first:any? second:any?",
           "n distribution:int each dtype:int kind:int", "a:f64 b:f64",
           "Numbers of an ndrt_distribution in dtype F16, F32 or F64; its parameters are `a` and "
           "`b` with `each` 0, else arrays of that kind, of which each element makes `each`."),
    Kernel("randint", "draws", ">out:s32 =stream:random", "n least range",
           doc="Whole numbers from `least` on; `range`: how many there are, as 64 bits."),
    Kernel("multinomial", "draws",
           ">places:any =stream:random data:any >totals:f64 >logs:any?",
           "rows width draws dtype:int kind:int",
           doc="Places by their probabilities in each row, in a dtype; `totals` has one number "
           "more than the probabilities of each row; `logs`: their logarithms, in the data's "
           "kind."),
    Kernel("shuffle", "draws", ">out:any =stream:random data:any >scratch:any", "rows width",
           doc="Rows of `width` bytes in random order; scratch is 3 times 8 bytes a row, and 8."),
    Kernel("concat_channels", "concat", ">out parts*5", "rows columns #parts widths*5",
           doc="Concatenates the rows of up to NDRT_JOINED_MOST arrays."),
    Kernel("concat_scaled", "concat", ">out factors shifts parts*7",
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
    Kernel("pool_bytes", "byte_pool", ">out:any data:any",
           "outer lanes sides*3 windows*3 kernel*3 stride*3 pad*3 is_signed:flag is_max:flag "
           "includes_pad:flag",
           doc="Maxima or averages of int8 or uint8, (outer, three axes, lanes); an average is "
           "the sum by the size of the kernel, or of what it meets of data, to the nearest, "
           "halves to even. A maximum of nothing is the least number, an average 0."),
    Kernel("skinny_gemm", "skinny_gemm", ">out data weights bias?", "rows features columns width",
           "low high",
           "data times weights plus bias within bounds. Weights are blocks of `width` columns, of "
           "as many features each time as a vector has lanes (16; 8 without AVX-512), the last "
           "ones padded."),
    # What becomes of sums: times a scale, or one of each filter, of the sums with a bias, or with a
    # shift in float; bent at 0 and bounded; plus 8-bit numbers times their scale; and so once more.
    Kernel("whole_windows", "whole_windows",
           ">out:any data:any weights:any >scratch:any bias:s32? shift? scale? scales? added:any? "
           "added_scale?",
           "images channels height width filters window*2 stride*2 dilate*2 pad*2 rows columns "
           "groups is_signed:flag slots:int kind:int added_kind:int?",
           f"{_FINISH} zero? out_zero?",
           "Windows over channels-last images of 8-bit numbers: out (images, rows, columns, "
           "filters) of kind S32, which are the sums with the bias, or F32, S8 or U8, as in "
           "`to_bytes`, plus `out_zero`. `zero` is the number of data that stands for 0. Weights "
           "as of `pack_whole`; scratch has ndrt_whole_scratch bytes for each of `slots` threads."),
    Kernel("pack_whole", "whole_packing", ">out:any data:any",
           "filters channels window*2 groups",
           doc="int8 weights (filters, channels of a group, y, x) as `whole_windows` reads them, "
           "in ndrt_whole_packed bytes: see ndrt_whole_layout.h."),
    Kernel("whole_depthwise", "whole_depthwise",
           ">out:any data:any weights:any >scratch:any bias:s32? shift? scale? scales? added:any? "
           "added_scale?",
           "images channels height width window*2 stride*2 dilate*2 pad*2 rows columns "
           "is_signed:flag kind:int added_kind:int?", f"{_FINISH} zero? out_zero?",
           "As whole_windows, with a filter for each of at least 16 channels, windows of up to "
           "NDRT_WHOLE_PLACES places. Weights (y, x, channels), int8; scratch has "
           "ndrt_whole_depthwise_scratch bytes."),
    Kernel("byte_products", "byte_products",
           ">out:any left:any right:any >scratch:any scale?",
           "batches rows columns depth left_batch left_row right_batch right_row right_column "
           "out_batch out_row left_signed:flag right_signed:flag kind:int slots:int", "factor",
           "Products of matrices, left (rows, depth) and right (depth, columns) of int8 or uint8, "
           "as kind S32, times a factor of at most 1, or F32 or S8 times the scale, as in "
           "`to_bytes`. Matrices and their rows lie that far apart, columns of left and out side "
           "by side, and so do columns or rows of right. Depth is at most NDRT_BYTE_PRODUCTS_MOST; "
           "scratch has ndrt_byte_products_scratch bytes for each of `slots` threads."),
    Kernel("dynamic_dense", "dynamic_dense",
           ">out data weights:any scales >scratch:any bias?",
           "rows features columns is_signed:flag per_tensor:flag",
           doc="Rows of floats times 8-bit weights, rounded to 8 bits when they come: int8 around "
           "0, or uint8 from the least number to the greatest; each in its own range, or all in "
           "one. out (rows, columns) is the int32 sums times both scales, plus bias. Weights (for "
           "each NDRT_WHOLE_BLOCK columns: for each 2 features: columns 2), padded with zeros, "
           "scales (columns,); scratch has 3 floats for each row, and then its features in 16 "
           "bits, padded to an even number. Rows with numbers that are not finite give NaN."),
    Kernel("lstm_steps", "lstm",
           ">out gates weights hidden cell >cells counts:u8? >states?",
           "steps batch size holds:flag",
           doc="`gates` (steps, batch, 4 size) is what inputs add to the gates i f g o; weights "
           "between the states, for each 16 elements, or 8 without AVX-512, (size, 4 gates, 16 or "
           "8). With `counts` (u8, steps batch) a step of 0 gives 0 and leaves the cells, or with "
           "`holds` the states, as they were; `states` is then two more of them."),
    Kernel("byte_lstm", "byte_lstm",
           ">out:any sums:s32 weights:any scale shift state cell >cells >scratch:any >hidden?",
           "steps batch size columns first backwards:flag kind:int",
           doc="A layer of an LSTM on numbers of 8 bits, which stand for (number - shift) / scale: "
           "out (steps, batch, columns), from the column `first` on, of kind U8, or F32, which is "
           "what these stand for; cells and hidden states of the last step. `sums` (steps, batch, "
           "4 size) are those of the inputs' products; weights as of `pack_byte_lstm`; scratch has "
           "ndrt_byte_lstm_scratch bytes."),
    Kernel("pack_byte_lstm", "byte_lstm_weights",
           ">out:any h2h:any i2h:any most i2h_bias h2h_bias", "size features",
           doc="int8 weights between the states, the sums of them and those of the inputs, the "
           "biases, and the scales that follow from the greatest weights, as in ndrt_byte_lstm.h."),
    Kernel("round_rows", "byte_lstm_weights", ">out:any data most", "rows width",
           doc="Rows as int8, as in `to_bytes`: 127 is `most` of each, or 1 where that is 0."),
    Kernel("row_most", "byte_lstm_weights", "=most data", "rows width",
           doc="The greatest absolute value of each row, or what is there, if that is greater; NaN "
           "wins."),
    Kernel("depthwise", "direct_conv", ">out data weights bias?", *_WINDOWS,
           "A filter for each channel, windows of 3, strides of 1 or 2; all is channels-last, "
           "weights (for each 16 channels: y x 16)."),
    Kernel("few_channels", "direct_conv", ">out data weights bias?", *_WINDOWS,
           "Up to NDRT_FEW_CHANNELS_MOST channels, windows of up to NDRT_FEW_CHANNELS_WINDOW, "
           "strides of 1, 2 or 4; data is plain, out channels-last, weights (for each 16 filters: "
           "y x channels 16)."),
    Kernel("implicit_gemm", "implicit_gemm", ">out data weights bias? added?",
           "images channels height width filters window*2 stride*2 pad*2 rows columns", "low high",
           "Windows over channels-last images, plus bias plus `added` within bounds: out (images, "
           "rows, columns, filters), weights (for each NDRT_PACKED_FILTERS filters: y x channels "
           "filters), padded."),
    Kernel("packed_gemm", "packed_gemm", ">out data weights bias? added?",
           "rows features columns width groups shuffled", "low high",
           "data times weights plus bias plus `added` within bounds; weights as of skinny_gemm, in "
           "blocks of so many columns or a multiple of them. Rows have `groups` of features and "
           "columns (from 2 on features of weights are not padded); data is read as its channels "
           "shuffled from `shuffled` groups (1: as it is)."),
    # of kind F64 or S32, where numbers are 1 and bounds are none
    Kernel("blocked_gemm", "blocked_gemm",
           ">out:any a:any b:any >scratch:any bias:any? added:any?",
           "products*2 rows depth columns a_steps*4 b_steps*4 out_steps*3 kind:int slots:int",
           "alpha:f64 beta:f64 low:f64 high:f64",
           "alpha times the products of a and b, plus bias of each column, plus beta times "
           "`added`, within bounds. Steps are elements between products in both directions, rows "
           "and columns; columns of the result are neighbours, and `added` lies as it does. "
           "scratch has ndrt_blocked_scratch numbers for `slots` threads."),
    Kernel("blocked_windows", "blocked_gemm",
           ">out:any data:any weights:any >scratch:any bias:any?",
           "images groups channels filters size*2 window*2 stride*2 dilate*2 pad*2 out_size*2 "
           "kind:int slots:int", "low:f64 high:f64",
           "Windows over images (images, groups, channels, size) plus bias of each filter, within "
           "bounds: out (images, groups, filters, out_size), weights (groups, filters, channels, "
           "window). scratch as of blocked_gemm for these filters, numbers of a window and places "
           "of an image."),
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

# families that there is no form for AVX2 of
WIDE_FAMILIES = ("separable",)

# the folders below native/kernels/ with the families whose code is there
FOLDERS = {
    "elementwise": ("basic", "functions", "scalars", "quantized", "halves"),
    "bytes": ("byte_ranges", "byte_layers", "bytes"),
    "affine": ("affine_bytes",),
    "reduce": ("math", "ordering", "entropy", "softmax_grad"),
    "norm": ("norms", "batch_stats", "channel_norm", "last_axis", "lrn", "folded_norms"),
    "index": ("gather", "moves", "concat"),
    "optimizer": ("optimizers",),
    "random": ("draws",),
    "vision": ("regions", "boxes", "images", "resize"),
    "pool": ("maxima", "byte_pool"),
    "gemm": ("skinny_gemm", "packed_gemm", "whole_windows", "whole_packing",
             "byte_products", "dynamic_dense", "blocked_gemm"),
    "conv": ("direct_conv", "implicit_gemm", "separable", "whole_depthwise"),
    "rnn": ("lstm", "byte_lstm", "byte_lstm_weights"),
}
