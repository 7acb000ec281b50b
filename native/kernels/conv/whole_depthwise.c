/* Windows of 8-bit numbers, a filter for each channel, over channels-last images, in int32. What
 * becomes of the sums (ndrt_finish.h) is done while they are in registers and the first cache.
 *
 * Numbers of two places of a window stand side by side, widened to 16 bits, so that vpmaddwd
 * multiplies and adds both, which can not saturate. What lies in the padding is a line of the
 * number that stands for 0; what that adds to the sums of a channel is taken off before they begin.
 */
#include <immintrin.h>
#include <omp.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "ndrt_args.h"
#include "ndrt_whole_depthwise.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_whole_depthwise_args windows;

/* AT_ONCE: outputs whose sums are finished together. */
enum { BLOCK = NDRT_FINISHED, MOST = NDRT_WHOLE_PLACES, USUAL = 9, AT_ONCE = 8 };

/* The weights of two places: of 8 channels, and of the next 8. */
typedef struct {
    __m256i low, high;
} pair;

INLINED pair widened(__m128i a, __m128i b, const int is_signed) {
    const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
    if (is_signed) return (pair){_mm256_cvtepi8_epi16(low), _mm256_cvtepi8_epi16(high)};
    return (pair){_mm256_cvtepu8_epi16(low), _mm256_cvtepu8_epi16(high)};
}

INLINED __m128i some(const void *at) { return _mm_loadu_si128((const __m128i *)at); }

/* Where blocks of 16 channels begin: the last one may overlap the one before it. */
INLINED int64_t block_at(const windows *job, int64_t block) {
    const int64_t at = block * BLOCK;
    return at + BLOCK <= job->channels ? at : job->channels - BLOCK;
}

static int64_t blocks_of(const windows *job) { return (job->channels + BLOCK - 1) / BLOCK; }

static int places_of(const windows *job) { return (int)(job->window[0] * job->window[1]); }

static int pairs_of(const windows *job) { return (places_of(job) + 1) / 2; }

/* What the sums of a block begin with. */
static void begin(const windows *job, const int8_t *weights, int16_t *packed) {
    int32_t sums[BLOCK] = {0};
    for (int k = 0; k < places_of(job); k++)
        for (int i = 0; i < BLOCK; i++) sums[i] -= (int)job->zero * weights[k * job->channels + i];
    memcpy(packed, sums, sizeof sums);
}

/* Of each block: what its sums begin with, and its pairs. */
static void pack(const windows *job, int16_t *packed) {
    const int places = places_of(job);
    for (int64_t block = 0; block < blocks_of(job); block++) {
        const int8_t *weights = (const int8_t *)job->weights + block_at(job, block);
        begin(job, weights, packed);
        packed += 2 * BLOCK;
        for (int k = 0; k < places; k += 2, packed += 2 * BLOCK) {
            const int8_t *at = weights + k * job->channels;
            const __m128i next = k + 1 < places ? some(at + job->channels) : _mm_setzero_si128();
            const pair w = widened(some(at), next, 1);
            _mm256_storeu_si256((__m256i *)packed, w.low);
            _mm256_storeu_si256((__m256i *)(packed + BLOCK), w.high);
        }
    }
}

/* What the places of a window of each output meet, and zeros behind an odd number of them. */
typedef const uint8_t *places[MOST + 1];

/* All channels of outputs one behind the other, from `output` on; the last two are constants where
 * this is inlined. */
INLINED void compute_all(const windows *job, const ndrt_finish *f, const places *data, int count,
                         const int16_t *packed, int64_t output, const int npairs,
                         const int is_signed) {
    int32_t sums[AT_ONCE][BLOCK];
    for (int64_t block = 0; block < blocks_of(job); block++, packed += (npairs + 1) * 2 * BLOCK) {
        const int64_t at = block_at(job, block);
        for (int i = 0; i < count; i++) {
            const __m256i *w = (const __m256i *)packed;
            __m256i low = _mm256_loadu_si256(w++), high = _mm256_loadu_si256(w++);
#pragma GCC unroll 5
            for (int k = 0; k < npairs; k++, w += 2) {
                const pair x =
                    widened(some(data[i][2 * k] + at), some(data[i][2 * k + 1] + at), is_signed);
                low = _mm256_add_epi32(low, _mm256_madd_epi16(x.low, _mm256_loadu_si256(w)));
                high = _mm256_add_epi32(high, _mm256_madd_epi16(x.high, _mm256_loadu_si256(w + 1)));
            }
            _mm256_storeu_si256((__m256i *)sums[i], low);
            _mm256_storeu_si256((__m256i *)(sums[i] + 8), high);
        }
        ndrt_finish_tile(f, sums[0], BLOCK, count, output * job->channels + at, job->channels, at,
                         BLOCK);
    }
}

static void compute_outputs(const windows *job, const ndrt_finish *f, const places *data, int count,
                            const int16_t *packed, int64_t output) {
    if (pairs_of(job) == (USUAL + 1) / 2 && job->is_signed)
        compute_all(job, f, data, count, packed, output, (USUAL + 1) / 2, 1);
    else if (pairs_of(job) == (USUAL + 1) / 2)
        compute_all(job, f, data, count, packed, output, (USUAL + 1) / 2, 0);
    else
        compute_all(job, f, data, count, packed, output, pairs_of(job), job->is_signed);
}

/* `line`: one of images' rows of outputs. */
static void compute_line(const windows *job, const ndrt_finish *f, const int16_t *packed,
                         const uint8_t *zeros, int64_t line) {
    places data[AT_ONCE];
    const int64_t image = line / job->rows, row = line % job->rows;
    for (int64_t column = 0; column < job->columns; column += AT_ONCE) {
        const int64_t left = job->columns - column;
        const int count = left < AT_ONCE ? (int)left : AT_ONCE;
        for (int c = 0; c < count; c++) {
            const uint8_t **to = data[c];
            int64_t y = row * job->stride[0] - job->pad[0];
            for (int64_t j = 0; j < job->window[0]; j++, y += job->dilate[0]) {
                const int is_row = y >= 0 && y < job->height;
                int64_t x = (column + c) * job->stride[1] - job->pad[1];
                for (int64_t i = 0; i < job->window[1]; i++, x += job->dilate[1]) {
                    const int64_t pixel = (image * job->height + y) * job->width + x;
                    const int is_inside = is_row && x >= 0 && x < job->width;
                    *to++ = is_inside ? (const uint8_t *)job->data + pixel * job->channels : zeros;
                }
            }
            *to = zeros;
        }
        compute_outputs(job, f, data, count, packed, line * job->columns + column);
    }
}

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_finish finish_of(const windows *job) {
    ndrt_finish f = NDRT_FINISH_ARGS(job);
    f.zero = job->out_zero;
    return ndrt_with_bends(f);
}

static int64_t outputs_of(const windows *job) {
    return ndrt_product(job->images, job->rows, job->columns);
}

static ndrt_status check(kernel_call *call) {
    const windows job = ndrt_read_whole_depthwise(call);
    if (call->nthreads < 0 || !ndrt_is_count(job.images, 0) || !ndrt_is_count(job.height, 1) ||
        !ndrt_is_count(job.width, 1) || !ndrt_are_counts(job.window, 1) ||
        !ndrt_are_counts(job.stride, 1) || !ndrt_are_counts(job.dilate, 1) ||
        !ndrt_are_counts(job.pad, 0) || !ndrt_is_count(job.rows, 1) ||
        !ndrt_is_count(job.columns, 1))
        return ndrt_fail(NDRT_INVALID, "whole depthwise: a number is out of range");
    if (!ndrt_is_count(job.channels, BLOCK))
        return ndrt_fail(NDRT_INVALID, "whole depthwise: %lld channels, expected at least %d",
                         (long long)job.channels, BLOCK);
    if (job.window[0] > MOST || job.window[1] > MOST || job.window[0] * job.window[1] > MOST)
        return ndrt_fail(NDRT_INVALID, "whole depthwise: windows of more than %d places", MOST);
    const ndrt_finish f = finish_of(&job);
    TRY(ndrt_check_finish("whole depthwise", &f));
    TRY(ndrt_check_zeros("whole depthwise", job.zero, job.is_signed, &f));
    if (!job.added != !job.added_scale)
        return ndrt_fail(NDRT_INVALID, "whole depthwise: a summand without its scale");
    if (ndrt_product(ndrt_product(job.images, job.height, job.width), job.channels, 1) < 0 ||
        ndrt_product(outputs_of(&job), job.channels, sizeof(int32_t)) < 0)
        return ndrt_fail(NDRT_INVALID, "whole depthwise: more elements than can be");
    return outputs_of(&job) ? ndrt_need_arrays(call, 4) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const windows job = ndrt_read_whole_depthwise(call);
    const int64_t work = ndrt_product(outputs_of(&job), job.channels, places_of(&job));
    const int64_t lines = job.images ? job.images * job.rows : 1;
    const int nthreads = ndrt_team_for(call, work);
    return nthreads < lines ? nthreads : (int)lines;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const windows job = ndrt_read_whole_depthwise(call);
    const int64_t lines = job.images * job.rows;
    int16_t *packed = job.scratch;
    uint8_t *zeros = (uint8_t *)(packed + blocks_of(&job) * (pairs_of(&job) + 1) * 2 * BLOCK);
    ndrt_finish f = finish_of(&job);
    if (job.added_scale) f.added_scale = *job.added_scale;
    if (!outputs_of(&job)) return NDRT_OK;
#ifdef __AVX512BW__
    if (ndrt_cpu_has(NDRT_HAS_AVX512_VNNI)) {
        ndrt_indirect_depthwise(&job, &f, nthreads);
        return NDRT_OK;
    }
#endif
    pack(&job, packed);
    memset(zeros, (int)job.zero, (size_t)job.channels);
    if (nthreads <= 1) {
        for (int64_t line = 0; line < lines; line++) compute_line(&job, &f, packed, zeros, line);
        return NDRT_OK;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t line = 0; line < lines; line++) compute_line(&job, &f, packed, zeros, line);
    return NDRT_OK;
}

const ndrt_family ndrt_family_whole_depthwise = {"whole depthwise", check, threads, execute};
