/* Repairs maxima that oneDNN's pooling gets wrong.
 *
 * Its kernels start each maximum with the lowest finite float and take what is greater. A window of
 * only -infinity, NaN and that float therefore keeps the start value, with its maximum in the first
 * place, even if that is padding. Only such windows have the lowest float as their result: they are
 * found by it and computed again. NaN loses against any number. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_maxima.h"

typedef const ndrt_kernel_call kernel_call;

enum { AXES = NDRT_MAXIMA_AXES, CHUNK = 4096, SCANNED_FOR_ONE = 16 };
static const int64_t LEAST_REFUSED = (int64_t)1
                                     << 31; /* so that products of two sides do not overflow */

ndrt_maxima ndrt_maxima_of(kernel_call *call) {
    ndrt_maxima made = {0};
    const int64_t *of[5];
    if (call->kernel == NDRT_KERNEL_MAX_POOL) {
        const ndrt_max_pool_args k = ndrt_read_max_pool(call);
        made = (ndrt_maxima){.out = k.out,
                             .data = k.data,
                             .outer = k.outer,
                             .lanes = k.lanes,
                             .low = k.low,
                             .high = k.high,
                             .is_bounded = k.low > -INFINITY || k.high < INFINITY};
        memcpy(of, (const int64_t *[]){k.sides, k.windows, k.kernel, k.stride, k.pad}, sizeof of);
    } else {
        const ndrt_lost_maxima_args k = ndrt_read_lost_maxima(call);
        made = (ndrt_maxima){.out = k.out,
                             .data = k.data,
                             .places = k.places,
                             .outer = k.outer,
                             .lanes = k.lanes,
                             .places_dtype = k.places_dtype};
        memcpy(of, (const int64_t *[]){k.sides, k.windows, k.kernel, k.stride, k.pad}, sizeof of);
    }
    memcpy(made.side, of[0], sizeof made.side);
    memcpy(made.count, of[1], sizeof made.count);
    memcpy(made.kernel, of[2], sizeof made.kernel);
    memcpy(made.stride, of[3], sizeof made.stride);
    memcpy(made.pad, of[4], sizeof made.pad);
    return made;
}

/* All lengths are within bounds: windows and their steps have one. */
static int is_sound(const ndrt_maxima *job) {
    for (int i = 0; i < AXES; i++) {
        const int64_t lengths[] = {job->side[i], job->count[i], job->pad[i], job->kernel[i] - 1,
                                   job->stride[i] - 1};
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++)
            if (lengths[j] < 0 || lengths[j] >= LEAST_REFUSED - 1) return 0;
    }
    return 1;
}

static int64_t elements_of(const ndrt_maxima *job, const int64_t *sides) {
    return ndrt_product(ndrt_product(sides[0], sides[1], sides[2]), job->outer, job->lanes);
}

int64_t ndrt_maxima_made(const ndrt_maxima *job) { return elements_of(job, job->count); }

float ndrt_maximum(const ndrt_maxima *job, int64_t at, int64_t *place) {
    int64_t lane = at % job->lanes, window = at / job->lanes;
    ndrt_span spans[AXES];
    for (int axis = AXES - 1; axis >= 0; axis--) {
        spans[axis] = ndrt_span_of(job, axis, window % job->count[axis]);
        window /= job->count[axis];
    }
    const int64_t *side = job->side;
    const float *image = job->data + window * side[0] * side[1] * side[2] * job->lanes + lane;
    float best = -FLT_MAX;
    *place = -1;
    for (int64_t a = spans[0].from; a < spans[0].to; a++)
        for (int64_t b = spans[1].from; b < spans[1].to; b++)
            for (int64_t c = spans[2].from; c < spans[2].to; c++) {
                int64_t row = (spans[0].first + a) * side[1] + spans[1].first + b;
                float x = image[(row * side[2] + spans[2].first + c) * job->lanes];
                if (*place >= 0 && !(x > best) && !(best != best && x == x)) continue;
                best = x;
                *place = (a * job->kernel[1] + b) * job->kernel[2] + c;
            }
    return best;
}

/* ---- found in the result --------------------------------------------------------------------- */

static int has_lowest(const float *x, int64_t n) {
    int32_t found = 0;
    const float lowest = -FLT_MAX;
    int32_t wanted;
    memcpy(&wanted, &lowest, sizeof wanted);
#pragma omp simd reduction(| : found)
    for (int64_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        found |= bits == wanted;
    }
    return found;
}

static void renew(const ndrt_maxima *job, int64_t from, int64_t to) {
    if (!has_lowest(job->out + from, to - from)) return;
    for (int64_t at = from; at < to; at++) {
        if (job->out[at] != -FLT_MAX) continue;
        int64_t place;
        job->out[at] = ndrt_maximum(job, at, &place);
        if (!job->places || place < 0) continue;
        if (job->places_dtype == NDRT_U8)
            ((uint8_t *)job->places)[at] = (uint8_t)place;
        else
            ((int32_t *)job->places)[at] = (int32_t)place;
    }
}

static void find_lost(const ndrt_maxima *job, int nthreads) {
    const int64_t n = ndrt_maxima_made(job), chunks = (n + CHUNK - 1) / CHUNK;
    if (nthreads == 1) {
        renew(job, 0, n);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < chunks; i++)
        renew(job, i * CHUNK, (i + 1) * CHUNK < n ? (i + 1) * CHUNK : n);
}

/* ---- driver ---------------------------------------------------------------------------------- */

static const char *name_of(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_MAX_POOL ? "max pooling" : "lost maxima";
}

static ndrt_status check(kernel_call *call) {
    const char *name = name_of(call);
    int is_pool = call->kernel == NDRT_KERNEL_MAX_POOL;
    const ndrt_maxima job = ndrt_maxima_of(call);
    if (job.outer < 0 || job.lanes < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    if (!is_sound(&job)) return ndrt_fail(NDRT_INVALID, "%s: a length is out of range", name);
    int64_t made = ndrt_maxima_made(&job), read = elements_of(&job, job.side);
    if (made < 0 || read < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (made && (!job.out || (read && !job.data)))
        return ndrt_fail(NDRT_INVALID, "%s: an array has no bytes", name);
    if (job.places && job.places_dtype != NDRT_U8 && job.places_dtype != NDRT_S32)
        return ndrt_fail(NDRT_INVALID, "%s: places of dtype %d", name, job.places_dtype);
    if (is_pool && ndrt_product(job.kernel[0], job.kernel[1], 1) > NDRT_MAX_POOL_ROWS)
        return ndrt_fail(NDRT_INVALID, "%s: windows of more than %d rows", name,
                         NDRT_MAX_POOL_ROWS);
    return NDRT_OK;
}

static int threads(kernel_call *call) {
    const ndrt_maxima job = ndrt_maxima_of(call);
    int64_t made = ndrt_maxima_made(&job);
    if (call->kernel == NDRT_KERNEL_LOST_MAXIMA) return ndrt_team_for(call, made / SCANNED_FOR_ONE);
    int64_t places = ndrt_product(job.kernel[0], job.kernel[1], job.kernel[2]);
    int64_t work = ndrt_product(made, places, 1);
    /* a maximum is less work than the operation that the limit was measured with */
    return ndrt_team_for(call, work < 0 ? INT64_MAX : work / 4 > made ? work / 4 : made);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const ndrt_maxima job = ndrt_maxima_of(call);
    if (!ndrt_maxima_made(&job)) return NDRT_OK;
    if (call->kernel == NDRT_KERNEL_MAX_POOL)
        ndrt_max_pool(&job, nthreads);
    else
        find_lost(&job, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_maxima = {"maxima", check, threads, execute};
