/* The API of the native shim, continued: native kernels. */
#ifndef NDRT_KERNELS_H
#define NDRT_KERNELS_H

#include "ndrt.h"
#include "ndrt_kernel_ids.h"

/* cdef-begin */
/* ---- native kernels: what oneDNN lacks --------------------------------------------- */
enum { NDRT_JOINED_MOST = 5, NDRT_SCALED_MOST = 7 };
enum {
    NDRT_SKINNY_GEMM_MOST = 4,
    NDRT_SKINNY_GEMM_NARROW = 16,
    NDRT_SKINNY_GEMM_WIDE = 64,
    NDRT_SKINNY_GEMM_WIDE_AVX2 = 24
};
enum { NDRT_MOST_SHUFFLED = 64 }; /* groups that channels may be shuffled from */
enum { NDRT_MAX_POOL_ROWS = 32 };
enum { NDRT_FEW_CHANNELS_MOST = 4, NDRT_FEW_CHANNELS_WINDOW = 11 };
/* Windows over 8-bit numbers: filters of a block of weights; places of the largest window with a
 * filter for each channel. */
enum { NDRT_WHOLE_BLOCK = 16 };
enum { NDRT_WHOLE_PLACES = 121 };
/* Sums of so many products are below 2^31: of two numbers of 8 bits, and of uint8 and int8. */
enum { NDRT_BYTE_PRODUCTS_MOST = 33025, NDRT_BYTE_LSTM_MOST = 65793 };
enum { NDRT_PACKED_FILTERS = 16 };
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
               NDRT_FUNCTION_SIGN,
               NDRT_FUNCTION_NOT,
               NDRT_FUNCTION_FLOOR,
               NDRT_FUNCTION_CEIL,
               NDRT_FUNCTION_TRUNC,
               NDRT_FUNCTION_ROUND, /* halves away from zero */
               NDRT_FUNCTION_RINT,  /* halves down */
               NDRT_FUNCTION_SOFTSIGN,
               NDRT_FUNCTION_RSQRT,
               NDRT_FUNCTION_LOG,
               NDRT_FUNCTION_ERFINV,
               NDRT_FUNCTION_EQ, /* of x and p, as those up to XOR */
               NDRT_FUNCTION_NE,
               NDRT_FUNCTION_GT,
               NDRT_FUNCTION_GE,
               NDRT_FUNCTION_LT,
               NDRT_FUNCTION_LE,
               NDRT_FUNCTION_AND,
               NDRT_FUNCTION_OR,
               NDRT_FUNCTION_XOR,
               NDRT_FUNCTION_HARD_SIGMOID, /* p x + q within 0 and 1 */
               NDRT_FUNCTION_SMOOTH_L1,    /* (p x)^2 / 2 up to 1 / p^2, then a line */
               NDRT_FUNCTION_LOG1P,
               NDRT_FUNCTION_ADD, /* of x and p, as those up to LEAKY */
               NDRT_FUNCTION_SUB,
               NDRT_FUNCTION_RSUB,
               NDRT_FUNCTION_MUL,
               NDRT_FUNCTION_OVER,     /* x times 1 / p, which is rounded first */
               NDRT_FUNCTION_NEG_OVER, /* the same, negative */
               NDRT_FUNCTION_RDIV,
               NDRT_FUNCTION_MAX, /* NaN stays NaN, and of two zeros x is given */
               NDRT_FUNCTION_MIN,
               NDRT_FUNCTION_LEAKY, /* x above 0, else p x */
               NDRT_FUNCTION_CLIP,  /* at least p, at most q, which wins */
               NDRT_FUNCTION_DIV,   /* of x and p, as those up to ELU */
               NDRT_FUNCTION_POWER,
               NDRT_FUNCTION_POWER_FROM, /* p to the power of x */
               NDRT_FUNCTION_MOD,        /* with the divisor's sign; 0 where that is 0 */
               NDRT_FUNCTION_RMOD,
               NDRT_FUNCTION_HYPOT,
               NDRT_FUNCTION_ELU,  /* q x above 0, else p (exp(x) - 1) */
               NDRT_FUNCTION_SILU, /* x / (1 + exp(-x)) */
               NDRT_FUNCTION_TANH,
               NDRT_FUNCTION_GELU_TANH, /* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 */
               NDRT_FUNCTION_EXPM1,
               NDRT_FUNCTION_ERF,
               NDRT_FUNCTION_FIRST_SLOPE,
               NDRT_FUNCTION_SOFTSIGN_SLOPE = NDRT_FUNCTION_FIRST_SLOPE,
               NDRT_FUNCTION_RSQRT_SLOPE,
               NDRT_FUNCTION_ERFINV_SLOPE, /* x is erfinv's output */
               NDRT_FUNCTION_ERF_SLOPE,
               NDRT_FUNCTION_MAXIMUM_SLOPE, /* of x and p */
               NDRT_FUNCTION_MINIMUM_SLOPE,
               NDRT_FUNCTION_HARD_SIGMOID_SLOPE,
               NDRT_FUNCTION_SMOOTH_L1_SLOPE,
               NDRT_FUNCTION_LOG1P_SLOPE,
               NDRT_FUNCTION_EXPM1_SLOPE,
               NDRT_FUNCTION_RECIPROCAL_SLOPE,
               NDRT_FUNCTION_LEAKY_SLOPE, /* of x and p, as those behind it */
               NDRT_FUNCTION_RDIV_SLOPE,
               NDRT_FUNCTION_POWER_SLOPE,
               NDRT_FUNCTION_POWER_FROM_SLOPE, /* x is the power */
               NDRT_FUNCTION_RMOD_SLOPE,
               NDRT_FUNCTION_HYPOT_SLOPE,
               NDRT_FUNCTION_ELU_SLOPE,
               NDRT_FUNCTION_SILU_SLOPE
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
    int64_t counts[NDRT_KERNEL_COUNTS];
    void *data[NDRT_KERNEL_ARRAYS];
    double numbers[NDRT_KERNEL_NUMBERS];
    const double *parameters; /* not NULL: read in place of those numbers when the call runs */
} ndrt_kernel_call;
ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call);
/* Numbers of 4 bytes that one thread needs for NDRT_KERNEL_SEPARABLE, 0 where they are beyond all
 * measure; `data` and `out`: height and width of its images and of the result's. */
int64_t ndrt_separable_scratch(int64_t between, const int64_t *data, const int64_t *out,
                               int64_t stride);
/* Bytes of the weights that NDRT_KERNEL_PACK_WHOLE writes, 0 where they are beyond all measure, and
 * of scratch that one thread needs for such windows over so many channels of a group. */
int64_t ndrt_whole_packed(const int64_t *window, int64_t channels, int64_t filters, int64_t groups);
int64_t ndrt_whole_scratch(const int64_t *window, int64_t channels);
/* Bytes of scratch for NDRT_KERNEL_WHOLE_DEPTHWISE. */
int64_t ndrt_whole_depthwise_scratch(int64_t channels, int64_t places);
/* Bytes of scratch that one thread needs for NDRT_KERNEL_BYTE_PRODUCTS, whose counts these are. */
int64_t ndrt_byte_products_scratch(int64_t columns, int64_t depth);
/* Bytes of the weights that NDRT_KERNEL_PACK_BYTE_LSTM writes, and of scratch for
 * NDRT_KERNEL_BYTE_LSTM. */
int64_t ndrt_byte_lstm_packed(int64_t size);
int64_t ndrt_byte_lstm_scratch(int64_t size, int64_t batch);
/* Numbers of scratch for `slots` threads that NDRT_KERNEL_BLOCKED_GEMM multiplies matrices with, 0
 * where they are beyond all measure. */
int64_t ndrt_blocked_scratch(int64_t rows, int64_t depth, int64_t columns, int64_t slots);
/* Pairs of 8 bytes that one thread needs to order the first k of n. */
int64_t ndrt_topk_pairs(int64_t n, int64_t k);
/* cdef-end */

#endif
