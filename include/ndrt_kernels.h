/* The API of the native shim, continued: kernels of our own. */
#ifndef NDRT_KERNELS_H
#define NDRT_KERNELS_H

#include "ndrt.h"

/* cdef-begin */
/* ---- kernels of our own: what oneDNN lacks --------------------------------------------- */
typedef enum {
    NDRT_KERNEL_ADD_TO = 1,    /* f32: data[0] += data[1]                    dims n */
    NDRT_KERNEL_COPY = 2,      /* bytes: data[0] = data[1]                   dims nbytes */
    NDRT_KERNEL_ZERO = 3,      /* bytes: data[0] = 0                         dims nbytes */
    NDRT_KERNEL_SGD = 4,       /* f32: out, weight, grad                     dims n
                                  scalars lr wd rescale clip */
    NDRT_KERNEL_SGD_MOM = 5,   /* f32: out, weight, grad, momentum buffer
                                  scalars lr wd rescale clip momentum */
    NDRT_KERNEL_ADAM = 6,      /* f32: out, weight, grad, mean, var
                                  scalars lr wd rescale clip beta1 beta2 epsilon */
    NDRT_KERNEL_PHILOX = 7,    /* u32: data[0]                               dims n, key, counter */
    NDRT_KERNEL_BIAS_GRAD = 8, /* f32: data[0][c] = sum data[1][., c]        dims rows, channels */
    NDRT_KERNEL_BLEND = 9,     /* f32: data[0] = a data[0] + b data[1]      dims n; scalars a b */
    /* These draw n words; the last of their data is the ndrt_random that they are drawn from. */
    NDRT_KERNEL_DROPOUT_MASK = 16, /* f32: data[0] = factor or 0              dims n
                                      scalars bound (of 2^24: kept below it) factor */
    NDRT_KERNEL_DROPOUT = 17,      /* f32: data[1] = mask, data[0] = data[2] mask  the same */
    NDRT_KERNEL_UNIFORM = 18,      /* f32: data[0] = low + width u, at most limit  dims n
                                      scalars low width limit */
    NDRT_KERNEL_NORMAL = 19,       /* f32: data[0] = loc + scale z                 dims n
                                      scalars loc scale */
    NDRT_KERNEL_FILL = 20,   /* f32: data[0] = value                         dims n; scalar value */
    NDRT_KERNEL_SLOPED = 21, /* f32: data[0] = data[3] where data[1] > 0, else data[2] data[3]
                               dims n */

    /* Places are an array of kind F32, F64, S32, S8, U8 or NDRT_INDEX_S64; beyond the axis they
     * go to its nearer end, or with `wrap` round and round. */
    NDRT_KERNEL_GATHER = 32,        /* bytes: out, table, places     dims outer count rows width
                                       scalars kind wrap; out[o][i] = table[o][places[i]] */
    NDRT_KERNEL_GATHER_GRAD = 33,   /* f32: table's gradient, out's gradient, places; the same */
    NDRT_KERNEL_PICK = 34,          /* bytes: out, data, places      dims outer axis inner size
                                       scalars kind wrap; out[o][i] = data[o][places[o][i]][i] */
    NDRT_KERNEL_PICK_GRAD = 35,     /* f32: data's gradient, out's gradient, places
                                       dims outer axis inner; scalars kind wrap */
    NDRT_KERNEL_ONE_HOT = 36,       /* out, places                   dims count depth
                                       scalars kind on off, dtype of out (F32, S32) */
    NDRT_KERNEL_WHERE = 37,         /* f32: out, condition, x, y     dims count width
                                       scalars kind (of the condition) */
    NDRT_KERNEL_SEQUENCE_MASK = 38, /* f32: out, data, lengths       dims rows columns width, which
                                       of the first two are the steps; scalars kind value */
    NDRT_KERNEL_ARANGE = 39,        /* f32: out                      dims n repeat
                                       scalars start step */
    NDRT_KERNEL_ERF = 40,           /* f32: data[0] = erf(data[1])   dims n */

    /* f32; rows of contiguous elements, of which row r has the numbers r modulo `vectors` of
     * gamma and beta. Slopes are 6 floats a row. */
    NDRT_KERNEL_NORM_ROWS = 96,      /* out, data, gamma, beta, mean, std; dims rows width vectors
                                        scalars epsilon */
    NDRT_KERNEL_ROW_SLOPES = 97,     /* slopes, out's gradient, data, gamma, mean, std; the same */
    NDRT_KERNEL_NORM_ROWS_GRAD = 98, /* data's gradient, out's gradient, data, slopes; the same */
    NDRT_KERNEL_SUM_SLOPES = 99,     /* gradients of gamma and beta, slopes; the same */
    /* f32; along the middle of three axes */
    NDRT_KERNEL_NORM_AXIS = 100,         /* out, data, gamma, beta, mean, std; dims outer axis inner
                                            scalars epsilon */
    NDRT_KERNEL_NORM_AXIS_GRAD = 101,    /* data's gradient, out's gradient, data, gamma, mean, std
                                            the same dims */
    NDRT_KERNEL_NORM_AXIS_VECTORS = 102, /* gradients of gamma and beta, out's gradient, data, mean,
                                            std; the same dims */
    NDRT_KERNEL_L2 = 103,                /* out, data, norm; dims outer axis inner; scalars epsilon
                                            out = data / norm, norm = sqrt(sum data^2 + epsilon) */
    NDRT_KERNEL_L2_GRAD = 104,           /* data's gradient, out's gradient, out, norm; the same */
    NDRT_KERNEL_RESIZE_AXIS = 105, /* f32: out, data; dims outer, the axis before and after, inner
                                 scalars ndrt_resize_kind, whether it is the way back */
    NDRT_KERNEL_BATCH_STATS = 106, /* f32: out, mean, var, data, beta, gamma or NULL: the channels
                                 whose statistics float has lost are normalized again
                                 dims outer channels inner, channels of a block
                                 scalars epsilon, whether it is done to all channels */
    NDRT_KERNEL_NORM_LAST = 107,   /* f32: out, data, gamma, beta (of an element each), mean, std
                                   dims rows width; scalars epsilon */
    NDRT_KERNEL_QUANTIZED = 232,   /* f32: out, data, scale, zero; what data come back as from whole
                                      numbers within limits: (round(data / scale) + zero, kept
                                      within them, - zero) scale
                                      dims outer channels inner, one scale and zero of a channel;
                                      scalars low high */
    NDRT_KERNEL_LRN = 108,         /* f32: out, data; dims outer channels inner, neighbours
                                   scalars alpha beta knorm */
    NDRT_KERNEL_FOLD_NORM = 109,   /* f32: weight and bias that do what a layer and the batch
                                   normalization behind it do, weight (groups, inputs of a group,
                                   channels of a group, width), beta, mean, var and, as scalars say,
                                   gamma and the layer's bias; dims those of the weight
                                   scalars epsilon, whether there is gamma, a bias */
    /* f32: out, weight, grad, states; dims n, flags (1: grad has 16 bits; 2: weight is a master
     * copy that changes, out has 16 bits; 4: it stays), k, p: lr and wd are element k - 1 of
     * data[p] and data[p + 1]; with k = -1 the last number is data[p]. Scalars begin with lr wd
     * rescale clip where nothing else is said. */
    NDRT_KERNEL_NAG_MOM = 144,     /* momentum; scalars ... momentum */
    NDRT_KERNEL_RMSPROP = 145,     /* n; ... gamma1 epsilon clip_weights */
    NDRT_KERNEL_RMSPROPALEX = 146, /* n g delta; ... gamma1 gamma2 epsilon clip_weights */
    NDRT_KERNEL_FTRL = 147,        /* z n; ... lamda1 beta */
    NDRT_KERNEL_FTML = 148,        /* d v z; ... beta1 beta2 epsilon t */
    NDRT_KERNEL_SIGNSGD = 149,     /* ... */
    NDRT_KERNEL_SIGNUM = 150,      /* momentum; ... momentum wd_lh */
    NDRT_KERNEL_LAMB_1 = 151,      /* mean var; t wd rescale clip beta1 beta2 epsilon corrected */
    NDRT_KERNEL_LAMB_2 = 152,      /* norms of weight and step; lr lower upper */
    NDRT_KERNEL_ADAMW = 153,       /* mean var; lr wd eta clip beta1 beta2 epsilon rescale */
    NDRT_KERNEL_NORM = 154,        /* one f32, array; dims n, flag 1; scalars root: or a sum */
    NDRT_KERNEL_SGD_OF_MANY = 155, /* as SGD */
    NDRT_KERNEL_SGD_MOM_OF_MANY = 156,   /* as SGD_MOM */
    NDRT_KERNEL_NAG_MOM_OF_MASTER = 157, /* as NAG_MOM; the new weight decays into the momentum */
    /* The first k of each row in order, those that tie in the order of their places; NaN counts as
     * the greatest number. */
    NDRT_KERNEL_TOPK = 80,      /* f32 or s32: values, places, rows, scratch  dims rows n k slots
                                   scalars dtype descending, what is wanted (1 values, 2 places,
                                   3 both), dtype of places (F32, S32); scratch is slots times
                                   ndrt_topk_pairs of 8 bytes */
    NDRT_KERNEL_TOPK_GRAD = 81, /* f32: rows' gradient, gradient of the values, places
                                  dims rows n k; scalars dtype of places (F32, S32) */
    /* Numbers of kind F32, F64 or S32, which is the first scalar; out and data have one kind.
     * dims outer length inner: the work goes along the middle. */
    NDRT_KERNEL_REDUCE = 64,      /* out, data, and for rows of more than NDRT_REDUCE_BLOCK a double
                                     for each block of each; scalars kind ndrt_reduction factor */
    NDRT_KERNEL_ARG_EXTREME = 65, /* out, data; scalars kind, least instead of greatest */
    NDRT_KERNEL_RUNNING_SUM = 66, /* out, data; scalars kind, from the end */
    NDRT_KERNEL_SOFTMAX_COLUMNS = 67, /* f32: out, data; scalars kind, its logarithm, what data
                                         is divided by, and 1 or -1 */
    NDRT_KERNEL_PRODUCT_GRAD = 68,    /* f32: data's gradient, out's gradient, data; scalar kind */
    NDRT_KERNEL_PRELU =
        69,               /* f32: out, data, slopes  dims outer, blocks, inner, channels of a block
                             scalar kind; data, times the slope of its channel where not above 0 */
    NDRT_KERNEL_EXP = 70, /* f32: out, data                  dims n; scalar kind */
    NDRT_KERNEL_ARITHMETIC = 71, /* out, left, right                dims n
                                   scalars kind ndrt_arithmetic_id */
    NDRT_KERNEL_STEP_GRAD = 72,  /* f32: data's gradient, out's gradient, data (of relu: out)
                                   dims n; scalars kind ndrt_step low high */
    /* Regions of images: rows of image, left, top, right, bottom. dims regions channels height
     * width; scalars images, rows and columns of bins, ... */
    NDRT_KERNEL_ROI_ALIGN = 112,      /* f32: out, data, rois; ... scale samples split */
    NDRT_KERNEL_ROI_ALIGN_GRAD = 113, /* f32: data's gradient, out's gradient, rois; the same */
    NDRT_KERNEL_ROI_POOL = 114,       /* f32: out, its places (s32), data, rois; ... scale */
    NDRT_KERNEL_ROI_POOL_GRAD = 115,  /* f32: data's gradient, out's, places (s32), rois */
    NDRT_KERNEL_RESIZE = 116,         /* f32, u8: out, images           dims n height width depth
                                         scalars rows columns, dtype (F32, U8) */
    NDRT_KERNEL_BOX_NMS = 117,        /* f32: out, record (s32), boxes, 9 words of scratch a box
                                         dims n boxes width topk; scalars overlap valid, places of
                                         coordinates, score, id; background force, formats (1 in
                                         is of centers, 2 out is) */
    NDRT_KERNEL_MULTIBOX_PRIOR = 118, /* f32: out                       dims height width, anchors
                                         of a pixel, which of them; scalars half width, half
                                         height, step y x, offset y x, clip */
    NDRT_KERNEL_MULTIBOX_DETECTION = 119, /* f32: out, classes, shifts, anchors, 15 words of
                                             scratch an anchor      dims n classes anchors topk
                                             scalars threshold clip, 4 variances, overlap force */
    NDRT_KERNEL_MULTIBOX_MATCH = 120,     /* match (s32), 2 words of scratch an anchor and label,
                                             anchors, labels, classes (f32)  dims n anchors labels
                                             width; scalars classes threshold ratio limit */
    NDRT_KERNEL_MULTIBOX_ASSIGN = 121,    /* f32: target, mask, class, anchors, labels, match (s32)
                                             the same dims; scalars 4 variances, ignored */
    /* Parts of arrays to other places; a width is that of a part, in bytes. */
    NDRT_KERNEL_FLAT_PLACES = 192, /* out (s64), places as rows of coordinates  dims rows n
                                      scalars kind, the length of each axis; out[i] = the number of
                                      the element with the coordinates of column i, which below 0
                                      count from the end; NDRT_RANGE for one beyond its axis */
    NDRT_KERNEL_PUT_ROWS = 193,    /* out, rows, places (s64)          dims n, rows of out, width
                                      out[places[i]] = rows[i]; the last one stays */
    NDRT_KERNEL_AXIS_MOVE = 194, /* out, data           dims outer, axis of data, width, axis of out
                                    scalars ndrt_axis_kind begin step; out[o][i] = data[o][f(i)],
                                    f as the kind says of begin + i step */
    NDRT_KERNEL_AXIS_MOVE_GRAD = 195,   /* f32: data's gradient, out's gradient; the same, but that
                                           the width counts elements */
    NDRT_KERNEL_SEQUENCE_REVERSE = 196, /* out, data, lengths     dims steps batch width; scalars
                                           kind the first lengths[b] steps of b turned round */
    NDRT_KERNEL_SEQUENCE_LAST = 197,    /* out, data, lengths     dims rows columns width, which of
                                           the first two are the steps; scalars kind */
    NDRT_KERNEL_SEQUENCE_LAST_GRAD = 198, /* data's gradient, out's gradient, lengths; the same */
    NDRT_KERNEL_FUNCTION = 199,           /* f32: out, x, and for slopes the gradient   dims n
                                            scalars ndrt_function_id, p, q */
    NDRT_KERNEL_SCALAR = 200,             /* out, x   dims n; scalars kind (F16, F64, S32, S8, U8 or
                                            NDRT_INDEX_S64), ndrt_function_id of x and p, p */
    /* Random numbers; their stream is the second of their data. */
    NDRT_KERNEL_DRAW = 208,        /* out, stream, arrays of parameters  dims n ndrt_distribution,
                                      elements for each parameter, dtype of out (F16, F32, F64)
                                      scalars the two parameters where there are no arrays (0
                                      elements for each), else the arrays' kind */
    NDRT_KERNEL_RANDINT = 209,     /* s32: out, stream               dims n least, how many */
    NDRT_KERNEL_MULTINOMIAL = 210, /* places, stream, probabilities, doubles (one more than them in
                                      each row), logarithms or NULL  dims rows width draws
                                      scalars dtype of places, of probabilities */
    NDRT_KERNEL_SHUFFLE = 211,     /* bytes: out, stream, rows, 3 times 8 bytes a row (8 more the
                                      last)                          dims rows width */
    NDRT_KERNEL_FEW_ROWS = 224,    /* f32: out, data, weights, bias or NULL; out = data weights +
                                      bias within bounds. Weights are blocks of columns, of 16
                                      features each time, the last ones padded
                                      dims rows features columns, of a block; scalars low high */
    NDRT_KERNEL_LSTM_STEPS = 225,  /* f32: out (steps batch size), what the inputs add to the gates
                                      i f g o (steps batch 4 size), weights between the states (for
                                      each 16 elements: size, 4 gates, 16), states before, cells
                                      before, cells; where not all steps count: bytes (steps
                                      batch), 0: the states stay, states (2 batch size), the last
                                      step's at the end, step t's in row t % 2
                                      dims steps batch size; scalars those put out states, not 0 */
    /* f32: channels-last out, data, weights, bias or NULL: convolutions with square windows; out is
     * within bounds. dims images channels height width (of data); scalars low high filters window
     * stride, pixels of padding at each end along the height and along the width */
    NDRT_KERNEL_DEPTHWISE = 226,    /* a filter for each channel, windows of 3, strides of 1 or 2;
                                       data is channels-last; weights (for each 16 channels: y x 16)
                                     */
    NDRT_KERNEL_FEW_CHANNELS = 227, /* up to NDRT_FEW_CHANNELS_MOST channels, windows of up to
                                      NDRT_FEW_CHANNELS_WINDOW, strides of 1, 2 or 4; data is
                                      plain; weights (for each 16 filters: y x channels 16) */
    NDRT_KERNEL_PRODUCTS = 228,     /* f32: out, data, weights and, as scalars say, bias and what is
                                       added; out = data weights + bias + added within bounds.
                                       Weights as of FEW_ROWS, in blocks of 16 k columns
                                       dims rows features columns, of a block
                                       scalars low high, whether there is a bias, and what is added */
    /* f32: out, data, and for LOST_MAXIMA places of the maxima (u8, s32) or NULL; arrays are
     * (outer, three axes, lanes). dims outer lanes, dtype of places; scalars, three of each: sides
     * of the data, numbers of windows, kernel, stride, padding; low high */
    NDRT_KERNEL_LOST_MAXIMA = 240, /* what max pooling by oneDNN loses is done again; no bounds */
    NDRT_KERNEL_MAX_POOL = 241,    /* within bounds; each window meets data, and along the first
                                      two axes has up to NDRT_MAX_POOL_ROWS places */
    NDRT_KERNEL_JOIN_ROWS = 229,   /* f32: out and up to NDRT_JOINED_MOST arrays, whose rows lie one
                                      behind the other in those of out
                                      dims rows columns, how many arrays; scalars their columns */
    NDRT_KERNEL_JOIN_SCALED =
        231,                    /* f32: out, a factor and a shift of each of its columns, and up
                                   to NDRT_SCALED_MOST arrays: as JOIN_ROWS, but times the factors
                                   plus the shifts, and to be rectified: 0 where that is not above
                                   it; columns behind those of the last array stay
                                   the same dims; scalars rectify, their columns */
    NDRT_KERNEL_SEPARABLE = 230 /* f32, all images channels-last: products of the pixels of data
                                   (as of PRODUCTS; the expansion), DEPTHWISE of these, and products
                                   of the pixels of that (the projection), each within bounds;
                                   nothing but the result is ever there as a whole.
                                   out, data, scratch, weights of the depthwise convolution and of
                                   the projection and, in this order and as scalars say, weights of
                                   the expansion and biases of expansion, depthwise convolution and
                                   projection, and what is added to the result; out overlaps none
                                   dims images channels height width (of data)
                                   scalars low high three times, channels between, filters, stride,
                                   padding at each end along the height and along the width,
                                   columns of a block of the expansion (0: there is none) and of
                                   the projection, sum of ndrt_separable_given, threads that scratch
                                   has room for, each ndrt_separable_scratch numbers */
} ndrt_kernel_id;
typedef enum {
    NDRT_SEPARABLE_EXPANSION_BIAS = 1,
    NDRT_SEPARABLE_DEPTHWISE_BIAS = 2,
    NDRT_SEPARABLE_PROJECTION_BIAS = 4,
    NDRT_SEPARABLE_ADDED = 8
} ndrt_separable_given;
enum { NDRT_JOINED_MOST = 5, NDRT_SCALED_MOST = 7 };
enum { NDRT_FEW_ROWS_MOST = 4, NDRT_FEW_ROWS_NARROW = 16, NDRT_FEW_ROWS_WIDE = 64 };
enum { NDRT_MAX_POOL_ROWS = 32 };
enum { NDRT_FEW_CHANNELS_MOST = 4, NDRT_FEW_CHANNELS_WINDOW = 11 };
typedef enum {
    NDRT_DRAW_UNIFORM = 0,
    NDRT_DRAW_NORMAL = 1,
    NDRT_DRAW_EXPONENTIAL = 2,
    NDRT_DRAW_GAMMA = 3,
    NDRT_DRAW_POISSON = 4,
    NDRT_DRAW_NEGATIVE_BINOMIAL = 5,
    NDRT_DRAW_GENERALIZED = 6
} ndrt_distribution;
typedef enum {
    NDRT_AXIS_WINDOW = 0, /* as it is: all inside of the axis */
    NDRT_AXIS_EDGE = 1,   /* beyond the axis its nearer end; step 1, as below */
    NDRT_AXIS_REFLECT = 2 /* beyond the axis back again, but for the end itself, once */
} ndrt_axis_kind;
typedef enum { /* of x and two numbers; a slope is multiplied by the gradient */
               NDRT_FUNCTION_SIGN = 0,
               NDRT_FUNCTION_NOT = 1,
               NDRT_FUNCTION_FLOOR = 2,
               NDRT_FUNCTION_CEIL = 3,
               NDRT_FUNCTION_TRUNC = 4,
               NDRT_FUNCTION_ROUND = 5, /* halves away from zero */
               NDRT_FUNCTION_RINT = 6,  /* halves down */
               NDRT_FUNCTION_SOFTSIGN = 7,
               NDRT_FUNCTION_RSQRT = 8,
               NDRT_FUNCTION_LOG = 9,
               NDRT_FUNCTION_ERFINV = 10,
               NDRT_FUNCTION_EQ = 11, /* of x and p, as those up to XOR */
               NDRT_FUNCTION_NE = 12,
               NDRT_FUNCTION_GT = 13,
               NDRT_FUNCTION_GE = 14,
               NDRT_FUNCTION_LT = 15,
               NDRT_FUNCTION_LE = 16,
               NDRT_FUNCTION_AND = 17,
               NDRT_FUNCTION_OR = 18,
               NDRT_FUNCTION_XOR = 19,
               NDRT_FUNCTION_HARD_SIGMOID = 20, /* p x + q within 0 and 1 */
               NDRT_FUNCTION_SMOOTH_L1 = 21,    /* (p x)^2 / 2 up to 1 / p^2, then a line */
               NDRT_FUNCTION_LOG1P = 22,
               NDRT_FUNCTION_ADD = 23, /* of x and p, as those up to LEAKY */
               NDRT_FUNCTION_SUB = 24,
               NDRT_FUNCTION_RSUB = 25,
               NDRT_FUNCTION_MUL = 26,
               NDRT_FUNCTION_OVER = 27,     /* x times 1 / p, which is rounded first */
               NDRT_FUNCTION_NEG_OVER = 28, /* the same, negative */
               NDRT_FUNCTION_RDIV = 29,
               NDRT_FUNCTION_MAX = 30, /* NaN stays NaN, and of two zeros x is given */
               NDRT_FUNCTION_MIN = 31,
               NDRT_FUNCTION_LEAKY = 32, /* x above 0, else p x */
               NDRT_FUNCTION_CLIP = 33,  /* at least p, at most q, which wins */
               NDRT_FUNCTION_DIV = 34,   /* of x and p, as those up to ELU */
               NDRT_FUNCTION_POWER = 35,
               NDRT_FUNCTION_POWER_FROM = 36, /* p to the power of x */
               NDRT_FUNCTION_MOD = 37,        /* with the divisor's sign; 0 where that is 0 */
               NDRT_FUNCTION_RMOD = 38,
               NDRT_FUNCTION_HYPOT = 39,
               NDRT_FUNCTION_ELU = 40, /* q x above 0, else p (exp(x) - 1) */
               NDRT_FUNCTION_FIRST_SLOPE = 41,
               NDRT_FUNCTION_SOFTSIGN_SLOPE = 41,
               NDRT_FUNCTION_RSQRT_SLOPE = 42,
               NDRT_FUNCTION_ERFINV_SLOPE = 43, /* x is erfinv's output */
               NDRT_FUNCTION_ERF_SLOPE = 44,
               NDRT_FUNCTION_MAXIMUM_SLOPE = 45, /* of x and p */
               NDRT_FUNCTION_MINIMUM_SLOPE = 46,
               NDRT_FUNCTION_HARD_SIGMOID_SLOPE = 47,
               NDRT_FUNCTION_SMOOTH_L1_SLOPE = 48,
               NDRT_FUNCTION_LOG1P_SLOPE = 49,
               NDRT_FUNCTION_EXPM1_SLOPE = 50,
               NDRT_FUNCTION_RECIPROCAL_SLOPE = 51,
               NDRT_FUNCTION_LEAKY_SLOPE = 52, /* of x and p, as those behind it */
               NDRT_FUNCTION_RDIV_SLOPE = 53,
               NDRT_FUNCTION_POWER_SLOPE = 54,
               NDRT_FUNCTION_POWER_FROM_SLOPE = 55, /* x is the power */
               NDRT_FUNCTION_RMOD_SLOPE = 56,
               NDRT_FUNCTION_HYPOT_SLOPE = 57,
               NDRT_FUNCTION_ELU_SLOPE = 58
} ndrt_function_id;
enum { NDRT_REDUCE_BLOCK = 4096 };
typedef enum {
    NDRT_REDUCE_SUM = 0,
    NDRT_REDUCE_MAX = 1, /* NaN wins in both */
    NDRT_REDUCE_MIN = 2,
    NDRT_REDUCE_NORM1 = 3, /* no S32 */
    NDRT_REDUCE_NORM2 = 4
} ndrt_reduction;
typedef enum { /* comparisons give 0 and 1 */
               NDRT_ARITHMETIC_ADD = 0,
               NDRT_ARITHMETIC_SUB = 1,
               NDRT_ARITHMETIC_MUL = 2,
               NDRT_ARITHMETIC_MAX = 3,
               NDRT_ARITHMETIC_MIN = 4,
               NDRT_ARITHMETIC_EQ = 5,
               NDRT_ARITHMETIC_NE = 6,
               NDRT_ARITHMETIC_GT = 7,
               NDRT_ARITHMETIC_GE = 8,
               NDRT_ARITHMETIC_LT = 9,
               NDRT_ARITHMETIC_LE = 10,
               NDRT_ARITHMETIC_LAST = 10
} ndrt_arithmetic_id;
typedef enum {
    NDRT_STEP_CLIP = 0, /* NaN is inside */
    NDRT_STEP_ABS = 1,  /* the slope at NaN is 0 */
    NDRT_STEP_RELU = 2, /* the slope at NaN is NaN */
    NDRT_STEP_LAST = 2
} ndrt_step;
typedef enum {
    NDRT_RESIZE_CORNERS = 0, /* from two neighbours; places at the ends stay there */
    NDRT_RESIZE_EDGES = 1,   /* the same; the edges of the places at the ends do */
    NDRT_RESIZE_MEAN = 2     /* means of windows; of more places: each of them again and again */
} ndrt_resize_kind;
enum { NDRT_INDEX_S64 = 64 }; /* among ndrt_dtype's numbers: places that no layout describes */
/* A stream of random words: where the next draw begins. Streams lie at multiples of 16 bytes. */
typedef struct {
    uint64_t key, counter; /* of blocks of four words */
} ndrt_random;
void ndrt_random_set(ndrt_random *stream, uint64_t key, uint64_t counter);
/* Takes whole blocks with at least so many words off the stream; `out`: where they begin. For many
 * threads at once. */
void ndrt_random_draw(ndrt_random *stream, int64_t words, ndrt_random *out);

typedef struct {
    int kernel; /* ndrt_kernel_id */
    int nthreads;
    int64_t dims[4];
    void *data[10];
    double scalars[17];
    /* not NULL: NDRT_KERNEL_PARAMETERS numbers, read in place of scalars when the call runs */
    const double *parameters;
} ndrt_kernel_call;
enum { NDRT_KERNEL_PARAMETERS = 8 };
ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call);
/* Numbers of 4 bytes that one thread needs for NDRT_KERNEL_SEPARABLE, 0 where they are beyond all
 * measure; `data` and `out`: height and width of its images and of the result's. */
int64_t ndrt_separable_scratch(int64_t between, const int64_t *data, const int64_t *out,
                               int64_t stride);
/* Pairs of 8 bytes that one thread needs to order the first k of n. */
int64_t ndrt_topk_pairs(int64_t n, int64_t k);
/* cdef-end */

#endif
