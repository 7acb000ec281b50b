/* Gradients of softmax and log_softmax along an axis.
 *
 * Each sum belongs to one thread and its order to the shape alone, so the bits do not depend on the
 * number of threads. */
#include "kernels/ndrt_exp.h"
#include "ndrt_args.h"

enum { BLOCK = 4096, LANES = 16, STRIP = 64 };

typedef const ndrt_softmax_grad_args job;

/* What is summed, and what the sum is taken times: y dy and y, or dy and exp(y). */
static inline __attribute__((always_inline)) float summand(float y, float dy, int64_t log) {
    return log ? dy : y * dy;
}

static inline __attribute__((always_inline)) float slope(float y, float dy, float sum, float factor,
                                                         int64_t log) {
    return factor * (log ? dy - ndrt_exp_of(y) * sum : y * (dy - sum));
}

static inline __attribute__((always_inline)) void row(float *dx, const float *y, const float *dy,
                                                      int64_t n, float factor, int64_t log) {
    double total = 0;
    for (int64_t i = 0; i < n;) {
        const int64_t end = n - i < BLOCK ? n : i + BLOCK;
        float parts[LANES] = {0};
        for (; i + LANES <= end; i += LANES)
#pragma omp simd
            for (int64_t j = 0; j < LANES; j++) parts[j] += summand(y[i + j], dy[i + j], log);
        for (int64_t j = 0; i < end; i++, j++) parts[j] += summand(y[i], dy[i], log);
        for (int64_t j = 0; j < LANES; j++) total += (double)parts[j];
    }
    const float sum = (float)total;
#pragma omp simd
    for (int64_t j = 0; j < n; j++) dx[j] = slope(y[j], dy[j], sum, factor, log);
}

/* `width` columns of arrays with `stride` elements from one place along the axis to the next. */
static inline __attribute__((always_inline)) void columns(float *dx, const float *y,
                                                          const float *dy, int64_t length,
                                                          int64_t stride, int64_t width,
                                                          float factor, int64_t log) {
    float sum[STRIP] = {0};
    for (int64_t at = 0; at < length * stride; at += stride)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) sum[c] += summand(y[at + c], dy[at + c], log);
    for (int64_t at = 0; at < length * stride; at += stride)
#pragma omp simd
        for (int64_t c = 0; c < width; c++)
            dx[at + c] = slope(y[at + c], dy[at + c], sum[c], factor, log);
}

static int64_t strips_of(job *k) { return (k->inner + STRIP - 1) / STRIP; }

static void part(job *k, int64_t i) {
    const float factor = (float)(k->sign / k->divisor);
    if (k->inner == 1) {
        const int64_t at = i * k->length;
        if (k->log)
            row(k->dx + at, k->y + at, k->dy + at, k->length, factor, 1);
        else
            row(k->dx + at, k->y + at, k->dy + at, k->length, factor, 0);
        return;
    }
    const int64_t strips = strips_of(k), begin = i % strips * STRIP, left = k->inner - begin;
    const int64_t at = i / strips * k->length * k->inner + begin;
    const int64_t width = left < STRIP ? left : STRIP;
    if (k->log)
        columns(k->dx + at, k->y + at, k->dy + at, k->length, k->inner, width, factor, 1);
    else
        columns(k->dx + at, k->y + at, k->dy + at, k->length, k->inner, width, factor, 0);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_softmax_grad_args k = ndrt_read_softmax_grad(call);
    if (k.outer < 0 || k.length < 0 || k.inner < 0)
        return ndrt_fail(NDRT_INVALID, "softmax_grad: a count below 0");
    const int64_t n = ndrt_product(k.outer, k.length, k.inner);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "softmax_grad: more elements than can be");
    return n ? ndrt_need_arrays(call, 3) : NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_softmax_grad_args k = ndrt_read_softmax_grad(call);
    return ndrt_team_for(call, k.outer * k.length * k.inner);
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_softmax_grad_args k = ndrt_read_softmax_grad(call);
    const int64_t parts = k.length ? k.outer * strips_of(&k) : 0;
    if (nthreads == 1) { /* entering a parallel region costs as much as hundreds of elements */
        for (int64_t i = 0; i < parts; i++) part(&k, i);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < parts; i++) part(&k, i);
    return NDRT_OK;
}

const ndrt_family ndrt_family_softmax_grad = {"softmax_grad", check, threads, execute};
