/* Kernels that oneDNN lacks. Each does a range of elements; a driver shares the ranges out.
 *
 * Every element is computed in float in one fixed order, and sums are cut into blocks by the shape
 * alone, so the bits do not depend on the number of threads. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

/* ---- element by element -------------------------------------------------------------------- */

NDRT_FOR_EACH_CPU static void add_to(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] += in[i];
}

NDRT_FOR_EACH_CPU static void blend(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
    float a = (float)call->scalars[0], b = (float)call->scalars[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = a * out[i] + b * in[i];
}

static void copy(kernel_call *call, int64_t from, int64_t to) {
    memcpy((char *)call->data[0] + from, (const char *)call->data[1] + from, (size_t)(to - from));
}

NDRT_FOR_EACH_CPU static void sloped(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *x = call->data[1], *slope = call->data[2], *in = call->data[3];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = (x[i] > 0 ? 1.0f : slope[i]) * in[i];
}

NDRT_FOR_EACH_CPU static void fill(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], value = (float)call->scalars[0];
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
NDRT_FOR_EACH_CPU static void add_rows(const float *in, int64_t rows, int64_t stride, int64_t width,
                                       double *sums) {
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

void ndrt_add_rows(const float *in, int64_t rows, int64_t stride, int64_t width, double *sums) {
    add_rows(in, rows, stride, width, sums);
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
            add_rows(in + first * channels + c0, count, channels, width, block);
            for (int64_t c = 0; c < width; c++) sums[c] += block[c];
        }
        for (int64_t c = 0; c < width; c++) out[c0 + c] = (float)sums[c];
    }
}

static ndrt_status bias_grad(kernel_call *call, int nthreads) {
    int64_t rows = call->dims[0], channels = call->dims[1];
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
        add_rows(in + first * channels, count, channels, channels, sums);
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
enum { NKERNELS = sizeof kernels / sizeof kernels[0], RANGE_STEP = 64 };

/* Kernels of other files, by their numbers. */
typedef struct {
    int first, last;
    ndrt_status (*check)(const ndrt_kernel_call *call);
    int (*threads)(const ndrt_kernel_call *call);
    void (*execute)(const ndrt_kernel_call *call, int nthreads);
} kernel_family;
static const kernel_family families[] = {
    {NDRT_KERNEL_GATHER, NDRT_KERNEL_ERF, ndrt_gather_check, ndrt_gather_threads,
     ndrt_gather_execute},
    {NDRT_KERNEL_NORM_ROWS, NDRT_KERNEL_L2_GRAD, ndrt_norms_check, ndrt_norms_threads,
     ndrt_norms_execute},
    {NDRT_KERNEL_NORM_LAST, NDRT_KERNEL_NORM_LAST, ndrt_last_axis_check, ndrt_last_axis_threads,
     ndrt_last_axis_execute},
    {NDRT_KERNEL_LRN, NDRT_KERNEL_LRN, ndrt_lrn_check, ndrt_lrn_threads, ndrt_lrn_execute},
    {NDRT_KERNEL_RESIZE_AXIS, NDRT_KERNEL_RESIZE_AXIS, ndrt_resize_check, ndrt_resize_threads,
     ndrt_resize_execute},
    {NDRT_KERNEL_BATCH_STATS, NDRT_KERNEL_BATCH_STATS, ndrt_batch_stats_check,
     ndrt_batch_stats_threads, ndrt_batch_stats_execute},
    {NDRT_KERNEL_FOLD_NORM, NDRT_KERNEL_FOLD_NORM, ndrt_folded_norms_check,
     ndrt_folded_norms_threads, ndrt_folded_norms_execute},
    {NDRT_KERNEL_NAG_MOM, NDRT_KERNEL_NAG_MOM_OF_MASTER, ndrt_optimizers_check,
     ndrt_optimizers_threads, ndrt_optimizers_execute},
    {NDRT_KERNEL_TOPK, NDRT_KERNEL_TOPK_GRAD, ndrt_ordering_check, ndrt_ordering_threads,
     ndrt_ordering_execute},
    {NDRT_KERNEL_REDUCE, NDRT_KERNEL_STEP_GRAD, ndrt_math_check, ndrt_math_threads,
     ndrt_math_execute},
    {NDRT_KERNEL_ROI_ALIGN, NDRT_KERNEL_MULTIBOX_ASSIGN, ndrt_vision_check, ndrt_vision_threads,
     ndrt_vision_execute},
    {NDRT_KERNEL_FLAT_PLACES, NDRT_KERNEL_SEQUENCE_LAST_GRAD, ndrt_moves_check, ndrt_moves_threads,
     ndrt_moves_execute},
    {NDRT_KERNEL_FUNCTION, NDRT_KERNEL_FUNCTION, ndrt_functions_check, ndrt_functions_threads,
     ndrt_functions_execute},
    {NDRT_KERNEL_SCALAR, NDRT_KERNEL_SCALAR, ndrt_scalars_check, ndrt_scalars_threads,
     ndrt_scalars_execute},
    {NDRT_KERNEL_DRAW, NDRT_KERNEL_SHUFFLE, ndrt_draws_check, ndrt_draws_threads,
     ndrt_draws_execute},
    {NDRT_KERNEL_FEW_ROWS, NDRT_KERNEL_FEW_ROWS, ndrt_few_rows_check, ndrt_few_rows_threads,
     ndrt_few_rows_execute},
    {NDRT_KERNEL_LSTM_STEPS, NDRT_KERNEL_LSTM_STEPS, ndrt_lstm_check, ndrt_lstm_threads,
     ndrt_lstm_execute},
    {NDRT_KERNEL_DEPTHWISE, NDRT_KERNEL_FEW_CHANNELS, ndrt_windows_check, ndrt_windows_threads,
     ndrt_windows_execute},
    {NDRT_KERNEL_PRODUCTS, NDRT_KERNEL_PRODUCTS, ndrt_products_check, ndrt_products_threads,
     ndrt_products_execute},
    {NDRT_KERNEL_JOIN_ROWS, NDRT_KERNEL_JOIN_ROWS, ndrt_joins_check, ndrt_joins_threads,
     ndrt_joins_execute},
    {NDRT_KERNEL_SEPARABLE, NDRT_KERNEL_SEPARABLE, ndrt_separable_check, ndrt_separable_threads,
     ndrt_separable_execute},
    {NDRT_KERNEL_LOST_MAXIMA, NDRT_KERNEL_MAX_POOL, ndrt_maxima_check, ndrt_maxima_threads,
     ndrt_maxima_execute},
    {NDRT_KERNEL_JOIN_SCALED, NDRT_KERNEL_JOIN_SCALED, ndrt_joins_check, ndrt_joins_threads,
     ndrt_joins_execute},
};

static const kernel_family *family_of(int kernel) {
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        if (kernel >= families[i].first && kernel <= families[i].last) return &families[i];
    return NULL;
}

ndrt_status ndrt_kernel_check(const ndrt_kernel_call *call) {
    const kernel_family *family = family_of(call->kernel);
    if (family) return family->check(call);
    if (call->kernel < 1 || call->kernel >= NKERNELS || !kernels[call->kernel].name)
        return ndrt_fail(NDRT_INVALID, "kernel %d is none of ndrt_kernel_id", call->kernel);
    const char *name = kernels[call->kernel].name;
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "%s: %d threads", name, call->nthreads);
    int64_t n = call->dims[0];
    int two = call->kernel == NDRT_KERNEL_BIAS_GRAD;
    if (n < 0 || (two && call->dims[1] < 0))
        return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    int empty = two ? call->dims[1] == 0 : n == 0;
    for (int i = 0; i < kernels[call->kernel].ndata; i++) {
        int unread = two && i == 1 && n == 0;
        if (!call->data[i] && !empty && !unread)
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    }
    return NDRT_OK;
}

static int64_t work_of(const ndrt_kernel_call *call) {
    int64_t n = call->dims[0];
    if (call->kernel == NDRT_KERNEL_BIAS_GRAD) n *= call->dims[1];
    return n * kernels[call->kernel].element / 4;
}

int ndrt_kernel_threads(const ndrt_kernel_call *call) {
    const kernel_family *family = family_of(call->kernel);
    if (family) return family->threads(call);
    return ndrt_team_for(call, work_of(call));
}

int ndrt_team_for(const ndrt_kernel_call *call, int64_t work) {
    if (work < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

static int overlaps(const ndrt_kernel_call *call) {
    const char *to = call->data[0], *from = call->data[1];
    return to < from + call->dims[0] && from < to + call->dims[0];
}

/* The call with what is known only when it runs: its numbers, and the words that it draws, once for
 * the whole team. */
static ndrt_kernel_call settled(const ndrt_kernel_call *call) {
    ndrt_kernel_call made = *call;
    if (call->parameters)
        memcpy(made.scalars, call->parameters, NDRT_KERNEL_PARAMETERS * sizeof(double));
    if (kernels[call->kernel].draws && call->dims[0] > 0) {
        ndrt_random begin;
        ndrt_random_draw(call->data[kernels[call->kernel].ndata - 1], call->dims[0], &begin);
        made.dims[1] = (int64_t)begin.key;
        made.dims[2] = (int64_t)begin.counter;
    }
    return made;
}

void ndrt_share_out(ndrt_range_kernel range, const ndrt_kernel_call *call, int64_t n,
                    int nthreads) {
    if (nthreads == 1) {
        range(call, 0, n);
        return;
    }
    int64_t steps = (n + RANGE_STEP - 1) / RANGE_STEP;
#pragma omp parallel num_threads(nthreads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t from = steps * me / team * RANGE_STEP, to = steps * (me + 1) / team * RANGE_STEP;
        if (to > n) to = n;
        if (from < to) range(call, from, to);
    }
}

ndrt_status ndrt_kernel_execute(const ndrt_kernel_call *given, int nthreads) {
    if (given->kernel == NDRT_KERNEL_FLAT_PLACES) return ndrt_flat_places(given, nthreads);
    const kernel_family *family = family_of(given->kernel);
    if (family) {
        family->execute(given, nthreads);
        return NDRT_OK;
    }
    ndrt_kernel_call made = settled(given);
    const ndrt_kernel_call *call = &made;
    ndrt_range_kernel range = kernels[call->kernel].range;
    int64_t n = call->dims[0];
    if (!range) return call->dims[1] ? bias_grad(call, nthreads) : NDRT_OK;
    if (n == 0) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_COPY && overlaps(call)) {
        memmove(call->data[0], call->data[1], (size_t)n);
        return NDRT_OK;
    }
    ndrt_share_out(range, call, n, nthreads);
    return NDRT_OK;
}

ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call) {
    TRY(ndrt_kernel_check(call));
    int nthreads = ndrt_kernel_threads(call);
    ndrt_native_state state;
    TRY(ndrt_enter(&state, nthreads));
    ndrt_status status = ndrt_kernel_execute(call, nthreads);
    ndrt_leave(&state);
    return status;
}
