/* Kernels that oneDNN lacks. Each does a range of elements; a driver shares the ranges out.
 *
 * Every element is computed in float in one fixed order, and sums are cut into blocks by the shape
 * alone, so the bits do not depend on the number of threads. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "ndrt_internal.h"

/* Compiled for each of these and chosen when the extension loads. A sanitizer's start-up comes too
 * late for that choice. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_UNDEFINED__)
#define FOR_EACH_CPU
#else
#define FOR_EACH_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#endif

typedef const ndrt_kernel_call kernel_call;
typedef void (*range_kernel)(kernel_call *call, int64_t from, int64_t to);

/* ---- element by element -------------------------------------------------------------------- */

FOR_EACH_CPU static void add_to(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] += in[i];
}

FOR_EACH_CPU static void blend(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *in = call->data[1];
    float a = (float)call->scalars[0], b = (float)call->scalars[1];
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = a * out[i] + b * in[i];
}

static void copy(kernel_call *call, int64_t from, int64_t to) {
    memcpy((char *)call->data[0] + from, (const char *)call->data[1] + from, (size_t)(to - from));
}

static void zero(kernel_call *call, int64_t from, int64_t to) {
    memset((char *)call->data[0] + from, 0, (size_t)(to - from));
}

/* ---- optimizers ---------------------------------------------------------------------------- */

static inline float clipped(float x, float bound) {
    return x > bound ? bound : x < -bound ? -bound : x;
}

/* Learning rate times the rescaled, clipped gradient, rounded where MXNet 1.9.1 rounds: with a clip
 * lr * clip(rescale * g), without one (below 0) (lr * rescale) * g. Clipping to infinity and a
 * factor of 1 change nothing, and keep it one loop. */
typedef struct {
    float before, bound, after;
} gradient_rule;

static gradient_rule rule_of(kernel_call *call) {
    float lr = (float)call->scalars[0], rescale = (float)call->scalars[2];
    float bound = (float)call->scalars[3];
    return bound >= 0 ? (gradient_rule){rescale, bound, lr}
                      : (gradient_rule){1.0f, INFINITY, lr * rescale};
}

static inline float step_of(float gradient, gradient_rule rule) {
    return rule.after * clipped(rule.before * gradient, rule.bound);
}

FOR_EACH_CPU static void sgd(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0];
    const float *weight = call->data[1], *grad = call->data[2];
    float keep = 1.0f - (float)call->scalars[0] * (float)call->scalars[1];
    gradient_rule rule = rule_of(call);
#pragma omp simd
    for (int64_t i = from; i < to; i++) out[i] = keep * weight[i] - step_of(grad[i], rule);
}

FOR_EACH_CPU static void sgd_mom(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], *momentum = call->data[3];
    const float *weight = call->data[1], *grad = call->data[2];
    float decay = (float)call->scalars[0] * (float)call->scalars[1];
    float keep = (float)call->scalars[4];
    gradient_rule rule = rule_of(call);
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float w = weight[i];
        float m = keep * momentum[i] - decay * w - step_of(grad[i], rule);
        momentum[i] = m;
        out[i] = w + m;
    }
}

FOR_EACH_CPU static void adam(kernel_call *call, int64_t from, int64_t to) {
    float *out = call->data[0], *mean = call->data[3], *var = call->data[4];
    const float *weight = call->data[1], *grad = call->data[2];
    float lr = (float)call->scalars[0], wd = (float)call->scalars[1];
    float rescale = (float)call->scalars[2];
    float bound = call->scalars[3] >= 0 ? (float)call->scalars[3] : INFINITY;
    float beta1 = (float)call->scalars[4], beta2 = (float)call->scalars[5];
    float epsilon = (float)call->scalars[6];
#pragma omp simd
    for (int64_t i = from; i < to; i++) {
        float w = weight[i];
        float g = clipped(rescale * grad[i] + wd * w, bound);
        float m = beta1 * mean[i] + (1.0f - beta1) * g;
        float v = beta2 * var[i] + (1.0f - beta2) * g * g;
        mean[i] = m;
        var[i] = v;
        out[i] = w - lr * m / (sqrtf(v) + epsilon);
    }
}

/* ---- Philox4x32-10 -------------------------------------------------------------------------- */

enum { PHILOX_LANES = 16 };

/* Blocks first to first + PHILOX_LANES - 1, four words each. */
FOR_EACH_CPU static void philox_blocks(uint64_t key, uint64_t first, uint32_t *out) {
    uint32_t x0[PHILOX_LANES], x1[PHILOX_LANES], x2[PHILOX_LANES], x3[PHILOX_LANES];
    for (int i = 0; i < PHILOX_LANES; i++) {
        x0[i] = (uint32_t)(first + (uint64_t)i);
        x1[i] = (uint32_t)((first + (uint64_t)i) >> 32);
        x2[i] = x3[i] = 0;
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < PHILOX_LANES; i++) {
            uint64_t a = (uint64_t)0xD2511F53u * x0[i], b = (uint64_t)0xCD9E8D57u * x2[i];
            x0[i] = (uint32_t)(b >> 32) ^ x1[i] ^ k0;
            x2[i] = (uint32_t)(a >> 32) ^ x3[i] ^ k1;
            x1[i] = (uint32_t)b;
            x3[i] = (uint32_t)a;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int i = 0; i < PHILOX_LANES; i++) {
        out[4 * i] = x0[i];
        out[4 * i + 1] = x1[i];
        out[4 * i + 2] = x2[i];
        out[4 * i + 3] = x3[i];
    }
}

static void philox(kernel_call *call, int64_t from, int64_t to) {
    enum { WORDS = 4 * PHILOX_LANES }; /* the driver's ranges start at multiples of it */
    uint32_t *out = call->data[0], last[WORDS];
    uint64_t key = (uint64_t)call->dims[1], counter = (uint64_t)call->dims[2];
    for (int64_t i = from; i < to; i += WORDS) {
        int whole = to - i >= WORDS;
        philox_blocks(key, counter + (uint64_t)i / 4, whole ? out + i : last);
        if (!whole) memcpy(out + i, last, (size_t)(to - i) * sizeof *out);
    }
}

/* ---- sum over rows --------------------------------------------------------------------------- */

enum { ROWS_OF_BLOCK = 256 };

FOR_EACH_CPU static void sum_rows(const float *in, int64_t rows, int64_t channels, float *out) {
    memset(out, 0, (size_t)channels * sizeof *out);
    for (int64_t row = 0; row < rows; row++, in += channels)
#pragma omp simd
        for (int64_t c = 0; c < channels; c++) out[c] += in[c];
}

/* The same sums in the same order with no memory but the stack's, so that no lack of memory can
 * stop an operator half-way. */
static void bias_grad_frugal(const float *in, int64_t rows, int64_t channels, float *out) {
    enum { STRIP = 64 };
    for (int64_t c0 = 0; c0 < channels; c0 += STRIP) {
        int64_t width = channels - c0 < STRIP ? channels - c0 : STRIP;
        double sums[STRIP] = {0};
        for (int64_t first = 0; first < rows; first += ROWS_OF_BLOCK) {
            float block[STRIP] = {0};
            int64_t end = first + ROWS_OF_BLOCK < rows ? first + ROWS_OF_BLOCK : rows;
            for (int64_t row = first; row < end; row++)
                for (int64_t c = 0; c < width; c++) block[c] += in[row * channels + c0 + c];
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
    if (nblocks <= 1) {
        sum_rows(in, rows, channels, out);
        return NDRT_OK;
    }
    float *partial = ndrt_malloc((size_t)(nblocks * channels) * sizeof *partial);
    if (!partial) {
        bias_grad_frugal(in, rows, channels, out);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t b = 0; b < nblocks; b++) {
        int64_t first = b * ROWS_OF_BLOCK;
        int64_t count = rows - first < ROWS_OF_BLOCK ? rows - first : ROWS_OF_BLOCK;
        sum_rows(in + first * channels, count, channels, partial + b * channels);
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
    range_kernel range; /* NULL: shared out in its own way */
    int ndata;
    int element; /* bytes */
} kernels[] = {
    [NDRT_KERNEL_ADD_TO] = {"add to", add_to, 2, 4},
    [NDRT_KERNEL_COPY] = {"copy", copy, 2, 1},
    [NDRT_KERNEL_ZERO] = {"zero", zero, 1, 1},
    [NDRT_KERNEL_SGD] = {"sgd", sgd, 3, 4},
    [NDRT_KERNEL_SGD_MOM] = {"sgd with momentum", sgd_mom, 4, 4},
    [NDRT_KERNEL_ADAM] = {"adam", adam, 5, 4},
    [NDRT_KERNEL_PHILOX] = {"philox", philox, 1, 4},
    [NDRT_KERNEL_BIAS_GRAD] = {"bias gradient", NULL, 2, 4},
    [NDRT_KERNEL_BLEND_STATS] = {"blend of statistics", blend, 2, 4},
};
enum { NKERNELS = sizeof kernels / sizeof kernels[0], RANGE_STEP = 64 };

ndrt_status ndrt_kernel_check(const ndrt_kernel_call *call) {
    if (ndrt_is_gather(call->kernel)) return ndrt_gather_check(call);
    if (call->kernel < 1 || call->kernel >= NKERNELS)
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
    if (ndrt_is_gather(call->kernel)) return ndrt_gather_threads(call);
    if (work_of(call) < NDRT_SMALL_WORK) return 1;
    return call->nthreads ? call->nthreads : ndrt_threads_get();
}

static int overlaps(const ndrt_kernel_call *call) {
    const char *to = call->data[0], *from = call->data[1];
    return to < from + call->dims[0] && from < to + call->dims[0];
}

ndrt_status ndrt_kernel_execute(const ndrt_kernel_call *call, int nthreads) {
    if (ndrt_is_gather(call->kernel)) {
        ndrt_gather_execute(call, nthreads);
        return NDRT_OK;
    }
    range_kernel range = kernels[call->kernel].range;
    int64_t n = call->dims[0];
    if (!range) return call->dims[1] ? bias_grad(call, nthreads) : NDRT_OK;
    if (n == 0) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_COPY && overlaps(call)) {
        memmove(call->data[0], call->data[1], (size_t)n);
        return NDRT_OK;
    }
    if (nthreads == 1) {
        range(call, 0, n);
        return NDRT_OK;
    }
    int64_t steps = (n + RANGE_STEP - 1) / RANGE_STEP;
#pragma omp parallel num_threads(nthreads)
    {
        int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t from = steps * me / team * RANGE_STEP, to = steps * (me + 1) / team * RANGE_STEP;
        if (to > n) to = n;
        if (from < to) range(call, from, to);
    }
    return NDRT_OK;
}

ndrt_status ndrt_kernel_run(const ndrt_kernel_call *call) {
    TRY(ndrt_kernel_check(call));
    int nthreads = ndrt_kernel_threads(call);
    ndrt_native_state state;
    ndrt_enter(&state, nthreads);
    ndrt_status status = ndrt_kernel_execute(call, nthreads);
    ndrt_leave(&state);
    return status;
}
