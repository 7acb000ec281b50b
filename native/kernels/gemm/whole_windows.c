/* Convolutions and products of 8-bit numbers, in int32: exact, and beyond int32 come round. What
 * becomes of the sums (ndrt_finish.h) is done while they are in the first cache.
 *
 * Rows of data, one for each window, are widened to 16 bits in scratch; two numbers of a row and
 * two of a filter are multiplied and added up at once (vpmaddwd; vpdpwssd, which also adds that to
 * the sum, where there is AVX-512 VNNI), which can not saturate. A tile is 6 rows by two vectors of
 * filters: 12 sums in registers. */
#include <omp.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "ndrt_args.h"
#include "ndrt_whole_sums.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_whole_windows_args windows;

enum {
    BLOCK = NDRT_WHOLE_BLOCK,
    TILE_ROWS = 6,
    PANEL_ROWS = NDRT_WHOLE_PANEL, /* they stay in cache while all filters go over them */
    VECTORS = 2,
    STEP = NDRT_WHOLE_SLACK /* numbers that are widened at a time */
};

/* Two numbers in each lane. Written as an instruction, or the compiler reads those of all rows
 * before it multiplies any, and has no registers left for the sums. */
INLINED sums pair_of(const int16_t *at) {
    sums x;
    __asm__ volatile("vpbroadcastd %1, %0" : "=x"(x) : "m"(*(const int16_t (*)[2])at));
    return x;
}

typedef struct {
    int32_t *out;          /* (TILE_ROWS, VECTORS * LANES) */
    const int16_t *data;   /* rows of `depth` */
    const int8_t *weights; /* of the first vector: two numbers for each lane at each step */
    int64_t second;        /* how far behind them those of the second vector are */
    int64_t depth;
} tile;

/* All but the tile are constants where this is inlined. */
INLINED void sum_rows(const tile *t, const int rows, const int vectors, const int is_fused) {
    sums made[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = no_sums();
    const int8_t *weights = t->weights;
    for (int64_t k = 0; k < t->depth; k += 2, weights += 2 * BLOCK) {
        sums w[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) w[v] = weights_of(weights + v * t->second);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const sums x = pair_of(t->data + r * t->depth + k);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                made[r][v] = plus_products(made[r][v], x, w[v], is_fused);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            store_sums(t->out + (r * VECTORS + v) * LANES, made[r][v]);
}

INLINED void sum_tile(const tile *t, int rows, const int vectors, const int is_fused) {
    switch (rows) {
    case 1: sum_rows(t, 1, vectors, is_fused); return;
    case 2: sum_rows(t, 2, vectors, is_fused); return;
    case 3: sum_rows(t, 3, vectors, is_fused); return;
    case 4: sum_rows(t, 4, vectors, is_fused); return;
    case 5: sum_rows(t, 5, vectors, is_fused); return;
    default: sum_rows(t, TILE_ROWS, vectors, is_fused);
    }
}

typedef void sum_some(const tile *t, int rows);
static void sum_one(const tile *t, int rows) { sum_tile(t, rows, 1, 0); }
static void sum_two(const tile *t, int rows) { sum_tile(t, rows, 2, 0); }
#ifdef __AVX512BW__
static void sum_one_fused(const tile *t, int rows) { sum_tile(t, rows, 1, 1); }
static void sum_two_fused(const tile *t, int rows) { sum_tile(t, rows, 2, 1); }
static sum_some *const sum[][VECTORS] = {{sum_one, sum_two}, {sum_one_fused, sum_two_fused}};
#else
static sum_some *const sum[][VECTORS] = {{sum_one, sum_two}, {sum_one, sum_two}};
#endif

/* ---- rows of data --------------------------------------------------------------------------- */

/* Numbers come in pairs: behind an odd number of them is one that meets a weight of 0. */
static int64_t pairs(int64_t numbers) { return (numbers + 1) / 2 * 2; }

/* Of a group. */
static int64_t channels_of(const windows *job) { return job->channels / job->groups; }
static int64_t filters_of(const windows *job) { return job->filters / job->groups; }

/* Numbers of a line of a window. */
static int64_t line_of(const windows *job) { return pairs(job->window[1] * channels_of(job)); }

static int64_t depth_of(const windows *job) { return job->window[0] * line_of(job); }

/* Of rows: what they have in common. */
typedef struct {
    int64_t line, wide; /* numbers of a line of a window, with and without what pairs them */
    int64_t channels;   /* of a group, and the first one's place */
    int64_t first_channel;
    int64_t total; /* numbers of data */
    int16_t zero;  /* the number of data that stands for 0 */
} lines;

/* Widens `n` numbers from `from` on, less the zero point. 16 at a time, so that up to 15 more are
 * written. */
INLINED void widen(int16_t *out, const void *data, int64_t from, int64_t n, const lines *of,
                   const int is_signed) {
    const int8_t *s8 = (const int8_t *)data + from;
    const uint8_t *u8 = (const uint8_t *)data + from;
    const __m256i zeros = _mm256_set1_epi16(of->zero);
    int64_t i = 0;
    for (; i < n && from + i + STEP <= of->total; i += STEP) {
        const __m128i few = _mm_loadu_si128((const __m128i *)(u8 + i));
        const __m256i wide = is_signed ? _mm256_cvtepi8_epi16(few) : _mm256_cvtepu8_epi16(few);
        _mm256_storeu_si256((__m256i *)(out + i), _mm256_sub_epi16(wide, zeros));
    }
    for (; i < n; i++) out[i] = (int16_t)((is_signed ? s8[i] : u8[i]) - of->zero);
}

/* An output. */
typedef struct {
    int64_t image, row, column;
} place_of;

/* What the window of an output meets; what lies in the padding is 0. From its beginning to its end,
 * so that what is written too much is written again. */
INLINED void gather_row(const windows *job, const lines *of, const place_of *at, int16_t *row,
                        const int is_signed) {
    const int64_t channels = of->channels;
    const int64_t first = at->column * job->stride[1] - job->pad[1];
    const int is_inside = job->groups == 1 && job->dilate[1] == 1 && first >= 0 &&
                          first + job->window[1] <= job->width;
    int64_t y = at->row * job->stride[0] - job->pad[0];
    for (int64_t j = 0; j < job->window[0]; j++, row += of->line, y += job->dilate[0]) {
        const int64_t begin = (at->image * job->height + y) * job->width;
        if (y < 0 || y >= job->height) {
            memset(row, 0, (size_t)of->line * sizeof *row);
            continue;
        }
        if (is_inside) {
            widen(row, job->data, (begin + first) * channels, of->wide, of, is_signed);
        } else {
            for (int64_t i = 0; i < job->window[1]; i++) {
                const int64_t x = first + i * job->dilate[1];
                if (x < 0 || x >= job->width)
                    memset(row + i * channels, 0, (size_t)channels * sizeof *row);
                else
                    widen(row + i * channels, job->data,
                          (begin + x) * job->channels + of->first_channel, channels, of, is_signed);
            }
        }
        if (of->wide < of->line) row[of->wide] = 0;
    }
}

INLINED void gather_rows(const windows *job, int64_t group, int64_t place, int64_t rows,
                         int16_t *scratch, const int is_signed) {
    const lines of = {.line = line_of(job),
                      .wide = job->window[1] * channels_of(job),
                      .channels = channels_of(job),
                      .first_channel = group * channels_of(job),
                      .total = job->images * job->height * job->width * job->channels,
                      .zero = (int16_t)job->zero};
    const int64_t depth = depth_of(job);
    place_of at = {.image = place / job->columns / job->rows,
                   .row = place / job->columns % job->rows,
                   .column = place % job->columns};
    for (int64_t r = 0; r < rows; r++, scratch += depth) {
        gather_row(job, &of, &at, scratch, is_signed);
        if (++at.column < job->columns) continue;
        at.column = 0;
        if (++at.row < job->rows) continue;
        at.row = 0;
        at.image++;
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

static ndrt_finish finish_of(const windows *job) {
    ndrt_finish f = NDRT_FINISH_ARGS(job);
    f.zero = job->out_zero;
    return ndrt_with_bends(f);
}

static void compute_panel(const windows *job, const ndrt_finish *f, int64_t group, int64_t place,
                          int64_t rows, int16_t *scratch) {
    const int64_t depth = depth_of(job), step = VECTORS * LANES, filters = filters_of(job);
    const int64_t padded = (filters + BLOCK - 1) / BLOCK * BLOCK;
    const int8_t *weights = (const int8_t *)job->weights + group * padded * depth;
    int32_t made[TILE_ROWS * VECTORS * LANES] = {0};
    sum_some *const *sums_of = sum[ndrt_cpu_has(NDRT_HAS_AVX512_VNNI) != 0];
    if (job->is_signed)
        gather_rows(job, group, place, rows, scratch, 1);
    else
        gather_rows(job, group, place, rows, scratch, 0);
    for (int64_t first = 0; first < filters; first += step) {
        const int64_t left = filters - first, column = group * filters + first;
        const int count = left < step ? (int)left : (int)step;
        tile t = {.out = made,
                  .weights = weights + first * depth,
                  .second = (int)LANES == BLOCK ? depth * BLOCK : 2 * LANES,
                  .depth = depth};
        for (int64_t r = 0; r < rows; r += TILE_ROWS) {
            const int some = rows - r < TILE_ROWS ? (int)(rows - r) : TILE_ROWS;
            t.data = scratch + r * depth;
            sums_of[count > LANES](&t, some);
            ndrt_finish_tile(f, made, step, some, (place + r) * job->filters + column, job->filters,
                             column, count);
        }
    }
}

static int64_t places_of(const windows *job) {
    return ndrt_product(job->images, job->rows, job->columns);
}

static int64_t data_of(const windows *job) {
    return ndrt_product(ndrt_product(job->images, job->height, job->width), job->channels, 1);
}

/* ---- the family ----------------------------------------------------------------------------- */

/* A whole number that 8 bits hold. */
static int is_whole(float x, int is_signed) {
    const float least = is_signed ? INT8_MIN : 0;
    return x >= least && x <= least + UINT8_MAX && x == rintf(x);
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
    if (!is_whole(job.zero, job.is_signed) || !is_whole(job.out_zero, job.kind != NDRT_U8))
        return ndrt_fail(NDRT_INVALID, "whole windows: the zero points %g and %g", (double)job.zero,
                         (double)job.out_zero);
    if (!job.added != !job.added_scale)
        return ndrt_fail(NDRT_INVALID, "whole windows: a summand without its scale");
    const int64_t wide = ndrt_product(job.window[1], channels_of(&job), 1);
    const int64_t area = wide < 0 ? -1 : ndrt_product(job.window[0], pairs(wide), 1);
    if (area < 0 || data_of(&job) < 0 || ndrt_product(area, PANEL_ROWS + 1, job.slots) < 0 ||
        ndrt_product(area, job.filters + BLOCK, job.groups) < 0 || places_of(&job) < 0 ||
        ndrt_product(places_of(&job), job.filters, sizeof(int32_t)) < 0)
        return ndrt_fail(NDRT_INVALID, "whole windows: more elements than can be");
    return places_of(&job) ? ndrt_need_arrays(call, 4) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const windows job = ndrt_read_whole_windows(call);
    const int64_t work = ndrt_product(places_of(&job), depth_of(&job), job.filters);
    const int nthreads = ndrt_team_for(call, ndrt_product_work(work, 0));
    return nthreads < job.slots ? nthreads : job.slots;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const windows job = ndrt_read_whole_windows(call);
    const int64_t places = places_of(&job), numbers = depth_of(&job) * PANEL_ROWS + STEP;
    const int64_t panels = (places + PANEL_ROWS - 1) / PANEL_ROWS;
    ndrt_finish f = finish_of(&job);
    if (job.added_scale) f.added_scale = *job.added_scale;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        int16_t *scratch = (int16_t *)job.scratch + i * numbers;
        for (int64_t p = panels * i / nthreads; p < panels * (i + 1) / nthreads; p++) {
            const int64_t place = p * PANEL_ROWS, left = places - place;
            const int64_t rows = left < PANEL_ROWS ? left : PANEL_ROWS;
            for (int64_t group = 0; group < job.groups; group++)
                compute_panel(&job, &f, group, place, rows, scratch);
        }
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_whole_windows = {"whole windows", check, threads, execute};
