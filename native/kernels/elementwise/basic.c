/* Copies, steps of optimizers, draws: each does a range of elements, and ranges are shared out.
 *
 * Every element is computed in float in one fixed order, and sums are cut into blocks by the shape
 * alone, so the bits do not depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

/* ---- element by element -------------------------------------------------------------------- */

static void add_to(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] += in[i];
}

static void blend(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
    float a = (float)call->numbers[0], b = (float)call->numbers[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = a * out[i] + b * in[i];
}

static void copy(kernel_call *call, int64_t from, int64_t to) {
    memcpy((char *)call->data[0] + from, (const char *)call->data[1] + from, (size_t)(to - from));
}

static void sloped(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *x = call->data[1], *slope = call->data[2], *in = call->data[3];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = (x[i] > 0 ? 1.0f : slope[i]) * in[i];
}

static void fill(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], value = (float)call->numbers[0];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = value;
}

static void zero(kernel_call *call, int64_t from, int64_t to) {
    memset((char *)call->data[0] + from, 0, (size_t)(to - from));
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

/* The sums in their order with no memory but the stack's, so that no lack of memory can stop an
 * operator half-way. */
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
    int64_t rows = call->counts[0], channels = call->counts[1];
    float *out = call->data[0];
    const float *in = call->data[1];
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
    ndrt_range_kernel range; /* NULL: shared out in its own way */
    int ndata;
    int element; /* bytes */
    int draws;   /* a random word for each element, from the stream that is the last of its data */
} kernels[] = {
    [NDRT_KERNEL_ADD_TO] = {"add to", add_to, 2, 4, 0},
    [NDRT_KERNEL_COPY] = {"copy", copy, 2, 1, 0},
    [NDRT_KERNEL_ZERO] = {"zero", zero, 1, 1, 0},
    [NDRT_KERNEL_SGD] = {"sgd", ndrt_sgd, 3, 4, 0},
    [NDRT_KERNEL_SGD_MOM] = {"sgd with momentum", ndrt_sgd_mom, 4, 4, 0},
    [NDRT_KERNEL_ADAM] = {"adam", ndrt_adam, 5, 4, 0},
    [NDRT_KERNEL_PHILOX] = {"philox", ndrt_philox, 1, 4, 0},
    [NDRT_KERNEL_BIAS_GRAD] = {"bias gradient", NULL, 2, 4, 0},
    [NDRT_KERNEL_BLEND] = {"blend", blend, 2, 4, 0},
    [NDRT_KERNEL_DROPOUT_MASK] = {"dropout mask", ndrt_dropout_mask, 2, 4, 1},
    [NDRT_KERNEL_DROPOUT] = {"dropout", ndrt_dropout, 4, 4, 1},
    [NDRT_KERNEL_UNIFORM] = {"uniform", ndrt_random_uniform, 2, 4, 1},
    [NDRT_KERNEL_NORMAL] = {"normal", ndrt_random_normal, 2, 4, 1},
    [NDRT_KERNEL_FILL] = {"fill", fill, 1, 4, 0},
    [NDRT_KERNEL_SLOPED] = {"sloped", sloped, 4, 4, 0},
};

static ndrt_status check(kernel_call *call) {
    const char *name = kernels[call->kernel].name;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads);
    int64_t n = call->counts[0];
    int two = call->kernel == NDRT_KERNEL_BIAS_GRAD;
    if (n < 0 || (two && call->counts[1] < 0))
        return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    int empty = two ? call->counts[1] == 0 : n == 0;
    for (int i = 0; i < kernels[call->kernel].ndata; i++) {
        int unread = two && i == 1 && n == 0;
        if (!call->data[i] && !empty && !unread)
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    }
    return NDRT_OK;
}

static int64_t work_of(const ndrt_kernel_call *call) {
    int64_t n = call->counts[0];
    if (call->kernel == NDRT_KERNEL_BIAS_GRAD) n *= call->counts[1];
    return n * kernels[call->kernel].element / 4;
}

static int threads(kernel_call *call) { return ndrt_team_for(call, work_of(call)); }

static int overlaps(const ndrt_kernel_call *call) {
    const char *to = call->data[0], *from = call->data[1];
    return to < from + call->counts[0] && from < to + call->counts[0];
}

/* The call with what is known only when it runs: its numbers, and the words that it draws, once for
 * the whole team. */
static ndrt_kernel_call settled(const ndrt_kernel_call *call) {
    ndrt_kernel_call made = *call;
    if (call->parameters)
        memcpy(made.numbers, call->parameters, NDRT_KERNEL_PARAMETERS * sizeof(double));
    if (kernels[call->kernel].draws && call->counts[0] > 0) {
        ndrt_random begin;
        ndrt_random_draw(call->data[kernels[call->kernel].ndata - 1], call->counts[0], &begin);
        made.counts[1] = (int64_t)begin.key;
        made.counts[2] = (int64_t)begin.counter;
    }
    return made;
}

static ndrt_status execute(kernel_call *given, int nthreads) {
    ndrt_kernel_call made = settled(given);
    kernel_call *call = &made;
    ndrt_range_kernel range = kernels[call->kernel].range;
    int64_t n = call->counts[0];
    if (!range) return call->counts[1] ? bias_grad(call, nthreads) : NDRT_OK;
    if (n == 0) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_COPY && overlaps(call)) {
        memmove(call->data[0], call->data[1], (size_t)n);
        return NDRT_OK;
    }
    ndrt_share_out(range, call, n, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_basic = {"basic", check, threads, execute};
