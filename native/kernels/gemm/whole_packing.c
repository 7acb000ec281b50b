/* Weights of 8 bits as NDRT_KERNEL_WHOLE_WINDOWS reads them (ndrt_whole_layout.h). */
#include <immintrin.h>
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

/* Numbers side by side, from the place `k` of a row on. */
static void pack_some(const int8_t *w, int64_t step, int count, int64_t k, int8_t *out,
                      int16_t *sums) {
    const int64_t group = k / NDRT_WHOLE_GROUP;
    int8_t *to = out + k / QUAD * QUAD * BLOCK + k % QUAD;
    int sum = 0;
    for (int i = 0; i < count; i++) sum += to[i] = w[i * step];
    sums[group / 2 * 2 * BLOCK + group % 2] += (int16_t)sum;
}

/* `sums`: of its groups. */
static void pack_filter(const packing *job, const ndrt_whole_layout *l, int64_t filter, int8_t *out,
                        int16_t *sums) {
    const int64_t area = job->window[0] * job->window[1], channels = job->channels;
    const int8_t *weight = (const int8_t *)job->data + filter * channels * area;
    for (int64_t place = 0; place < area; place++, weight++) {
        const int64_t first = place / job->window[1] * l->line + place % job->window[1] * channels;
        if (channels % QUAD) {
            for (int64_t c = 0; c < channels; c++)
                pack_some(weight + c * area, area, 1, first + c, out, sums);
        } else {
            for (int64_t c = 0; c < channels; c += QUAD)
                pack_some(weight + c * area, area, QUAD, first + c, out, sums);
        }
    }
}

/* Beyond any sum of squares of data. */
static const int32_t NONE = INT32_MAX;

/* The most that the sum of squares of data may be so that 16 bits hold the sum of its products with
 * weights, of which `most` is the sum of squares on the one side of 0 or the other, whichever is
 * greater. By the inequality of Cauchy and Schwarz the square of the sum of products is at most the
 * one times the other; data is not below 0, so that this is true on each side of 0. */
static int32_t limit_of(__m256i most) {
    int32_t lanes[8], greatest = 0;
    _mm256_storeu_si256((__m256i *)lanes, most);
    for (int i = 0; i < 8; i++) greatest = lanes[i] > greatest ? lanes[i] : greatest;
    return greatest ? INT16_MAX * INT16_MAX / greatest : NONE;
}

/* NDRT_WHOLE_BOUNDS of a chunk: of all weights that a sum of 16 bits meets, and of pairs. */
static void bound(const int8_t *weights, int32_t *limits) {
    const __m256i zero = _mm256_setzero_si256();
    __m256i most = zero, most_of_pairs = zero;
    for (int at = 0; at < QUAD * BLOCK; at += 16) {
        __m256i above = zero, below = zero;
        for (int q = 0; q < CHUNK / QUAD; q++) {
            const __m128i *given = (const __m128i *)(weights + q * QUAD * BLOCK + at);
            const __m256i w = _mm256_cvtepi8_epi16(_mm_loadu_si128(given));
            const __m256i high = _mm256_max_epi16(w, zero), low = _mm256_min_epi16(w, zero);
            const __m256i more = _mm256_madd_epi16(high, high), less = _mm256_madd_epi16(low, low);
            most_of_pairs = _mm256_max_epi32(most_of_pairs, _mm256_max_epi32(more, less));
            above = _mm256_add_epi32(above, more);
            below = _mm256_add_epi32(below, less);
        }
        most = _mm256_max_epi32(most, _mm256_max_epi32(above, below));
    }
    limits[0] = limit_of(most);
    limits[1] = limit_of(most_of_pairs);
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
        pack_filter(job, l, block / blocks * of_group + first + f, weights + f * QUAD,
                    sums + 2 * f);
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
