/* Local response normalization: each element times a power of the weighted squares of its
 * neighbours among channels.
 *
 * Channels are the middle of three axes. An element's result depends neither on the number of
 * threads nor on how pixels are cut into strips. */
#include <math.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;

enum { STRIP = 256 };

/* How a call goes over its data. */
typedef struct {
    int64_t outer, channels, inner, reach; /* neighbours on each side */
    int64_t strips;                        /* of the pixels behind a channel, or of the channels */
    float weight, base, power;
} response;

static response response_of(const ndrt_lrn_args *job) {
    const int64_t reach = (job->neighbours - 1) / 2;
    const int64_t length = job->inner == 1 ? job->channels : job->inner;
    return (response){.outer = job->outer,
                      .channels = job->channels,
                      .inner = job->inner,
                      .reach = reach < job->channels ? reach : job->channels - 1,
                      .strips = (length + STRIP - 1) / STRIP,
                      .weight = (float)(job->alpha / (double)job->neighbours),
                      .base = (float)job->knorm,
                      .power = (float)job->beta};
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

/* Contiguous channels, from `from` on; x and out are a pixel's. */
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
    const ndrt_lrn_args job = ndrt_read_lrn(call);
    if (job.outer < 0 || job.channels < 0 || job.inner < 0)
        return ndrt_fail(NDRT_INVALID, "lrn: a count below 0");
    if (job.neighbours < 1) return ndrt_fail(NDRT_INVALID, "lrn: a count below 1");
    int64_t n = ndrt_product(job.outer, job.channels, job.inner);
    if (n < 0) return ndrt_fail(NDRT_INVALID, "lrn: more elements than can be");
    return n ? ndrt_need_arrays(call, 2) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const ndrt_lrn_args job = ndrt_read_lrn(call);
    return ndrt_team_for(call, job.outer * job.channels * job.inner);
}

static void run(const ndrt_lrn_args *job, const response *by, int64_t k) {
    int64_t at = k / by->strips * by->channels * by->inner, from = k % by->strips * STRIP;
    int64_t length = by->inner == 1 ? by->channels : by->inner;
    int64_t n = length - from < STRIP ? length - from : STRIP;
    (by->inner == 1 ? side_by_side : apart)(job->out + at, job->data + at, by, from, n);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_lrn_args job = ndrt_read_lrn(call);
    const response by = response_of(&job);
    int64_t pieces = by.channels && by.inner ? by.outer * by.strips : 0;
    if (nthreads == 1) { /* entering a parallel region costs as much as hundreds of elements */
        for (int64_t k = 0; k < pieces; k++) run(&job, &by, k);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < pieces; k++) run(&job, &by, k);
    return NDRT_OK;
}

const ndrt_family ndrt_family_lrn = {"lrn", check, threads, execute};
