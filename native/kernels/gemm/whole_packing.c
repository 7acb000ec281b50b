/* Weights of 8 bits as NDRT_KERNEL_WHOLE_WINDOWS reads them (ndrt_whole_layout.h). */
#include <omp.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_whole_layout.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_pack_whole_args packing;

enum { BLOCK = NDRT_WHOLE_BLOCK, QUAD = NDRT_WHOLE_QUAD, CHUNK = NDRT_WHOLE_CHUNK };

static ndrt_whole_layout layout_of(const packing *job) {
    return ndrt_whole_layout_of(job->window, job->channels, job->filters / job->groups,
                                job->groups);
}

/* Beyond any sum of squares of data. */
static const int32_t NONE = INT32_MAX;

/* `sums`: of its groups. */
static void pack_filter(const packing *job, int64_t filter, int8_t *out, int16_t *sums) {
    const int64_t area = job->window[0] * job->window[1];
    const int8_t *weight = (const int8_t *)job->data + filter * job->channels * area;
    for (int64_t place = 0; place < area; place++) {
        int64_t k = place * job->channels;
        for (int64_t c = 0; c < job->channels; c++, k++) {
            const int8_t w = weight[c * area + place];
            const int64_t group = k / NDRT_WHOLE_GROUP;
            out[k / QUAD * QUAD * BLOCK + k % QUAD] = w;
            sums[group / 2 * 2 * BLOCK + group % 2] += w;
        }
    }
}

/* The sums of squares of weights that one sum of 16 bits meets, of those above and below 0. */
typedef struct {
    int32_t above, below;
} squares;

static void add_weight(squares *s, int32_t w) { *(w > 0 ? &s->above : &s->below) += w * w; }

/* The most that the sum of squares of data may be so that 16 bits hold the sum of its products with
 * these weights. By the inequality of Cauchy and Schwarz the square of that sum is at most the one
 * times the other; data is not below 0, so that this is true of the weights on each side of 0. */
static void lower(int32_t *limit, const squares *s) {
    const int32_t most = s->above > s->below ? s->above : s->below;
    const int32_t other = most ? INT16_MAX * INT16_MAX / most : NONE;
    if (other < *limit) *limit = other;
}

/* NDRT_WHOLE_BOUNDS of a chunk. */
static void bound(const int8_t *weights, int32_t *limits) {
    for (int i = 0; i < NDRT_WHOLE_BOUNDS; i++) limits[i] = NONE;
    for (int lane = 0; lane < 2 * BLOCK; lane++) {
        squares all = {0};
        for (int q = 0; q < CHUNK / QUAD; q++) {
            squares pair = {0};
            for (int i = 0; i < 2; i++) {
                const int8_t w = weights[2 * lane + q * QUAD * BLOCK + i];
                add_weight(&all, w);
                add_weight(&pair, w);
            }
            lower(&limits[1], &pair);
        }
        lower(&limits[0], &all);
    }
}

static void pack_block(const packing *job, const ndrt_whole_layout *l, int64_t block) {
    const int64_t of_group = job->filters / job->groups, blocks = l->blocks / job->groups;
    const int64_t first = block % blocks * BLOCK, left = of_group - first;
    char *out = job->out;
    int8_t *weights = (int8_t *)out + block * l->chunks * CHUNK * BLOCK;
    int32_t *limits =
        (int32_t *)(out + ndrt_whole_limits(l)) + block * l->chunks * NDRT_WHOLE_BOUNDS;
    int16_t *sums = (int16_t *)(out + ndrt_whole_group_sums(l)) + block * l->pairs * 2 * BLOCK;
    memset(weights, 0, (size_t)(l->chunks * CHUNK * BLOCK));
    memset(sums, 0, (size_t)(l->pairs * 2 * BLOCK) * sizeof *sums);
    for (int64_t f = 0; f < left && f < BLOCK; f++)
        pack_filter(job, block / blocks * of_group + first + f, weights + f * QUAD, sums + 2 * f);
    for (int64_t c = 0; c < l->chunks; c++)
        bound(weights + c * CHUNK * BLOCK, limits + c * NDRT_WHOLE_BOUNDS);
}

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_status check(kernel_call *call) {
    const packing job = ndrt_read_pack_whole(call);
    if (call->nthreads < 0 || !ndrt_is_count(job.filters, 1) || !ndrt_is_count(job.channels, 1) ||
        !ndrt_are_counts(job.window, 1) || !ndrt_is_count(job.groups, 1) ||
        job.filters % job.groups)
        return ndrt_fail(NDRT_INVALID, "pack whole: a number is out of range");
    if (!ndrt_whole_layout_fits(job.window, job.channels, job.filters, job.groups))
        return ndrt_fail(NDRT_INVALID, "pack whole: more elements than can be");
    return ndrt_need_arrays(call, 2);
}

static int threads(kernel_call *call) {
    const packing job = ndrt_read_pack_whole(call);
    const ndrt_whole_layout l = layout_of(&job);
    const int nthreads = ndrt_team_for(call, ndrt_whole_limits(&l));
    return nthreads < l.blocks ? nthreads : (int)l.blocks;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const packing job = ndrt_read_pack_whole(call);
    const ndrt_whole_layout l = layout_of(&job);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t block = 0; block < l.blocks; block++) pack_block(&job, &l, block);
    return NDRT_OK;
}

const ndrt_family ndrt_family_whole_packing = {"whole packing", check, threads, execute};
