/* exp, softmax of columns, running sums, slopes that are steps, and arithmetic element by element,
 * on float64 and int32 too. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/ndrt_exp.h"
#include "kernels/reduce/ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 1024, CHUNK = 16384 };

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- exp ---------------------------------------------------------------------------------------
 */

static void exp_range(float *out, const float *in, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = ndrt_exp_of(in[i]);
}

void ndrt_exp(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_exp_args k = ndrt_read_exp(call);
    const int64_t chunks = (k.n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++)
        exp_range(k.out + i * CHUNK, k.data + i * CHUNK, least(CHUNK, k.n - i * CHUNK));
}

/* ---- softmax of columns ------------------------------------------------------------------------
 */

/* Three passes over the rows; the data of a block of columns stays in the cache. */
static void softmax_strip(float *out, const float *in, int64_t rows, int64_t stride, int64_t width,
                          float factor, int log) {
    float top[STRIP], sum[STRIP] = {0};
#pragma omp simd
    for (int64_t c = 0; c < width; c++) top[c] = in[c] * factor;
    for (int64_t r = 1; r < rows; r++) {
        const float *x = in + r * stride;
#pragma omp simd
        for (int64_t c = 0; c < width; c++) {
            float z = x[c] * factor;
            top[c] = z > top[c] ? z : top[c];
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        const float *x = in + r * stride;
        float *y = out + r * stride;
        if (log)
#pragma omp simd
            for (int64_t c = 0; c < width; c++) sum[c] += ndrt_exp_of(x[c] * factor - top[c]);
        else
#pragma omp simd
            for (int64_t c = 0; c < width; c++) {
                float e = ndrt_exp_of(x[c] * factor - top[c]);
                y[c] = e;
                sum[c] += e;
            }
    }
    for (int64_t c = 0; c < width; c++) sum[c] = log ? logf(sum[c]) : 1.0f / sum[c];
    for (int64_t r = 0; r < rows; r++) {
        const float *x = in + r * stride;
        float *y = out + r * stride;
        if (log)
#pragma omp simd
            for (int64_t c = 0; c < width; c++) y[c] = x[c] * factor - top[c] - sum[c];
        else
#pragma omp simd
            for (int64_t c = 0; c < width; c++) y[c] *= sum[c];
    }
}

void ndrt_softmax(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_softmax_columns_args k = ndrt_read_softmax_columns(call);
    const int64_t strips = (k.inner + STRIP - 1) / STRIP;
    const float factor = (float)(k.sign / k.divisor);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < k.outer * strips; i++) {
        const int64_t begin = i % strips * STRIP, at = i / strips * k.length * k.inner + begin;
        softmax_strip(k.out + at, k.data + at, k.length, k.inner, least(STRIP, k.inner - begin),
                      factor, k.log);
    }
}

/* ---- running sums ------------------------------------------------------------------------------
 */

enum { RUN = 8 }; /* elements that are summed before what came before them is added */

#define RUNNING_SUM(name, type)                                                                    \
    /* backwards: from the last element with a step of -1 */                                       \
    static void name##_row(const type *in, type *out, int64_t n, int64_t step) {                   \
        int64_t at = step < 0 ? n - 1 : 0, i = 0;                                                  \
        type sum = 0;                                                                              \
        for (; i + RUN <= n; i += RUN, at += RUN * step) {                                         \
            type part[RUN];                                                                        \
            part[0] = in[at];                                                                      \
            for (int k = 1; k < RUN; k++) part[k] = part[k - 1] + in[at + k * step];               \
            for (int k = 0; k < RUN; k++) out[at + k * step] = sum + part[k];                      \
            sum += part[RUN - 1];                                                                  \
        }                                                                                          \
        for (; i < n; i++, at += step) out[at] = sum += in[at];                                    \
    }                                                                                              \
    static void name##_columns(const type *in, type *out, int64_t length, int64_t inner,           \
                               int64_t width, int64_t step) {                                      \
        type sum[STRIP] = {0};                                                                     \
        for (int64_t i = 0, at = step < 0 ? length - 1 : 0; i < length; i++, at += step) {         \
            const type *x = in + at * inner;                                                       \
            type *y = out + at * inner;                                                            \
            _Pragma("omp simd") for (int64_t c = 0; c < width; c++) y[c] = sum[c] += x[c];         \
        }                                                                                          \
    }                                                                                              \
    static void name(const ndrt_running_sum_args *k, int nthreads) {                               \
        int64_t outer = k->outer, length = k->length, inner = k->inner;                            \
        int64_t step = k->backwards ? -1 : 1;                                                      \
        type *out = k->out;                                                                        \
        const type *in = k->data;                                                                  \
        if (inner == 1) {                                                                          \
            _Pragma("omp parallel for schedule(static) num_threads(nthreads)") for (int64_t o = 0; \
                                                                                    o < outer;     \
                                                                                    o++)           \
                name##_row(in + o * length, out + o * length, length, step);                       \
            return;                                                                                \
        }                                                                                          \
        int64_t strips = (inner + STRIP - 1) / STRIP;                                              \
        _Pragma("omp parallel for schedule(static) num_threads(nthreads)") for (int64_t i = 0;     \
                                                                                i <                \
                                                                                outer * strips;    \
                                                                                i++) {             \
            int64_t begin = i % strips * STRIP, at = i / strips * length * inner + begin;          \
            name##_columns(in + at, out + at, length, inner, least(STRIP, inner - begin), step);   \
        }                                                                                          \
    }
RUNNING_SUM(running_f32, float)
RUNNING_SUM(running_f64, double)
RUNNING_SUM(running_s32, uint32_t)

void ndrt_running_sum(kernel_call *call, int nthreads) {
    const ndrt_running_sum_args k = ndrt_read_running_sum(call);
    if (k.kind == NDRT_F32)
        running_f32(&k, nthreads);
    else if (k.kind == NDRT_F64)
        running_f64(&k, nthreads);
    else
        running_s32(&k, nthreads);
}

/* ---- gradients of products ---------------------------------------------------------------------
 */

/* Each element times the product of the others along the rows, multiplied from both ends: nothing
 * is divided by what may be 0. */
static void product_grad_strip(float *out, const float *grad, const float *in, int64_t rows,
                               int64_t stride, int64_t width) {
    float product[STRIP];
    for (int64_t c = 0; c < width; c++) product[c] = 1;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = in + r * stride;
        float *y = out + r * stride;
#pragma omp simd
        for (int64_t c = 0; c < width; c++) {
            y[c] = product[c];
            product[c] *= x[c];
        }
    }
    for (int64_t c = 0; c < width; c++) product[c] = grad[c];
    for (int64_t r = rows - 1; r >= 0; r--) {
        const float *x = in + r * stride;
        float *y = out + r * stride;
#pragma omp simd
        for (int64_t c = 0; c < width; c++) {
            y[c] *= product[c];
            product[c] *= x[c];
        }
    }
}

void ndrt_product_grad(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_product_grad_args k = ndrt_read_product_grad(call);
    const int64_t strips = (k.inner + STRIP - 1) / STRIP;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < k.outer * strips; i++) {
        const int64_t begin = i % strips * STRIP, at = i / strips * k.length * k.inner + begin;
        product_grad_strip(k.dx + at, k.dy + i / strips * k.inner + begin, k.data + at, k.length,
                           k.inner, least(STRIP, k.inner - begin));
    }
}

/* ---- prelu -------------------------------------------------------------------------------------
 */

static void prelu_block(float *out, const float *x, const float *slopes, int64_t inner,
                        int64_t channels) {
    if (channels == 1) {
        float slope = slopes[0];
#pragma omp simd
        for (int64_t i = 0; i < inner; i++) out[i] = x[i] > 0 ? x[i] : x[i] * slope;
        return;
    }
    for (int64_t i = 0; i < inner; i++)
#pragma omp simd
        for (int64_t c = 0; c < channels; c++) {
            float value = x[i * channels + c];
            out[i * channels + c] = value > 0 ? value : value * slopes[c];
        }
}

void ndrt_prelu(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_prelu_args k = ndrt_read_prelu(call);
    const int64_t size = k.inner * k.channels;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < k.outer * k.blocks; i++)
        prelu_block(k.out + i * size, k.data + i * size, k.slopes + i % k.blocks * k.channels,
                    k.inner, k.channels);
}

/* ---- arithmetic
 * ----------------------------------------------------------------------------------
 */

#define EACH(name, type, expression)                                                               \
    static void name(void *to, const void *left, const void *right, int64_t n) {                   \
        type *out = to;                                                                            \
        const type *in = left, *other = right;                                                     \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                      \
            type a = in[i], b = other[i];                                                          \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }
/* NaN wins in max and min. Whole numbers wrap around. */
#define FAMILY(suffix, type, sum)                                                                  \
    EACH(add_##suffix, type, (sum)a + (sum)b)                                                      \
    EACH(sub_##suffix, type, (sum)a - (sum)b)                                                      \
    EACH(mul_##suffix, type, (sum)a *(sum)b)                                                       \
    EACH(max_##suffix, type, a > b || a != a ? a : b)                                              \
    EACH(min_##suffix, type, a < b || a != a ? a : b)                                              \
    EACH(equal_##suffix, type, a == b)                                                             \
    EACH(not_equal_##suffix, type, a != b)                                                         \
    EACH(greater_##suffix, type, a > b)                                                            \
    EACH(greater_equal_##suffix, type, a >= b)                                                     \
    EACH(lesser_##suffix, type, a < b)                                                             \
    EACH(lesser_equal_##suffix, type, a <= b)                                                      \
    static void (*const of_##suffix[])(void *, const void *, const void *, int64_t) = {            \
        [NDRT_ARITHMETIC_ADD] = add_##suffix,          [NDRT_ARITHMETIC_SUB] = sub_##suffix,       \
        [NDRT_ARITHMETIC_MUL] = mul_##suffix,          [NDRT_ARITHMETIC_MAX] = max_##suffix,       \
        [NDRT_ARITHMETIC_MIN] = min_##suffix,          [NDRT_ARITHMETIC_EQ] = equal_##suffix,      \
        [NDRT_ARITHMETIC_NE] = not_equal_##suffix,     [NDRT_ARITHMETIC_GT] = greater_##suffix,    \
        [NDRT_ARITHMETIC_GE] = greater_equal_##suffix, [NDRT_ARITHMETIC_LT] = lesser_##suffix,     \
        [NDRT_ARITHMETIC_LE] = lesser_equal_##suffix,                                              \
    };
FAMILY(f32, float, float)
FAMILY(f64, double, double)
FAMILY(s32, int32_t, uint32_t)

void ndrt_arithmetic(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_arithmetic_args k = ndrt_read_arithmetic(call);
    const int64_t chunks = (k.n + CHUNK - 1) / CHUNK;
    const size_t size = k.kind == NDRT_F64 ? 8 : 4;
    void (*run)(void *, const void *, const void *, int64_t) = k.kind == NDRT_F32 ? of_f32[k.what]
                                                               : k.kind == NDRT_F64
                                                                   ? of_f64[k.what]
                                                                   : of_s32[k.what];
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++) {
        const size_t at = (size_t)(i * CHUNK) * size;
        run((char *)k.out + at, (const char *)k.left + at, (const char *)k.right + at,
            least(CHUNK, k.n - i * CHUNK));
    }
}

/* ---- slopes that are steps ---------------------------------------------------------------------
 */

static void clip_grad(float *out, const float *grad, const float *x, int64_t n, float low,
                      float high) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] < low) | (x[i] > high) ? 0.0f : grad[i];
}

static void abs_grad(float *out, const float *grad, const float *x, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = grad[i] * (x[i] > 0.0f ? 1.0f : x[i] < 0.0f ? -1.0f : 0.0f);
}

static void relu_grad(float *out, const float *grad, const float *y, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++)
        out[i] = grad[i] * (y[i] > 0.0f ? 1.0f : y[i] != y[i] ? y[i] : 0.0f);
}

void ndrt_step_grad(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_step_grad_args k = ndrt_read_step_grad(call);
    const int64_t chunks = (k.n + CHUNK - 1) / CHUNK;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t at = i * CHUNK, m = least(CHUNK, k.n - at);
        if (k.what == NDRT_STEP_CLIP)
            clip_grad(k.dx + at, k.dy + at, k.data + at, m, k.low, k.high);
        else if (k.what == NDRT_STEP_ABS)
            abs_grad(k.dx + at, k.dy + at, k.data + at, m);
        else
            relu_grad(k.dx + at, k.dy + at, k.data + at, m);
    }
}
