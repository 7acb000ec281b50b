/* What a linear layer and the batch normalization behind it do, as one layer's weight and bias.
 *
 * In doubles, each result rounded once, as NumPy computes it. Threads share rows of the weight that
 * have one channel. */
#include <math.h>
#include <stdint.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

/* The arrays, in their order among the data. */
typedef struct {
    float *weight_out, *bias_out;
    const float *weight, *beta, *mean, *var, *gamma, *bias;
} arrays;

static arrays arrays_of(kernel_call *call) {
    void *const *data = call->data;
    const int has_gamma = call->scalars[1] != 0, has_bias = call->scalars[2] != 0;
    return (arrays){data[0],
                    data[1],
                    data[2],
                    data[3],
                    data[4],
                    data[5],
                    has_gamma ? data[6] : NULL,
                    has_bias ? data[6 + has_gamma] : NULL};
}

static inline double scale_of(const arrays *of, double epsilon, int64_t channel) {
    const double scale = 1 / sqrt((double)of->var[channel] + epsilon);
    return of->gamma ? scale * (double)of->gamma[channel] : scale;
}

static void scale_row(float *restrict out, const float *restrict in, double scale, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (float)((double)in[i] * scale);
}

static void fold_rows(kernel_call *call, int64_t from, int64_t to) {
    const arrays of = arrays_of(call);
    const int64_t inputs = call->dims[1], channels = call->dims[2], width = call->dims[3];
    for (int64_t row = from; row < to; row++) {
        const int64_t channel = row / (inputs * channels) * channels + row % channels;
        scale_row(of.weight_out + row * width, of.weight + row * width,
                  scale_of(&of, call->scalars[0], channel), width);
    }
}

static void fold_bias(kernel_call *call) {
    const arrays of = arrays_of(call);
    for (int64_t c = 0; c < call->dims[0] * call->dims[2]; c++) {
        const double bias = of.bias ? (double)of.bias[c] : 0;
        of.bias_out[c] = (float)((bias - (double)of.mean[c]) * scale_of(&of, call->scalars[0], c) +
                                 (double)of.beta[c]);
    }
}

static int64_t rows_of(kernel_call *call) {
    return ndrt_product(call->dims[0], call->dims[1], call->dims[2]);
}

static ndrt_status check(kernel_call *call) {
    if (call->nthreads < 0)
        return ndrt_fail(NDRT_INVALID, "folded norms: %d threads", call->nthreads);
    for (int i = 0; i < 4; i++)
        if (call->dims[i] < 0) return ndrt_fail(NDRT_INVALID, "folded norms: a count below 0");
    const int64_t channels = ndrt_product(call->dims[0], call->dims[2], 1), rows = rows_of(call);
    const int64_t n = rows < 0 ? -1 : ndrt_product(rows, call->dims[3], 1);
    if (n < 0 || channels < 0)
        return ndrt_fail(NDRT_INVALID, "folded norms: more elements than can be");
    const int vectors = 6 + (call->scalars[1] != 0) + (call->scalars[2] != 0);
    for (int i = 0; i < vectors; i++)
        if (!call->data[i] && (i == 0 || i == 2 ? n : channels))
            return ndrt_fail(NDRT_INVALID, "folded norms: array %d has no bytes", i);
    return NDRT_OK;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, rows_of(call) * call->dims[3]); }

static ndrt_status execute(kernel_call *call, int nthreads) {
    const int64_t rows = rows_of(call);
    fold_bias(call);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++)
        fold_rows(call, rows * i / nthreads, rows * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_folded_norms = {"folded norms", check, threads, execute};
