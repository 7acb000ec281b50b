/* Folds a batch normalization into the weight and bias of the linear layer before it.
 *
 * In doubles, each result rounded once, as NumPy computes it. Threads share rows of the weight that
 * have one channel. */
#include <math.h>
#include <stdint.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

typedef ndrt_fold_norm_args fold;

static inline double scale_of(const fold *k, int64_t channel) {
    const double scale = 1 / sqrt((double)k->var[channel] + k->epsilon);
    return k->gamma ? scale * (double)k->gamma[channel] : scale;
}

static void scale_row(float *restrict out, const float *restrict in, double scale, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = (float)((double)in[i] * scale);
}

static void fold_rows(const fold *k, int64_t from, int64_t to) {
    for (int64_t row = from; row < to; row++) {
        const int64_t group = row / (k->inputs * k->channels);
        scale_row(k->weight_out + row * k->width, k->weight + row * k->width,
                  scale_of(k, group * k->channels + row % k->channels), k->width);
    }
}

static void fold_bias(const fold *k) {
    for (int64_t c = 0; c < k->groups * k->channels; c++) {
        const double bias = k->bias ? (double)k->bias[c] : 0;
        k->bias_out[c] = (float)((bias - (double)k->mean[c]) * scale_of(k, c) + (double)k->beta[c]);
    }
}

static int64_t rows_of(const fold *k) { return ndrt_product(k->groups, k->inputs, k->channels); }

static ndrt_status check(kernel_call *call) {
    const fold k = ndrt_read_fold_norm(call);
    if (k.groups < 0 || k.inputs < 0 || k.channels < 0 || k.width < 0)
        return ndrt_fail(NDRT_INVALID, "folded norms: a count below 0");
    const int64_t channels = ndrt_product(k.groups, k.channels, 1), rows = rows_of(&k);
    const int64_t n = rows < 0 ? -1 : ndrt_product(rows, k.width, 1);
    if (n < 0 || channels < 0)
        return ndrt_fail(NDRT_INVALID, "folded norms: more elements than can be");
    if ((n && !(k.weight && k.weight_out)) ||
        (channels && !(k.bias_out && k.beta && k.mean && k.var)))
        return ndrt_fail(NDRT_INVALID, "folded norms: an array has no bytes");
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    const fold k = ndrt_read_fold_norm(call);
    return ndrt_team_for(call, rows_of(&k) * k.width);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const fold k = ndrt_read_fold_norm(call);
    const int64_t rows = rows_of(&k);
    fold_bias(&k);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++)
        fold_rows(&k, rows * i / nthreads, rows * (i + 1) / nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_folded_norms = {"folded norms", check, threads, execute};
