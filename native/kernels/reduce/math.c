/* Reductions and positions of extremes, and the driver for these and for
 * native/kernels/elementwise/math_point.c.
 *
 * An array is seen as (outer, length, inner); the kernel works along its middle. Each result is
 * computed by one thread, and what is cut into parts is cut by the shape alone, so the bits do not
 * depend on the number of threads. Whole numbers wrap around. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum {
    BLOCK = NDRT_REDUCE_BLOCK, /* elements of a row that are summed at once */
    STRIP = 512,               /* columns that are processed together */
    ROWS = 128,                /* rows that are summed in the dtype's own precision */
    LANES = 128
};

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- reductions of the innermost axis ---------------------------------------------------------
 */

#define SUM_ROW(name, type, sum, term)                                                             \
    static sum name(const type *x, int64_t n) {                                                    \
        sum total = 0;                                                                             \
        _Pragma("omp simd reduction(+ : total)") for (int64_t i = 0; i < n; i++) {                 \
            sum v = (sum)x[i];                                                                     \
            total += term;                                                                         \
        }                                                                                          \
        return total;                                                                              \
    }
SUM_ROW(sum_f32, float, double, v)
SUM_ROW(sum_f64, double, double, v)
SUM_ROW(sum_s32, int32_t, uint32_t, v)
SUM_ROW(abs_f32, float, double, fabs(v))
SUM_ROW(abs_f64, double, double, fabs(v))
SUM_ROW(square_f32, float, double, v *v)
SUM_ROW(square_f64, double, double, v *v)

/* NaN wins: it is not found less than anything, and nothing is found greater than it. */
#define BETTER_MAX(v, m) ((v) > (m) || (v) != (v))
#define BETTER_MIN(v, m) ((v) < (m) || (v) != (v))

#define EXTREME_ROW(name, type, better)                                                            \
    static type name(const type *x, int64_t n) {                                                   \
        type lane[LANES], m = x[0];                                                                \
        int64_t i = 0;                                                                             \
        if (n >= LANES) {                                                                          \
            memcpy(lane, x, sizeof lane);                                                          \
            for (i = LANES; i + LANES <= n; i += LANES) {                                          \
                _Pragma("omp simd") for (int k = 0; k < LANES; k++) {                              \
                    type v = x[i + k];                                                             \
                    lane[k] = better(v, lane[k]) ? v : lane[k];                                    \
                }                                                                                  \
            }                                                                                      \
            for (int w = LANES / 2; w > 0; w /= 2)                                                 \
                for (int k = 0; k < w; k++)                                                        \
                    lane[k] = better(lane[k + w], lane[k]) ? lane[k + w] : lane[k];                \
            m = lane[0];                                                                           \
        }                                                                                          \
        for (; i < n; i++) m = better(x[i], m) ? x[i] : m;                                         \
        return m;                                                                                  \
    }
EXTREME_ROW(max_f32, float, BETTER_MAX)
EXTREME_ROW(max_f64, double, BETTER_MAX)
EXTREME_ROW(max_s32, int32_t, BETTER_MAX)
EXTREME_ROW(min_f32, float, BETTER_MIN)
EXTREME_ROW(min_f64, double, BETTER_MIN)
EXTREME_ROW(min_s32, int32_t, BETTER_MIN)

/* The squares of large and small doubles are out of range. */
static double careful_norm(const double *x, int64_t n) {
    double big = 0;
    for (int64_t i = 0; i < n; i++) {
        if (isnan(x[i])) return x[i];
        big = fabs(x[i]) > big ? fabs(x[i]) : big;
    }
    if (big == 0 || isinf(big)) return big;
    double total = 0;
    for (int64_t i = 0; i < n; i++) total += (x[i] / big) * (x[i] / big);
    return sqrt(total) * big;
}

typedef union {
    float f32;
    double f64;
    uint32_t s32;
} number;

/* One part of a row; `sum` of f32 is collected in f64. */
static number reduce_part(int kind, int what, const void *x, int64_t n) {
    number made = {.f64 = 0};
    if (kind == NDRT_F32) {
        switch (what) {
        case NDRT_REDUCE_SUM: made.f64 = sum_f32(x, n); break;
        case NDRT_REDUCE_MAX: made.f32 = max_f32(x, n); break;
        case NDRT_REDUCE_MIN: made.f32 = min_f32(x, n); break;
        case NDRT_REDUCE_NORM1: made.f64 = abs_f32(x, n); break;
        default: made.f64 = square_f32(x, n);
        }
    } else if (kind == NDRT_F64) {
        switch (what) {
        case NDRT_REDUCE_SUM: made.f64 = sum_f64(x, n); break;
        case NDRT_REDUCE_MAX: made.f64 = max_f64(x, n); break;
        case NDRT_REDUCE_MIN: made.f64 = min_f64(x, n); break;
        case NDRT_REDUCE_NORM1: made.f64 = abs_f64(x, n); break;
        default: made.f64 = square_f64(x, n);
        }
    } else {
        switch (what) {
        case NDRT_REDUCE_MAX: made.s32 = (uint32_t)max_s32(x, n); break;
        case NDRT_REDUCE_MIN: made.s32 = (uint32_t)min_s32(x, n); break;
        default: made.s32 = sum_s32(x, n);
        }
    }
    return made;
}

static int is_extreme(int what) { return what == NDRT_REDUCE_MAX || what == NDRT_REDUCE_MIN; }

static number join_parts(int kind, int what, const number *parts, int64_t n) {
    number made = parts[0];
    int max = what == NDRT_REDUCE_MAX;
    for (int64_t i = 1; i < n; i++) {
        number v = parts[i];
        if (!is_extreme(what)) {
            if (kind == NDRT_S32)
                made.s32 += v.s32;
            else
                made.f64 += v.f64;
        } else if (kind == NDRT_F32) {
            if (max ? BETTER_MAX(v.f32, made.f32) : BETTER_MIN(v.f32, made.f32)) made = v;
        } else if (kind == NDRT_F64) {
            if (max ? BETTER_MAX(v.f64, made.f64) : BETTER_MIN(v.f64, made.f64)) made = v;
        } else if (max ? (int32_t)v.s32 > (int32_t)made.s32 : (int32_t)v.s32 < (int32_t)made.s32) {
            made = v;
        }
    }
    return made;
}

static void finish(int kind, int what, double factor, number made, const void *row, int64_t length,
                   void *out, int64_t at) {
    if (kind == NDRT_S32) {
        ((uint32_t *)out)[at] = made.s32;
        return;
    }
    if (what == NDRT_REDUCE_NORM2) {
        double root = sqrt(made.f64);
        if (kind == NDRT_F64 && !(made.f64 > 1e-290 && made.f64 < 1e300))
            root = careful_norm(row, length);
        made.f64 = root;
    }
    if (kind == NDRT_F64)
        ((double *)out)[at] = made.f64 * factor;
    else
        ((float *)out)[at] = is_extreme(what) ? made.f32 : (float)(made.f64 * factor);
}

static size_t size_of(int kind) { return kind == NDRT_F64 ? 8 : 4; }

static void reduce_rows(const ndrt_reduce_args *job, int nthreads) {
    const int64_t outer = job->outer, length = job->length;
    const int kind = job->kind, what = job->what;
    const double factor = job->factor;
    const size_t size = size_of(kind);
    const char *in = job->data;
    int64_t parts = length ? (length + BLOCK - 1) / BLOCK : 1;
    if (parts == 1) {
#pragma omp parallel for schedule(static) num_threads(nthreads)
        for (int64_t o = 0; o < outer; o++) {
            const void *row = in + (size_t)(o * length) * size;
            finish(kind, what, factor, reduce_part(kind, what, row, length), row, length, job->out,
                   o);
        }
        return;
    }
    number *found = (number *)job->parts;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * parts; k++) {
        int64_t begin = k % parts * BLOCK, n = least(BLOCK, length - begin);
        found[k] = reduce_part(kind, what, in + (size_t)(k / parts * length + begin) * size, n);
    }
    for (int64_t o = 0; o < outer; o++)
        finish(kind, what, factor, join_parts(kind, what, found + o * parts, parts),
               in + (size_t)(o * length) * size, length, job->out, o);
}

/* ---- reductions of other axes ------------------------------------------------------------------
 */

/* `width` columns of `rows` rows that are `stride` apart. */
#define SUM_COLUMNS(name, type, sum, term, last)                                                   \
    static void name(const type *x, int64_t rows, int64_t stride, int64_t width, double factor,    \
                     type *out) {                                                                  \
        sum total[STRIP] = {0};                                                                    \
        for (int64_t first = 0; first < rows; first += ROWS) {                                     \
            sum part[STRIP] = {0};                                                                 \
            int64_t end = least(first + ROWS, rows);                                               \
            for (int64_t r = first; r < end; r++) {                                                \
                const type *row = x + r * stride;                                                  \
                _Pragma("omp simd") for (int64_t c = 0; c < width; c++) {                          \
                    sum v = (sum)row[c];                                                           \
                    part[c] += term;                                                               \
                }                                                                                  \
            }                                                                                      \
            for (int64_t c = 0; c < width; c++) total[c] += part[c];                               \
        }                                                                                          \
        for (int64_t c = 0; c < width; c++) out[c] = (type)(last);                                 \
    }
static void columns_sum_f32(const float *x, int64_t rows, int64_t stride, int64_t width,
                            double factor, float *out) {
    double total[STRIP];
    memset(total, 0, (size_t)width * sizeof *total);
    ndrt_add_rows(x, rows, stride, width, total);
    for (int64_t c = 0; c < width; c++) out[c] = (float)(total[c] * factor);
}
SUM_COLUMNS(columns_sum_f64, double, double, v, total[c] * factor)
SUM_COLUMNS(columns_sum_s32, int32_t, uint32_t, v, ((void)factor, total[c]))
SUM_COLUMNS(columns_abs_f32, float, double, fabs(v), total[c] * factor)
SUM_COLUMNS(columns_abs_f64, double, double, fabs(v), total[c] * factor)
SUM_COLUMNS(columns_square_f32, float, double, v *v, sqrt(total[c]) * factor)
SUM_COLUMNS(columns_square_f64, double, double, v *v, sqrt(total[c]) * factor)

#define EXTREME_COLUMNS(name, type, better)                                                        \
    static void name(const type *x, int64_t rows, int64_t stride, int64_t width, double factor,    \
                     type *out) {                                                                  \
        (void)factor;                                                                              \
        type best[STRIP];                                                                          \
        memcpy(best, x, (size_t)width * sizeof *x);                                                \
        for (int64_t r = 1; r < rows; r++) {                                                       \
            const type *row = x + r * stride;                                                      \
            _Pragma("omp simd") for (int64_t c = 0; c < width; c++) {                              \
                type v = row[c];                                                                   \
                best[c] = better(v, best[c]) ? v : best[c];                                        \
            }                                                                                      \
        }                                                                                          \
        memcpy(out, best, (size_t)width * sizeof *x);                                              \
    }
EXTREME_COLUMNS(columns_max_f32, float, BETTER_MAX)
EXTREME_COLUMNS(columns_max_f64, double, BETTER_MAX)
EXTREME_COLUMNS(columns_max_s32, int32_t, BETTER_MAX)
EXTREME_COLUMNS(columns_min_f32, float, BETTER_MIN)
EXTREME_COLUMNS(columns_min_f64, double, BETTER_MIN)
EXTREME_COLUMNS(columns_min_s32, int32_t, BETTER_MIN)

#define REDUCE_STRIP(type, x, out, one, two, three, four, five)                                    \
    do {                                                                                           \
        const type *from = (const type *)(x);                                                      \
        type *to = (type *)(out);                                                                  \
        switch (what) {                                                                            \
        case NDRT_REDUCE_SUM: one(from, length, inner, width, factor, to); break;                  \
        case NDRT_REDUCE_MAX: two(from, length, inner, width, factor, to); break;                  \
        case NDRT_REDUCE_MIN: three(from, length, inner, width, factor, to); break;                \
        case NDRT_REDUCE_NORM1: four(from, length, inner, width, factor, to); break;               \
        default: five(from, length, inner, width, factor, to);                                     \
        }                                                                                          \
    } while (0)

static void reduce_columns(const ndrt_reduce_args *job, int nthreads) {
    const int64_t outer = job->outer, length = job->length, inner = job->inner;
    const int kind = job->kind, what = job->what;
    const double factor = job->factor;
    int64_t strips = (inner + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * strips; k++) {
        int64_t begin = k % strips * STRIP, width = least(STRIP, inner - begin);
        size_t size = size_of(kind);
        const char *x =
            (const char *)job->data + (size_t)(k / strips * length * inner + begin) * size;
        char *out = (char *)job->out + (size_t)(k / strips * inner + begin) * size;
        if (kind == NDRT_F32)
            REDUCE_STRIP(float, x, out, columns_sum_f32, columns_max_f32, columns_min_f32,
                         columns_abs_f32, columns_square_f32);
        else if (kind == NDRT_F64)
            REDUCE_STRIP(double, x, out, columns_sum_f64, columns_max_f64, columns_min_f64,
                         columns_abs_f64, columns_square_f64);
        else
            REDUCE_STRIP(int32_t, x, out, columns_sum_s32, columns_max_s32, columns_min_s32,
                         columns_sum_s32, columns_sum_s32);
    }
}

static void reduce(kernel_call *call, int nthreads) {
    const ndrt_reduce_args job = ndrt_read_reduce(call);
    if (job.inner == 1)
        reduce_rows(&job, nthreads);
    else
        reduce_columns(&job, nthreads);
}

/* ---- positions of extremes ---------------------------------------------------------------------
 */

#define EXTREME_AT(name, type, extreme, better)                                                    \
    static int64_t name(const type *x, int64_t n) {                                                \
        enum { PART = 512 };                                                                       \
        int64_t at = 0;                                                                            \
        type m = x[0];                                                                             \
        for (int64_t i = 0; i < n; i += PART) {                                                    \
            type v = extreme(x + i, least(PART, n - i));                                           \
            if (v != v) {                                                                          \
                while (x[i] == x[i]) i++;                                                          \
                return i;                                                                          \
            }                                                                                      \
            if (better(v, m)) {                                                                    \
                m = v;                                                                             \
                at = i;                                                                            \
            }                                                                                      \
        }                                                                                          \
        while (x[at] != m) at++;                                                                   \
        return at;                                                                                 \
    }
EXTREME_AT(argmax_f32, float, max_f32, BETTER_MAX)
EXTREME_AT(argmax_f64, double, max_f64, BETTER_MAX)
EXTREME_AT(argmax_s32, int32_t, max_s32, BETTER_MAX)
EXTREME_AT(argmin_f32, float, min_f32, BETTER_MIN)
EXTREME_AT(argmin_f64, double, min_f64, BETTER_MIN)
EXTREME_AT(argmin_s32, int32_t, min_s32, BETTER_MIN)

/* The first extreme wins; NaN wins over all numbers. */
#define EXTREME_COLUMNS_AT(name, type, whole, is_better)                                           \
    static void name(const type *x, int64_t rows, int64_t stride, int64_t width, type *out) {      \
        type best[STRIP];                                                                          \
        whole at[STRIP] = {0};                                                                     \
        memcpy(best, x, (size_t)width * sizeof *x);                                                \
        for (int64_t r = 1; r < rows; r++) {                                                       \
            const type *row = x + r * stride;                                                      \
            _Pragma("omp simd") for (int64_t c = 0; c < width; c++) {                              \
                type v = row[c], m = best[c];                                                      \
                int better = (v is_better m) | ((v != v) & (m == m));                              \
                best[c] = better ? v : m;                                                          \
                at[c] = better ? (whole)r : at[c];                                                 \
            }                                                                                      \
        }                                                                                          \
        for (int64_t c = 0; c < width; c++) out[c] = (type)at[c];                                  \
    }
EXTREME_COLUMNS_AT(columns_argmax_f32, float, int32_t, >)
EXTREME_COLUMNS_AT(columns_argmax_f64, double, int64_t, >)
EXTREME_COLUMNS_AT(columns_argmax_s32, int32_t, int32_t, >)
EXTREME_COLUMNS_AT(columns_argmin_f32, float, int32_t, <)
EXTREME_COLUMNS_AT(columns_argmin_f64, double, int64_t, <)
EXTREME_COLUMNS_AT(columns_argmin_s32, int32_t, int32_t, <)

#define ARG_STRIP(type, row_max, row_min, max, min)                                                \
    do {                                                                                           \
        const type *x = (const type *)job.data + k / strips * length * inner + begin;              \
        type *out = (type *)job.out + k / strips * inner + begin;                                  \
        if (inner == 1)                                                                            \
            *out = (type)(is_min ? row_min(x, length) : row_max(x, length));                       \
        else if (is_min)                                                                           \
            min(x, length, inner, width, out);                                                     \
        else                                                                                       \
            max(x, length, inner, width, out);                                                     \
    } while (0)

static void arg_extreme(kernel_call *call, int nthreads) {
    const ndrt_arg_extreme_args job = ndrt_read_arg_extreme(call);
    const int64_t outer = job.outer, length = job.length, inner = job.inner;
    const int kind = job.kind, is_min = job.least;
    int64_t strips = (inner + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * strips; k++) {
        int64_t begin = k % strips * STRIP, width = least(STRIP, inner - begin);
        if (kind == NDRT_F32)
            ARG_STRIP(float, argmax_f32, argmin_f32, columns_argmax_f32, columns_argmin_f32);
        else if (kind == NDRT_F64)
            ARG_STRIP(double, argmax_f64, argmin_f64, columns_argmax_f64, columns_argmin_f64);
        else
            ARG_STRIP(int32_t, argmax_s32, argmin_s32, columns_argmax_s32, columns_argmin_s32);
    }
}

/* ---- driver -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata;
    int last; /* the greatest of its kinds of work, whose least is 0 */
    int reads_rows;
} kernels[] = {
    [NDRT_KERNEL_REDUCE - NDRT_KERNEL_REDUCE] = {"reduction", reduce, 2, NDRT_REDUCE_NORM2, 1},
    [NDRT_KERNEL_ARG_EXTREME - NDRT_KERNEL_REDUCE] = {"position of extreme", arg_extreme, 2, 1, 1},
    [NDRT_KERNEL_RUNNING_SUM - NDRT_KERNEL_REDUCE] = {"running sum", ndrt_running_sum, 2, 1, 0},
    [NDRT_KERNEL_SOFTMAX_COLUMNS - NDRT_KERNEL_REDUCE] = {"softmax of columns", ndrt_softmax, 2, 1,
                                                          1},
    [NDRT_KERNEL_PRODUCT_GRAD - NDRT_KERNEL_REDUCE] = {"gradient of a product", ndrt_product_grad,
                                                       3, 0, 0},
    [NDRT_KERNEL_PRELU - NDRT_KERNEL_REDUCE] = {"prelu", ndrt_prelu, 3, 0, 0},
    [NDRT_KERNEL_EXP - NDRT_KERNEL_REDUCE] = {"exp", ndrt_exp, 2, 0, 0},
    [NDRT_KERNEL_ARITHMETIC - NDRT_KERNEL_REDUCE] = {"arithmetic", ndrt_arithmetic, 3,
                                                     NDRT_ARITHMETIC_LAST, 0},
    [NDRT_KERNEL_STEP_GRAD - NDRT_KERNEL_REDUCE] = {"gradient of steps", ndrt_step_grad, 3,
                                                    NDRT_STEP_LAST, 0},
};

/* What a call is of: the sizes of its greatest array, the kind of its numbers and of its work. */
typedef struct {
    int64_t sizes[4];
    int kind, what;
} work;

static work work_of(kernel_call *call) {
    work made = {.sizes = {1, 1, 1, 1}, .kind = NDRT_F32};
    switch (call->kernel) {
    case NDRT_KERNEL_REDUCE: {
        const ndrt_reduce_args k = ndrt_read_reduce(call);
        return (work){{k.outer, k.length, k.inner, 1}, k.kind, k.what};
    }
    case NDRT_KERNEL_ARG_EXTREME: {
        const ndrt_arg_extreme_args k = ndrt_read_arg_extreme(call);
        return (work){{k.outer, k.length, k.inner, 1}, k.kind, k.least};
    }
    case NDRT_KERNEL_RUNNING_SUM: {
        const ndrt_running_sum_args k = ndrt_read_running_sum(call);
        return (work){{k.outer, k.length, k.inner, 1}, k.kind, k.backwards};
    }
    case NDRT_KERNEL_SOFTMAX_COLUMNS: {
        const ndrt_softmax_columns_args k = ndrt_read_softmax_columns(call);
        return (work){{k.outer, k.length, k.inner, 1}, NDRT_F32, k.log};
    }
    case NDRT_KERNEL_PRODUCT_GRAD: {
        const ndrt_product_grad_args k = ndrt_read_product_grad(call);
        return (work){{k.outer, k.length, k.inner, 1}, NDRT_F32, 0};
    }
    case NDRT_KERNEL_PRELU: {
        const ndrt_prelu_args k = ndrt_read_prelu(call);
        return (work){{k.outer, k.blocks, k.inner, k.channels}, NDRT_F32, 0};
    }
    case NDRT_KERNEL_ARITHMETIC: {
        const ndrt_arithmetic_args k = ndrt_read_arithmetic(call);
        return (work){{k.n, 1, 1, 1}, k.kind, k.what};
    }
    case NDRT_KERNEL_STEP_GRAD: {
        const ndrt_step_grad_args k = ndrt_read_step_grad(call);
        return (work){{k.n, 1, 1, 1}, NDRT_F32, k.what};
    }
    default: made.sizes[0] = ndrt_read_exp(call).n; return made;
    }
}

/* Elements of the greatest array, or -1 if they overflow. */
static int64_t elements(kernel_call *call) {
    const work of = work_of(call);
    const int64_t n = ndrt_product(of.sizes[0], of.sizes[1], of.sizes[2]);
    return n < 0 ? n : ndrt_product(n, of.sizes[3], 1);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_REDUCE;
    const char *name = kernels[at].name;
    const work of = work_of(call);
    for (int i = 0; i < 4; i++)
        if (of.sizes[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    if (of.kind != NDRT_F32 && of.kind != NDRT_F64 && of.kind != NDRT_S32)
        return ndrt_fail(NDRT_INVALID, "%s: numbers of kind %d", name, of.kind);
    if (of.what < 0 || of.what > kernels[at].last)
        return ndrt_fail(NDRT_INVALID, "%s: none of its kinds is %d", name, of.what);
    int64_t n = elements(call);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (kernels[at].reads_rows && n == 0 && of.sizes[0] && of.sizes[2])
        return ndrt_fail(NDRT_INVALID, "%s: an axis of length 0", name);
    int needs_parts =
        call->kernel == NDRT_KERNEL_REDUCE && of.sizes[2] == 1 && of.sizes[1] > NDRT_REDUCE_BLOCK;
    return n ? ndrt_need_arrays(call, kernels[at].ndata + needs_parts) : NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) { return ndrt_team_for(call, elements(call)); }

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    if (elements(call)) kernels[call->kernel - NDRT_KERNEL_REDUCE].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_math = {"math", check, threads, execute};
