/* Local response normalization: each element times a power of the weighted squares of its
 * neighbours among channels.
 *
 * Channels are the middle of three axes. An element's result depends neither on the number of
 * threads nor on how pixels are cut into strips. */
#include <math.h>

#include "ndrt_internal.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 256 };

/* How a call goes over its data. */
typedef struct {
    int64_t outer, channels, inner, reach; /* neighbours on each side */
    int64_t strips;                        /* of the pixels behind a channel, or of the channels */
    float weight, base, power;
} response;

static response response_of(kernel_call *call) {
    const int64_t *d = call->counts;
    int64_t reach = (d[3] - 1) / 2, length = d[2] == 1 ? d[1] : d[2];
    return (response){.outer = d[0],
                      .channels = d[1],
                      .inner = d[2],
                      .reach = reach < d[1] ? reach : d[1] - 1,
                      .strips = (length + STRIP - 1) / STRIP,
                      .weight = (float)(call->numbers[0] / (double)d[3]),
                      .base = (float)call->numbers[2],
                      .power = (float)call->numbers[1]};
}

static inline __attribute__((always_inline)) void add_squares(float *sum, const float *x,
                                                              int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) sum[i] += x[i] * x[i];
}

/* n results from their sums of squares, which are changed. */
static inline __attribute__((always_inline)) void finish(float *out, const float *x, float *sum,
                                                         const response *by, int64_t n) {
#pragma omp simd
    for (int64_t i = 0; i < n; i++) sum[i] = by->base + sum[i] * by->weight;
    if (by->power == 0.75f) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) {
            float root = sqrtf(sum[i]);
            out[i] = x[i] / (root * sqrtf(root));
        }
        return;
    }
    ndrt_function_of(NDRT_FUNCTION_POWER, sum, sum, n, -by->power);
#pragma omp simd
    for (int64_t i = 0; i < n; i++) out[i] = x[i] * sum[i];
}

/* Channels from `from` on that lie side by side; x and out are a pixel's. */
static void side_by_side(float *out, const float *x, const response *by, int64_t from, int64_t n) {
    float sum[STRIP] = {0};
    for (int64_t j = -by->reach; j <= by->reach; j++) {
        int64_t begin = from + j < 0 ? -(from + j) : 0, end = by->channels - from - j;
        if (end > n) end = n;
        if (begin < end) add_squares(sum + begin, x + from + j + begin, end - begin);
    }
    finish(out + from, x + from, sum, by, n);
}

/* Pixels from `from` on of each channel; x and out are a sample's. */
static void apart(float *out, const float *x, const response *by, int64_t from, int64_t n) {
    for (int64_t c = 0; c < by->channels; c++) {
        float sum[STRIP] = {0};
        int64_t first = c > by->reach ? c - by->reach : 0, end = c + by->reach + 1;
        if (end > by->channels) end = by->channels;
        for (int64_t j = first; j < end; j++) add_squares(sum, x + j * by->inner + from, n);
        finish(out + c * by->inner + from, x + c * by->inner + from, sum, by, n);
    }
}

static ndrt_status check(kernel_call *call) {
    if (call->nthreads < 0) return ndrt_fail(NDRT_INVALID, "lrn: %d threads", call->nthreads);
    for (int i = 0; i < 4; i++)
        if (call->counts[i] < (i == 3))
            return ndrt_fail(NDRT_INVALID, "lrn: a count below %d", i == 3);
    int64_t n = ndrt_product(call->counts[0], call->counts[1], call->counts[2]);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "lrn: more elements than can be");
    for (int i = 0; i < 2; i++)
        if (n && !call->data[i]) return ndrt_fail(NDRT_INVALID, "lrn: array %d has no bytes", i);
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    return ndrt_team_for(call, call->counts[0] * call->counts[1] * call->counts[2]);
}

static void run(kernel_call *call, const response *by, int64_t k) {
    int64_t at = k / by->strips * by->channels * by->inner, from = k % by->strips * STRIP;
    int64_t length = by->inner == 1 ? by->channels : by->inner;
    int64_t n = length - from < STRIP ? length - from : STRIP;
    (by->inner == 1 ? side_by_side : apart)((float *)call->data[0] + at,
                                            (const float *)call->data[1] + at, by, from, n);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    response by = response_of(call);
    int64_t pieces = by.channels && by.inner ? by.outer * by.strips : 0;
    if (nthreads == 1) { /* entering a region costs as much as hundreds of elements */
        for (int64_t k = 0; k < pieces; k++) run(call, &by, k);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < pieces; k++) run(call, &by, k);
    return NDRT_OK;
}

const ndrt_family ndrt_family_lrn = {"lrn", check, threads, execute};
