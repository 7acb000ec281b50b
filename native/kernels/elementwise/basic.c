/* Copies, fills and sums; threads share ranges of elements.
 *
 * Every element is computed in float in one fixed order, and sums are cut into blocks by the shape
 * alone, so the bits do not depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

/* ---- element by element -------------------------------------------------------------------- */

static void add_to(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_add_to_args job = ndrt_read_add_to(call);
    float *out = job.out;
    const float *in = job.data;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] += in[i];
}

static void blend(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_blend_args job = ndrt_read_blend(call);
    float *out = job.out, a = job.a, b = job.b;
    const float *in = job.data;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = a * out[i] + b * in[i];
}

static void copy(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_copy_args job = ndrt_read_copy(call);
    memcpy((char *)job.out + from, (const char *)job.data + from, (size_t)(to - from));
}

static void sloped(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_sloped_args job = ndrt_read_sloped(call);
    float *out = job.out;
    const float *x = job.x, *slope = job.slopes, *in = job.data;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = (x[i] > 0 ? 1.0f : slope[i]) * in[i];
}

static void fill(kernel_call *call, int64_t from, int64_t to) {
    const ndrt_fill_args job = ndrt_read_fill(call);
    float *out = job.out, value = job.value;
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = value;
}

static void zero(kernel_call *call, int64_t from, int64_t to) {
    memset((char *)ndrt_read_zero(call).out + from, 0, (size_t)(to - from));
}

/* ---- sum over rows --------------------------------------------------------------------------- */

enum { ROWS_OF_BLOCK = 256, ROWS_AT_ONCE = 8 };

/* Pairs of pairs of rows are added in float: columns of nearly equal numbers lose nothing by that,
 * and one number in eight is widened. */
void ndrt_add_rows(const float *in, int64_t rows, int64_t stride, int64_t width, double *sums) {
    int64_t row = 0;
    for (; row + ROWS_AT_ONCE <= rows; row += ROWS_AT_ONCE, in += ROWS_AT_ONCE * stride) {
        const float *half = in + ROWS_AT_ONCE / 2 * stride;
#pragma omp simd
        for (int64_t c = 0; c < width; c++) {
            float a = (in[c] + in[c + stride]) + (in[c + 2 * stride] + in[c + 3 * stride]);
            float b = (half[c] + half[c + stride]) + (half[c + 2 * stride] + half[c + 3 * stride]);
            sums[c] += a + b;
        }
    }
    for (; row < rows; row++, in += stride)
#pragma omp simd
        for (int64_t c = 0; c < width; c++) sums[c] += in[c];
}

/* The same sums in the same order without heap memory, so that an operator can not fail half-way
 * for lack of it. */
static void bias_grad_frugal(const float *in, int64_t rows, int64_t channels, float *out) {
    enum { STRIP = 256 };
    for (int64_t c0 = 0; c0 < channels; c0 += STRIP) {
        int64_t width = channels - c0 < STRIP ? channels - c0 : STRIP;
        double sums[STRIP] = {0};
        for (int64_t first = 0; first < rows; first += ROWS_OF_BLOCK) {
            double block[STRIP] = {0};
            int64_t count = rows - first < ROWS_OF_BLOCK ? rows - first : ROWS_OF_BLOCK;
            ndrt_add_rows(in + first * channels + c0, count, channels, width, block);
            for (int64_t c = 0; c < width; c++) sums[c] += block[c];
        }
        for (int64_t c = 0; c < width; c++) out[c0 + c] = (float)sums[c];
    }
}

static ndrt_status bias_grad(kernel_call *call, int nthreads) {
    const ndrt_bias_grad_args job = ndrt_read_bias_grad(call);
    int64_t rows = job.rows, channels = job.channels;
    float *out = job.out;
    const float *in = job.data;
    if (!channels) return NDRT_OK;
    int64_t nblocks = (rows + ROWS_OF_BLOCK - 1) / ROWS_OF_BLOCK;
    double *partial = nblocks > 1 && nthreads > 1
                          ? ndrt_malloc((size_t)(nblocks * channels) * sizeof *partial)
                          : NULL;
    if (!partial) {
        bias_grad_frugal(in, rows, channels, out);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t first = b * ROWS_OF_BLOCK;
        int64_t count = rows - first < ROWS_OF_BLOCK ? rows - first : ROWS_OF_BLOCK;
        double *sums = partial + b * channels;
        memset(sums, 0, (size_t)channels * sizeof *sums);
        ndrt_add_rows(in + first * channels, count, channels, channels, sums);
    }
    for (int64_t c = 0; c < channels; c++) {
        double sum = 0;
        for (int64_t b = 0; b < nblocks; b++) sum += partial[b * channels + c];
        out[c] = (float)sum;
    }
    free(partial);
    return NDRT_OK;
}

/* ---- driver -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    ndrt_range_kernel range; /* NULL: it divides its work itself */
    int ndata;
    int element; /* bytes */
} kernels[] = {
    [NDRT_KERNEL_ADD_TO] = {"add to", add_to, 2, 4},
    [NDRT_KERNEL_COPY] = {"copy", copy, 2, 1},
    [NDRT_KERNEL_ZERO] = {"zero", zero, 1, 1},
    [NDRT_KERNEL_FILL] = {"fill", fill, 1, 4},
    [NDRT_KERNEL_BLEND] = {"blend", blend, 2, 4},
    [NDRT_KERNEL_SLOPED] = {"sloped", sloped, 4, 4},
    [NDRT_KERNEL_BIAS_GRAD] = {"bias gradient", NULL, 2, 4},
};

static ndrt_status check(kernel_call *call) {
    const char *name = kernels[call->kernel].name;
    int64_t n = call->counts[0], written = n;
    if (call->kernel == NDRT_KERNEL_BIAS_GRAD) written = ndrt_read_bias_grad(call).channels;
    if (n < 0 || written < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    for (int i = 0; i < kernels[call->kernel].ndata; i++)
        if (!call->data[i] && written && (n || i == 0))
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    int64_t n = call->counts[0];
    if (call->kernel == NDRT_KERNEL_BIAS_GRAD) n *= ndrt_read_bias_grad(call).channels;
    return ndrt_team_for(call, n * kernels[call->kernel].element / 4);
}

static int overlaps(const ndrt_copy_args *job) {
    const char *to = job->out, *from = job->data;
    return to < from + job->nbytes && from < to + job->nbytes;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    ndrt_range_kernel range = kernels[call->kernel].range;
    if (!range) return bias_grad(call, nthreads);
    int64_t n = call->counts[0];
    if (n == 0) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_COPY) {
        const ndrt_copy_args job = ndrt_read_copy(call);
        if (overlaps(&job)) {
            memmove(job.out, job.data, (size_t)n);
            return NDRT_OK;
        }
    }
    ndrt_share_out(range, call, n, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_basic = {"basic", check, threads, execute};
