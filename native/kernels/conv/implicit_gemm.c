/* Convolutions of channels-last images as an implicit GEMM: the pixels of a window, contiguous in
 * each of its rows, are read in place and multiplied with weights packed in blocks of filters.
 *
 * A tile is a few pixels of the result by one block of filters, with its sums in registers. Its
 * pixels are any whose windows have the same padding, which is neither read nor multiplied. While a
 * tile is computed, the weights of the next block are prefetched.
 *
 * The order of a sum depends on the window, the channels and the padding alone, so the bits do not
 * depend on the batch or the number of threads. */
#include <omp.h>

#include "kernels/ndrt_vector.h"
#include "ndrt_args.h"
#include "onednn/ndrt_onednn.h"

typedef ndrt_implicit_gemm_args convolution;

enum {
    BLOCK = NDRT_PACKED_FILTERS, /* of the weights */
    VECTORS = BLOCK / LANES,
#ifdef __AVX512F__
    TILE_PIXELS = 12,
#else
    TILE_PIXELS = 6,
#endif
    MOST_PIXELS = 512 /* that are processed at a time */
};

/* The floats of images, and of a block of filters, that stay in the L2 cache while tiles are
 * computed from them; with more weights one row of the window is processed at a time. */
static const int64_t NUMBERS_OF_IMAGES = 196608, NUMBERS_OF_WEIGHTS = 24576;

/* The part of a window that is not padding. */
typedef struct {
    int64_t y, y_end, x, x_end;
} met;

/* Pixels of the result: the offsets of their windows in the data, negative if these begin in the
 * padding, and their own offsets in the result. */
typedef struct {
    int count;
    int64_t data[MOST_PIXELS], out[MOST_PIXELS];
} pixel_list;

typedef struct {
    int first, count; /* of the pixels */
    met inside;
} group;

typedef struct {
    const convolution *job;
    const int64_t *data, *out; /* of the tile's pixels */
    met inside;
    const float *weights, *bias; /* of the block */
    const float *ahead;          /* weights to prefetch */
    int64_t nahead;              /* features to prefetch */
    int64_t filter;
    ndrt_lanes lanes; /* of the last vector that are filters */
    int is_first, is_last;
} tile;

INLINED void add_feature(ndrt_vector sums[][VECTORS], const float *const *read, int64_t k,
                         const float *weights, int pixels, int vectors) {
    ndrt_vector line[VECTORS];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) line[v] = ndrt_load(weights + v * LANES);
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
        const ndrt_vector x = ndrt_all(read[p][k]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sums[p][v] = ndrt_multiply_add(x, line[v], sums[p][v]);
    }
}

/* Here and above the last two are constants where this is inlined. */
INLINED void tile_of(const tile *t, int pixels, int vectors) {
    const convolution *job = t->job;
    const int64_t channels = job->channels, filter = t->filter;
    ndrt_vector sums[TILE_PIXELS][VECTORS];
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const ndrt_lanes lanes = v + 1 < vectors ? ndrt_first_lanes(LANES) : t->lanes;
            const int64_t at = filter + v * LANES;
            if (!t->is_first) {
                sums[p][v] = ndrt_load_lanes(lanes, job->out + t->out[p] + at);
                continue;
            }
            sums[p][v] = job->bias ? ndrt_load_lanes(lanes, job->bias + at) : ndrt_zeros();
            if (job->added)
                sums[p][v] =
                    ndrt_add(sums[p][v], ndrt_load_lanes(lanes, job->added + t->out[p] + at));
        }
    int64_t nahead = t->nahead;
    const float *ahead = t->ahead;
    const met in = t->inside;
    const int64_t features = (in.x_end - in.x) * channels;
    for (int64_t y = in.y; y < in.y_end; y++) {
        const float *read[TILE_PIXELS];
        const int64_t behind = (y * job->width + in.x) * channels;
#pragma GCC unroll 12
        for (int p = 0; p < pixels; p++) read[p] = job->data + (t->data[p] + behind);
        const float *weights = t->weights + (y * job->window[1] + in.x) * channels * BLOCK;
        const int64_t asked = nahead < features ? nahead : features;
        int64_t k = 0;
        for (; k < asked; k++, weights += BLOCK, ahead += BLOCK) {
            __builtin_prefetch(ahead, 0, 2);
            add_feature(sums, read, k, weights, pixels, vectors);
        }
        nahead -= asked;
        for (; k < features; k++, weights += BLOCK)
            add_feature(sums, read, k, weights, pixels, vectors);
    }
    const ndrt_vector low = ndrt_all(job->low), high = ndrt_all(job->high);
#pragma GCC unroll 12
    for (int p = 0; p < pixels; p++) {
        float *out = job->out + t->out[p] + filter;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const ndrt_vector sum = t->is_last ? ndrt_bounded(sums[p][v], low, high) : sums[p][v];
            if (v + 1 < vectors)
                ndrt_store(out + v * LANES, sum);
            else
                ndrt_store_lanes(out + v * LANES, t->lanes, sum);
        }
    }
}

typedef void compute_tile(const tile *t);

#define TILE(pixels, vectors)                                                                      \
    static void tile_##pixels##_##vectors(const tile *t) { tile_of(t, pixels, vectors); }
#ifdef __AVX512F__
#define TILES(pixels) TILE(pixels, 1)
#define NAMES(pixels) {tile_##pixels##_1},
NDRT_1_TO_12(TILES)
static compute_tile *const tiles[TILE_PIXELS][VECTORS] = {NDRT_1_TO_12(NAMES)};
#else
#define TILES(pixels) TILE(pixels, 1) TILE(pixels, 2)
#define NAMES(pixels) {tile_##pixels##_1, tile_##pixels##_2},
NDRT_1_TO_6(TILES)
static compute_tile *const tiles[TILE_PIXELS][VECTORS] = {NDRT_1_TO_6(NAMES)};
#endif

/* ---- which pixels ---------------------------------------------------------------------------- */

/* Rows (numbered through all images), columns and filters. */
typedef struct {
    int64_t row, row_end, column, column_end, filter, filter_end;
} part;

/* Along one axis: the part of the window of output `place` that is not padding. */
static void meet(int64_t place, int64_t window, int64_t stride, int64_t pad, int64_t size,
                 int64_t *from, int64_t *to) {
    const int64_t first = place * stride - pad;
    *from = first < 0 ? -first : 0;
    *to = size - first < window ? size - first : window;
    if (*from >= *to) *from = *to = 0;
}

static met rows_met(const convolution *job, int64_t row) {
    met m = {0};
    meet(row % job->rows, job->window[0], job->stride[0], job->pad[0], job->height, &m.y, &m.y_end);
    return m;
}

static void list_pixel(const convolution *job, pixel_list *list, int64_t row, int64_t column) {
    const int64_t y = row % job->rows * job->stride[0] - job->pad[0];
    const int64_t x = column * job->stride[1] - job->pad[1];
    const int64_t line = row / job->rows * job->height + y;
    list->data[list->count] = (line * job->width + x) * job->channels;
    list->out[list->count++] = (row * job->columns + column) * job->filters;
}

/* Lists the pixels of a part, grouped by the padding of their windows; how many groups
 * of such there are. */
static int list_pixels(const convolution *job, const part *p, pixel_list *list, group *groups) {
    char listed[MOST_PIXELS] = {0};
    int ngroups = 0;
    for (int64_t row = p->row; row < p->row_end; row++) {
        if (listed[row - p->row]) continue;
        met inside = rows_met(job, row);
        for (int64_t column = p->column, end; column < p->column_end; column = end) {
            meet(column, job->window[1], job->stride[1], job->pad[1], job->width, &inside.x,
                 &inside.x_end);
            for (end = column + 1; end < p->column_end; end++) {
                met next;
                meet(end, job->window[1], job->stride[1], job->pad[1], job->width, &next.x,
                     &next.x_end);
                if (next.x != inside.x || next.x_end != inside.x_end) break;
            }
            group *g = &groups[ngroups++];
            *g = (group){.first = list->count, .inside = inside};
            if (inside.x == inside.x_end) g->inside.y_end = inside.y;
            for (int64_t r = row; r < p->row_end; r++) {
                const met other = rows_met(job, r);
                if (other.y != inside.y || other.y_end != inside.y_end) continue;
                listed[r - p->row] = 1;
                for (int64_t c = column; c < end; c++) list_pixel(job, list, r, c);
            }
            g->count = list->count - g->first;
        }
    }
    return ngroups;
}

/* ---- all tiles of a part --------------------------------------------------------------------- */

/* All pixels of a list by one block of filters, of which rows `y` up to `y_end` of the window.
 * Pixels of a group are shared out evenly to tiles. */
static void compute_block(tile *t, const pixel_list *list, const group *groups, int ngroups,
                          int64_t y, int64_t y_end, const float *ahead) {
    const convolution *job = t->job;
    const int64_t features = (y_end - y) * job->window[1] * job->channels;
    const int vectors = VECTORS > 1 && job->filters - t->filter <= LANES ? 1 : VECTORS;
    t->lanes = ndrt_first_lanes(job->filters - t->filter - (vectors - 1) * LANES);
    t->is_first = y == 0;
    t->is_last = y_end == job->window[0];
    for (int i = 0; i < ngroups; i++) {
        const group *g = &groups[i];
        const int ntiles = (g->count + TILE_PIXELS - 1) / TILE_PIXELS;
        t->inside = g->inside;
        if (t->inside.y < y) t->inside.y = y;
        if (t->inside.y_end > y_end) t->inside.y_end = y_end;
        int at = g->first;
        for (int j = 0; j < ntiles; j++) {
            const int count = g->count / ntiles + (j < g->count % ntiles);
            const int64_t from = features * at / list->count;
            t->data = list->data + at;
            t->out = list->out + at;
            at += count;
            t->ahead = ahead + from * BLOCK;
            t->nahead = ahead ? features * at / list->count - from : 0;
            tiles[count - 1][vectors - 1](t);
        }
    }
}

static void compute_pixels(const convolution *job, const part *p) {
    pixel_list list = {0};
    group groups[MOST_PIXELS];
    const int ngroups = list_pixels(job, p, &list, groups);
    const int64_t line = job->window[1] * job->channels * BLOCK, all = job->window[0] * line;
    const int64_t step = all > NUMBERS_OF_WEIGHTS ? 1 : job->window[0];
    for (int64_t f = p->filter; f < p->filter_end; f += BLOCK) {
        tile t = {.job = job, .filter = f, .weights = job->weights + f / BLOCK * all};
        for (int64_t y = 0; y < job->window[0]; y += step) {
            const int is_end = y + step == job->window[0] && f + BLOCK >= p->filter_end;
            const float *next = t.weights + (y + step) * line;
            compute_block(&t, &list, groups, ngroups, y, y + step, is_end ? NULL : next);
        }
    }
}

static void compute_part(const convolution *job, const part *p) {
    const int64_t columns = job->columns < MOST_PIXELS ? job->columns : MOST_PIXELS;
    const int64_t line = job->width * job->channels;
    int64_t rows = (NUMBERS_OF_IMAGES / line - job->window[0]) / job->stride[0] + 1;
    if (rows < 1) rows = 1;
    if (rows > MOST_PIXELS / columns) rows = MOST_PIXELS / columns;
    const int64_t nparts = (p->row_end - p->row + rows - 1) / rows;
    for (int64_t i = 0; i < nparts; i++)
        for (int64_t c = 0; c < job->columns; c += columns) {
            part some = *p;
            some.row = p->row + (p->row_end - p->row) * i / nparts;
            some.row_end = p->row + (p->row_end - p->row) * (i + 1) / nparts;
            some.column = c;
            some.column_end = c + columns < job->columns ? c + columns : job->columns;
            compute_pixels(job, &some);
        }
}

/* ---- the family ------------------------------------------------------------------------------ */

/* A thread with fewer pixels waits for the weights longer than it computes. */
static const int64_t LEAST_PIXELS = 24;

/* How many of the threads share the filters; the others share the rows, and each finds in its own
 * cache most of what the step before wrote. */
static int threads_of_filters(const convolution *job, int nthreads) {
    const int64_t blocks = (job->filters + BLOCK - 1) / BLOCK, rows = job->images * job->rows;
    int best = 1;
    int64_t least = INT64_MAX;
    for (int n = 1; n <= nthreads; n++) {
        if (nthreads % n) continue;
        const int64_t m = nthreads / n, own = (rows + m - 1) / m * job->columns;
        const int64_t cost = (blocks + n - 1) / n * (own < LEAST_PIXELS ? LEAST_PIXELS : own);
        if (cost < least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

static int64_t steps(int64_t size, int64_t window, int64_t stride, int64_t pad) {
    const int64_t room = size + 2 * pad - window;
    return room < 0 ? 0 : room / stride + 1;
}

/* The places that an axis has; more than `steps` would read behind the data. */
static int is_axis(int64_t size, int64_t window, int64_t stride, int64_t pad, int64_t places) {
    return ndrt_is_count(size, 1) && ndrt_is_count(window, 1) && ndrt_is_count(stride, 1) &&
           ndrt_is_count(pad, 0) && ndrt_is_count(places, 1) &&
           places <= steps(size, window, stride, pad);
}

static int64_t sums_of(const convolution *job) {
    return ndrt_product(ndrt_product(job->images, job->rows, job->columns), job->filters, 1);
}

static int64_t features_of(const convolution *job) {
    return ndrt_product(job->window[0], job->window[1], job->channels);
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const convolution job = ndrt_read_implicit_gemm(call);
    if (!ndrt_is_count(job.images, 1) || !ndrt_is_count(job.channels, 1) ||
        !ndrt_is_count(job.filters, 1) ||
        !is_axis(job.height, job.window[0], job.stride[0], job.pad[0], job.rows) ||
        !is_axis(job.width, job.window[1], job.stride[1], job.pad[1], job.columns))
        return ndrt_fail(NDRT_INVALID, "implicit GEMM: a number is out of range");
    const int64_t data =
        ndrt_product(ndrt_product(job.images, job.height, job.width), job.channels, sizeof(float));
    const int64_t weights =
        ndrt_product(features_of(&job), job.filters + BLOCK, (int64_t)sizeof(float));
    if (data < 0 || weights < 0 || ndrt_product(sums_of(&job), sizeof(float), 1) < 0)
        return ndrt_fail(NDRT_INVALID, "implicit GEMM: more elements than can be");
    return ndrt_need_arrays(call, 3);
}

static int threads(const ndrt_kernel_call *call) {
    const convolution job = ndrt_read_implicit_gemm(call);
    const int64_t work = ndrt_product(sums_of(&job), features_of(&job), 1);
    return ndrt_team_for(call, ndrt_product_work(work, 0));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const convolution job = ndrt_read_implicit_gemm(call);
    const int64_t blocks = (job.filters + BLOCK - 1) / BLOCK, rows = job.images * job.rows;
    const int across = threads_of_filters(&job, nthreads), along = nthreads / across;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        const int64_t c = i % across, r = i / across;
        part p = {.row = rows * r / along,
                  .row_end = rows * (r + 1) / along,
                  .filter = blocks * c / across * BLOCK,
                  .filter_end = blocks * (c + 1) / across * BLOCK};
        if (p.filter_end > job.filters) p.filter_end = job.filters;
        compute_part(&job, &p);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_implicit_gemm = {"implicit GEMM", check, threads, execute};
