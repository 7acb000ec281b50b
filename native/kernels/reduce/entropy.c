/* Finds the threshold at which to clip a histogram before quantizing it to few levels: the one with
 * the least Kullback-Leibler divergence.
 *
 * Sums are in float and from front to back, so that the result is that of NumPy and of MXNet. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_least_loss_args calibration;

static const float EPS = 1e-4f;

static float sum(const float *x, int64_t n) {
    float made = 0;
    for (int64_t i = 0; i < n; i++) made += x[i];
    return made;
}

/* A float cut off to a whole number; what is none, or beyond int64, as the CPU converts it. */
static int64_t whole(float x) { return fabsf(x) < 9223372036854775808.0f ? (int64_t)x : INT64_MIN; }

/* Moves a little mass from the other bins to empty ones; 0: there is not enough. */
static int smooth(float *x, int64_t n) {
    int64_t empty = 0;
    for (int64_t i = 0; i < n; i++) empty += x[i] == 0;
    const int64_t full = n - empty;
    if (!full) return 0;
    const float taken = EPS * (float)empty / (float)full;
    if (taken >= 1) return 0;
    for (int64_t i = 0; i < n; i++) x[i] += x[i] == 0 ? EPS : -taken;
    return 1;
}

/* The divergence of q from p; p is overwritten. */
static float divergence(float *p, const float *q, int64_t n) {
    const float all_p = sum(p, n), all_q = sum(q, n);
    for (int64_t i = 0; i < n; i++) {
        const float share = p[i] / all_p;
        p[i] = share * (float)log((double)(share / (q[i] / all_q)));
    }
    return sum(p, n);
}

/* The bins of `p` in fewer levels, each spread evenly over those of its places that are not 0.
 * What lies in the first bin from outside counts for nothing here, `last` is the last bin alone. */
static void spread(const calibration *job, const float *p, float last, float *q, int64_t n) {
    const int64_t width = n / job->levels;
    for (int64_t level = 0, from = 0; level < job->levels; level++, from += width) {
        const int64_t to = level == job->levels - 1 ? n : from + width;
        uint64_t total = 0;
        int64_t filled = 0;
        for (int64_t i = from > 1 ? from : 1; i < to; i++) {
            const int64_t count = whole(i == n - 1 ? last : p[i]);
            total += (uint64_t)count;
            filled += count != 0;
        }
        const float share = filled ? (float)(int64_t)total / (float)filled : 0;
        for (int64_t i = from; i < to; i++) q[i] = p[i] != 0 ? share : 0;
    }
}

/* The divergence if `reach` bins on each side of the middle are kept; NaN: undefined. */
static float loss(const calibration *job, int64_t reach, float *p, float *q) {
    const int64_t n = 2 * reach + 1, start = job->bins / 2 - reach, end = start + n - 1;
    memcpy(p, job->hist + start, (size_t)n * sizeof *p);
    const float last = p[n - 1];
    p[0] = sum(job->hist, start + 1);
    p[n - 1] = sum(job->hist + end, job->bins - end);
    spread(job, p, last, q, n);
    return smooth(p, n) && smooth(q, n) ? divergence(p, q, n) : NAN;
}

/* ---- the family ----------------------------------------------------------------------------- */

static int64_t reaches(const calibration *job) { return job->bins / 2 - job->levels / 2 + 1; }

static ndrt_status check(kernel_call *call) {
    const calibration job = ndrt_read_least_loss(call);
    if (job.slots < 1) return ndrt_fail(NDRT_INVALID, "least loss: %d slots", job.slots);
    if (job.levels < 2 || job.bins < job.levels || job.bins % 2 == 0 || job.bins >= INT32_MAX)
        return ndrt_fail(NDRT_INVALID, "least loss: %lld bins for %lld levels", (long long)job.bins,
                         (long long)job.levels);
    return ndrt_need_arrays(call, 5);
}

static int threads(kernel_call *call) {
    const calibration job = ndrt_read_least_loss(call);
    const int nthreads = ndrt_team_for(call, ndrt_product(reaches(&job), job.bins, 8));
    return nthreads < job.slots ? nthreads : job.slots;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const calibration job = ndrt_read_least_loss(call);
    const int64_t count = reaches(&job), half = job.levels / 2;
    float *lost = job.scratch + 2 * job.slots * job.bins;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int t = 0; t < nthreads; t++) {
        float *p = job.scratch + 2 * t * job.bins;
        for (int64_t i = t; i < count; i += nthreads)
            lost[i] = loss(&job, half + i, p, p + job.bins);
    }
    float best = FLT_MAX;
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++)
        if (lost[i] < best) {
            best = lost[i];
            at = i;
        }
    *job.threshold = job.edges[job.bins / 2 + half + at + 1];
    *job.lost = best;
    return NDRT_OK;
}

const ndrt_family ndrt_family_entropy = {"least loss", check, threads, execute};
