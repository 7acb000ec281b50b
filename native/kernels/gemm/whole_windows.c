/* Convolutions and products of 8-bit numbers, in int32: exact, and beyond int32 come round. What
 * becomes of the sums (ndrt_finish.h) is done while they are in the first cache.
 *
 * Rows of data, one for each window, are copied to scratch so that a tile (ndrt_whole_tile.h) reads
 * them one chunk behind the other, and the sums of their squares are found. */
#include <omp.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "ndrt_args.h"
#include "ndrt_whole_tile.h"
#include "ndrt_whole_windows.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_whole_windows_args windows;

enum { BLOCK = NDRT_WHOLE_BLOCK, COLUMNS = VECTORS * LANES, GROUP = NDRT_WHOLE_GROUP };

/* What threads share, and what each has. */
typedef struct {
    const windows *job;
    ndrt_whole_layout layout;
    int turn; /* bits of bytes that are turned, so that these are uint8: of int8 the highest one */
    int32_t zero; /* the number of these which stands for 0 */
    const int8_t *weights;
    const int32_t *limits;
    const int16_t *sums; /* of groups of weights */
    ndrt_finish finish;
} convolution;
typedef struct {
    uint8_t *lines;   /* (TILE_ROWS, chunks CHUNK + GROUP) */
    uint8_t *data;    /* for each tile of a panel (chunks, rows of the tile, CHUNK) */
    int32_t *squares; /* for each tile (chunks, NDRT_WHOLE_BOUNDS) */
    int16_t *bases;   /* for each tile (pairs, 2): what was taken off the data of each group */
} space;

/* Of a group. */
static int64_t channels_of(const windows *job) { return job->channels / job->groups; }
static int64_t filters_of(const windows *job) { return job->filters / job->groups; }

static int64_t places_of(const windows *job) {
    return ndrt_product(job->images, job->rows, job->columns);
}

static int64_t data_of(const windows *job) {
    return ndrt_product(ndrt_product(job->images, job->height, job->width), job->channels, 1);
}

/* Two are copied at a time. */
static int64_t even_chunks(const convolution *c) { return (c->layout.chunks + 1) / 2 * 2; }

static int64_t row_bytes(const convolution *c) { return even_chunks(c) * CHUNK; }

/* ---- rows of data --------------------------------------------------------------------------- */

/* `n` numbers of the data from `from` on. 16 at a time, so that up to 15 more are written. */
INLINED void copy_numbers(uint8_t *out, const windows *job, int64_t from, int64_t n,
                          int64_t total) {
    const uint8_t *data = (const uint8_t *)job->data + from;
    int64_t i = 0;
    for (; i < n && from + i + GROUP <= total; i += GROUP)
        _mm_storeu_si128((__m128i *)(out + i), _mm_loadu_si128((const __m128i *)(data + i)));
    for (; i < n; i++) out[i] = data[i];
}

/* What the window of an output meets; what lies in the padding stands for 0. From its beginning to
 * its end, so that what is written too much is written again, and zeros behind it. */
static void gather_row(const convolution *c, int64_t group, const ndrt_output_at *at,
                       uint8_t *row) {
    const windows *job = c->job;
    const int64_t channels = channels_of(job), wide = job->window[1] * channels;
    const int64_t total = data_of(job);
    const int64_t first = at->column * job->stride[1] - job->pad[1];
    const int is_inside = job->groups == 1 && job->dilate[1] == 1 && first >= 0 &&
                          first + job->window[1] <= job->width;
    const int zero = (int)job->zero;
    int64_t y = at->row * job->stride[0] - job->pad[0];
    for (int64_t j = 0; j < job->window[0]; j++, row += wide, y += job->dilate[0]) {
        const int64_t begin = (at->image * job->height + y) * job->width;
        if (y < 0 || y >= job->height) {
            memset(row, zero, (size_t)wide);
        } else if (is_inside) {
            copy_numbers(row, job, (begin + first) * channels, wide, total);
        } else {
            for (int64_t i = 0; i < job->window[1]; i++) {
                const int64_t x = first + i * job->dilate[1];
                if (x < 0 || x >= job->width)
                    memset(row + i * channels, zero, (size_t)channels);
                else
                    copy_numbers(row + i * channels, job,
                                 (begin + x) * job->channels + group * channels, channels, total);
            }
        }
    }
    memset(row, 0, GROUP);
}

/* Where the row of an output is read, up to whole GROUP: in the data itself where a window is
 * one pixel of it, and they do not reach beyond. */
static const uint8_t *row_of(const convolution *c, int64_t group, const ndrt_output_at *at,
                             uint8_t *line) {
    const windows *job = c->job;
    const int64_t y = at->row * job->stride[0] - job->pad[0];
    const int64_t x = at->column * job->stride[1] - job->pad[1];
    if (job->window[0] == 1 && job->window[1] == 1 && y >= 0 && y < job->height && x >= 0 &&
        x < job->width) {
        const int64_t pixel = (at->image * job->height + y) * job->width + x;
        const int64_t first = pixel * job->channels + group * channels_of(job);
        if (first + even_chunks(c) * CHUNK <= data_of(job))
            return (const uint8_t *)job->data + first;
    }
    gather_row(c, group, at, line);
    return line;
}

/* The greatest sums of squares of rows of two chunks, for each: of the numbers that a sum of 16
 * bits is made of (two sums, the same again), and of pairs of them. */
typedef struct {
    __m256i all, pairs;
} squares;

INLINED void take_in(squares *most, __m128i few) {
    const __m256i x = _mm256_cvtepu8_epi16(few);
    const __m256i pairs = _mm256_madd_epi16(x, x);
    const __m256i all = _mm256_add_epi32(pairs, _mm256_shuffle_epi32(pairs, 0x4e));
    most->pairs = _mm256_max_epi32(most->pairs, pairs);
    most->all = _mm256_max_epi32(most->all, all);
}

/* NDRT_WHOLE_BOUNDS of each. */
INLINED void put_squares(const squares *most, int32_t *out) {
    const __m256i pairs = _mm256_max_epi32(most->pairs, _mm256_shuffle_epi32(most->pairs, 0x4e));
    const __m256i both = _mm256_unpacklo_epi32(most->all, pairs);
    const __m256i found =
        _mm256_permute4x64_epi64(_mm256_max_epi32(both, _mm256_shuffle_epi32(both, 0x4e)), 0x08);
    _mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(found));
}

/* The least byte of all, in each byte. */
INLINED __m128i least_of(const __m128i *rows, int count) {
    __m128i least = rows[0];
    for (int r = 1; r < count; r++) least = _mm_min_epu8(least, rows[r]);
    /* of two bytes, in 16 bits */
    least = _mm_min_epu8(least, _mm_srli_epi16(least, 8));
    return _mm_broadcastb_epi8(_mm_minpos_epu16(least));
}

/* One chunk of each row behind the other, a group at a time: what is read behind the numbers meets
 * weights of 0. Where 0 is amid the numbers, the least one of a group is taken off all of it: sums
 * of squares of what is left are much smaller. */
INLINED void spread_rows(const convolution *c, const uint8_t *const *from, int count, uint8_t *out,
                         int32_t *bounds, int16_t *bases, const int is_shifted) {
    const __m128i turn = _mm_set1_epi8((char)c->turn);
    for (int64_t k = 0; k < c->layout.numbers; k += GROUP, bounds += 2 * NDRT_WHOLE_BOUNDS) {
        __m128i rows[TILE_ROWS] = {0}, least = _mm_setzero_si128();
        for (int r = 0; r < count; r++)
            rows[r] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(from[r] + k)), turn);
        if (is_shifted) {
            least = least_of(rows, count);
            *bases++ = (int16_t)(_mm_extract_epi8(least, 0) - c->zero);
        }
        squares most = {_mm256_setzero_si256(), _mm256_setzero_si256()};
        for (int r = 0; r < count; r++, out += CHUNK) {
            const __m128i few = _mm_sub_epi8(rows[r], least);
            _mm_storel_epi64((__m128i *)out, few);
            _mm_storeh_pd((double *)(out + count * CHUNK), _mm_castsi128_pd(few));
            take_in(&most, few);
        }
        out += count * CHUNK;
        put_squares(&most, bounds);
    }
    if (is_shifted && (c->layout.numbers - 1) / GROUP % 2 == 0) *bases = 0;
}

INLINED void spread(const convolution *c, const uint8_t *const *from, const int count, uint8_t *out,
                    int32_t *bounds, int16_t *bases) {
    if (c->zero)
        spread_rows(c, from, count, out, bounds, bases, 1);
    else
        spread_rows(c, from, count, out, bounds, bases, 0);
}

/* Rows are shared out evenly to tiles: `longer` of these have one more than `rows`. */
typedef struct {
    int tiles, rows, longer;
} panel;

static panel panel_of(int64_t rows) {
    const int64_t tiles = (rows + TILE_ROWS - 1) / TILE_ROWS;
    return (panel){(int)tiles, (int)(rows / tiles), (int)(rows % tiles)};
}

static void gather_panel(const convolution *c, const space *to, int64_t group, int64_t place,
                         const panel *p) {
    const windows *job = c->job;
    const int64_t chunks = even_chunks(c);
    ndrt_output_at at = ndrt_output_of(job, place);
    uint8_t *data = to->data;
    for (int i = 0; i < p->tiles; i++) {
        const int count = p->rows + (i < p->longer);
        const uint8_t *from[TILE_ROWS];
        for (int r = 0; r < count; r++) {
            from[r] = row_of(c, group, &at, to->lines + r * (chunks + 2) * CHUNK);
            ndrt_step_on(job, &at);
        }
        int32_t *bounds = to->squares + i * chunks * NDRT_WHOLE_BOUNDS;
        int16_t *bases = to->bases + i * c->layout.pairs * 2;
        if (count == TILE_ROWS)
            spread(c, from, TILE_ROWS, data, bounds, bases);
        else
            spread(c, from, count, data, bounds, bases);
        data += count * row_bytes(c);
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* Filters of a group from block `block` up to `block_end`. */
static void compute_panel(const convolution *c, const space *from, int64_t group, int64_t block,
                          int64_t block_end, int64_t place, const panel *p) {
    const windows *job = c->job;
    const ndrt_whole_layout *l = &c->layout;
    const int64_t filters = filters_of(job), before = l->blocks / job->groups * group;
    const int64_t end = block_end * BLOCK < filters ? block_end * BLOCK : filters;
    int32_t made[TILE_ROWS * COLUMNS] = {0};
    for (int64_t first = block * BLOCK; first < end; first += COLUMNS) {
        const int64_t left = end - first, column = group * filters + first;
        const int64_t at = before * BLOCK + first;
        const int count = left < COLUMNS ? (int)left : COLUMNS;
        tile t = {.out = made,
                  .weights = c->weights + at * l->chunks * CHUNK,
                  .ahead = c->weights + (at + COLUMNS) * l->chunks * CHUNK,
                  .limits = c->limits + at / BLOCK * l->chunks * NDRT_WHOLE_BOUNDS,
                  .sums = c->sums + at * l->pairs * 2,
                  .second = (int)LANES == BLOCK ? l->chunks * CHUNK * BLOCK : LANES * QUAD,
                  .second_limits = l->chunks * NDRT_WHOLE_BOUNDS,
                  .second_sums = l->pairs * 2 * BLOCK,
                  .chunks = l->chunks,
                  .pairs = c->zero ? l->pairs : 0};
        int64_t out = place * job->filters + column;
        t.data = from->data;
        t.squares = from->squares;
        t.bases = from->bases;
        for (int i = 0; i < p->tiles; i++) {
            const int some = p->rows + (i < p->longer);
            sum[count > LANES](&t, some);
            ndrt_finish_tile(&c->finish, made, COLUMNS, some, out, job->filters, column, count);
            out += some * job->filters;
            t.data += some * row_bytes(c);
            t.squares += even_chunks(c) * NDRT_WHOLE_BOUNDS;
            t.bases += l->pairs * 2;
            t.ahead += l->chunks * CACHE_LINE;
        }
    }
}

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_finish finish_of(const windows *job) {
    ndrt_finish f = NDRT_FINISH_ARGS(job);
    f.zero = job->out_zero;
    return ndrt_with_bends(f);
}

static ndrt_whole_layout layout_of(const windows *job) {
    return ndrt_whole_layout_of(job->window, channels_of(job), filters_of(job), job->groups);
}

static ndrt_status check(kernel_call *call) {
    const windows job = ndrt_read_whole_windows(call);
    if (call->nthreads < 0 || !ndrt_is_count(job.images, 0) || !ndrt_is_count(job.channels, 1) ||
        !ndrt_is_count(job.height, 1) || !ndrt_is_count(job.width, 1) ||
        !ndrt_is_count(job.filters, 1) || !ndrt_are_counts(job.window, 1) ||
        !ndrt_are_counts(job.stride, 1) || !ndrt_are_counts(job.dilate, 1) ||
        !ndrt_are_counts(job.pad, 0) || !ndrt_is_count(job.rows, 1) ||
        !ndrt_is_count(job.columns, 1) || job.slots < 1)
        return ndrt_fail(NDRT_INVALID, "whole windows: a number is out of range");
    if (!ndrt_is_count(job.groups, 1) || job.channels % job.groups || job.filters % job.groups)
        return ndrt_fail(NDRT_INVALID,
                         "whole windows: %lld groups of %lld channels and %lld filters",
                         (long long)job.groups, (long long)job.channels, (long long)job.filters);
    const ndrt_finish f = finish_of(&job);
    TRY(ndrt_check_finish("whole windows", &f));
    TRY(ndrt_check_zeros("whole windows", job.zero, job.is_signed, &f));
    if (!job.added != !job.added_scale)
        return ndrt_fail(NDRT_INVALID, "whole windows: a summand without its scale");
    if (data_of(&job) < 0 || places_of(&job) < 0 ||
        !ndrt_whole_layout_fits(job.window, channels_of(&job), job.filters, job.groups) ||
        ndrt_product(ndrt_whole_scratch(job.window, channels_of(&job)), job.slots, 1) < 0 ||
        ndrt_product(places_of(&job), job.filters, sizeof(int32_t)) < 0)
        return ndrt_fail(NDRT_INVALID, "whole windows: more elements than can be");
    return places_of(&job) ? ndrt_need_arrays(call, 4) : NDRT_OK;
}

/* Fewer threads than there is room for share out the rows, or, if weights are more than data, the
 * blocks of filters of each group. */
static int shares_blocks(const windows *job) {
    return places_of(job) < filters_of(job) && job->filters / job->groups / BLOCK >= job->slots;
}

static int threads(kernel_call *call) {
    const windows job = ndrt_read_whole_windows(call);
    const int64_t work = ndrt_product(places_of(&job), layout_of(&job).chunks * CHUNK, job.filters);
    const int nthreads = ndrt_team_for(call, ndrt_product_work(work, 0));
    return nthreads < job.slots ? nthreads : job.slots;
}

static void compute_part(const convolution *c, const space *own, int64_t block, int64_t block_end,
                         int64_t place, int64_t place_end) {
    const int64_t most = ndrt_whole_panel(even_chunks(c));
    const int64_t panels = (place_end - place + most - 1) / most;
    for (int64_t p = 0; p < panels; p++) {
        const int64_t from = place + (place_end - place) * p / panels;
        const panel some = panel_of(place + (place_end - place) * (p + 1) / panels - from);
        for (int64_t group = 0; group < c->job->groups; group++) {
            gather_panel(c, own, group, from, &some);
            compute_panel(c, own, group, block, block_end, from, &some);
        }
    }
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const windows job = ndrt_read_whole_windows(call);
    const ndrt_whole_layout l = layout_of(&job);
    const int64_t places = places_of(&job), blocks = l.blocks / job.groups;
    const char *packed = job.weights;
    convolution c = {.job = &job,
                     .layout = l,
                     .turn = job.is_signed ? INT8_MIN : 0,
                     .zero = (int32_t)job.zero - (job.is_signed ? INT8_MIN : 0),
                     .weights = (const int8_t *)packed,
                     .limits = (const int32_t *)(packed + ndrt_whole_limits(&l)),
                     .sums = (const int16_t *)(packed + ndrt_whole_group_sums(&l)),
                     .finish = finish_of(&job)};
    if (job.added_scale) c.finish.added_scale = *job.added_scale;
    const int over_blocks = shares_blocks(&job);
#ifdef __AVX512BW__
    if (ndrt_cpu_has(NDRT_HAS_AVX512_VNNI)) {
        ndrt_indirect_windows(&job, &c.finish, over_blocks, nthreads);
        return NDRT_OK;
    }
#endif
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        uint8_t *scratch =
            (uint8_t *)job.scratch + i * ndrt_whole_scratch(job.window, channels_of(&job));
        const int64_t chunks = even_chunks(&c), lines = TILE_ROWS * (chunks + 2) * CHUNK;
        const int64_t tiles = ndrt_whole_panel(chunks) / NDRT_WHOLE_TILE;
        space own = {.lines = scratch, .data = scratch + lines};
        own.squares = (int32_t *)(own.data + ndrt_whole_panel(chunks) * chunks * CHUNK);
        own.bases = (int16_t *)(own.squares + tiles * chunks * NDRT_WHOLE_BOUNDS);
        if (over_blocks)
            compute_part(&c, &own, blocks * i / nthreads, blocks * (i + 1) / nthreads, 0, places);
        else
            compute_part(&c, &own, 0, blocks, places * i / nthreads, places * (i + 1) / nthreads);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_whole_windows = {"whole windows", check, threads, execute};
