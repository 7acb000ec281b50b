/* Depthwise convolutions (one filter for each channel) of channels-last images.
 *
 * A tile of the result is a few rows by a few columns, as many as registers allow beside the nine
 * vectors of a filter: a vector of data is loaded once for all sums that it takes part in. The sums
 * of a pixel have the same order in every tile. */
#include <omp.h>

#include "kernels/ndrt_vector.h"
#include "ndrt_direct_conv.h"

enum {
    WINDOW = NDRT_DEPTHWISE_WINDOW,
#ifdef __AVX512F__
    TILE_ROWS = 4,
    TILE_COLUMNS = 4,
#else
    TILE_ROWS = 2,
    TILE_COLUMNS = 3,
#endif
    PACKED = NDRT_PACKED_CHANNELS,
    MOST_STRIDE = 2,
    LEAST_ROWS = 3,
    MOST_ROWS_READ = (TILE_ROWS - 1) * MOST_STRIDE + WINDOW
};

/* Images up to WIDTH_OF_PARTS wide are processed CHANNELS_OF_PART channels at a time, so that the
 * rows that the next tiles read again stay in the L1 cache (measured; wider images, and all with
 * AVX2, are faster with all channels at once). */
#ifdef __AVX512F__
static const int64_t WIDTH_OF_PARTS = 28, CHANNELS_OF_PART = 128;
#else
static const int64_t WIDTH_OF_PARTS = 0, CHANNELS_OF_PART = 128;
#endif

/* A thread that computes some of the channels reads what all others wrote: worth this much
 * imbalance (where cores share no cache, up to 2.7 times as long, with images of 7x7 to 28x28). */
static const double COST_OF_SHARING = 1.25;

typedef struct {
    const ndrt_direct_conv *of;
    const float *read[MOST_ROWS_READ]; /* rows of data; NULL: padding */
    float *out[TILE_ROWS];
    int64_t from, to; /* channels */
} band;

/* The offset of the weights of the vector of channels that begins at `channel`. */
INLINED int64_t place_of(int64_t channel) {
    const int64_t behind = (int)PACKED == LANES ? 0 : channel % PACKED;
    return (channel - behind) * WINDOW * WINDOW + behind;
}

/* The last four are constants where this is inlined; `inside`: no pixel read is padding. */
INLINED void tile_of(const band *b, int64_t column, int rows, int columns, int stride, int inside) {
    const ndrt_direct_conv *of = b->of;
    const int64_t channels = of->channels, first = column * stride - of->pad_x;
    const int rows_read = (rows - 1) * stride + WINDOW;
    const int columns_read = (columns - 1) * stride + WINDOW;
    const ndrt_vector low = ndrt_all(of->low), high = ndrt_all(of->high);
    for (int64_t at = b->from; at < b->to; at += LANES) {
        const float *filter = of->weights + place_of(at);
        ndrt_vector w[WINDOW][WINDOW], sums[TILE_ROWS][TILE_COLUMNS];
#pragma GCC unroll 9
        for (int k = 0; k < WINDOW * WINDOW; k++)
            w[k / WINDOW][k % WINDOW] = ndrt_load(filter + k * PACKED);
        const ndrt_vector bias = of->bias ? ndrt_load(of->bias + at) : ndrt_zeros();
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int c = 0; c < columns; c++) sums[r][c] = bias;
#pragma GCC unroll 9
        for (int i = 0; i < rows_read; i++) {
            if (!inside && !b->read[i]) continue;
            const float *row = b->read[i] + first * channels + at;
#pragma GCC unroll 9
            for (int j = 0; j < columns_read; j++) {
                if (!inside && (first + j < 0 || first + j >= of->width)) continue;
                const ndrt_vector x = ndrt_load(row + j * channels);
#pragma GCC unroll 4
                for (int r = 0; r < rows; r++) {
                    const int y = i - r * stride;
                    if (y < 0 || y >= WINDOW) continue;
#pragma GCC unroll 4
                    for (int c = 0; c < columns; c++) {
                        const int k = j - c * stride;
                        if (k >= 0 && k < WINDOW)
                            sums[r][c] = ndrt_multiply_add(x, w[y][k], sums[r][c]);
                    }
                }
            }
        }
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 4
            for (int c = 0; c < columns; c++)
                ndrt_store(b->out[r] + (column + c) * channels + at,
                           ndrt_bounded(sums[r][c], low, high));
    }
}

typedef void compute_tile(const band *b, int64_t column);

#define TILE(rows, columns, stride)                                                                \
    static void tile_##rows##_##columns##_##stride(const band *b, int64_t column) {                \
        tile_of(b, column, rows, columns, stride, 0);                                              \
    }
#ifdef __AVX512F__
#define TILES(rows, stride)                                                                        \
    TILE(rows, 1, stride)                                                                          \
    TILE(rows, 2, stride)                                                                          \
    TILE(rows, 3, stride)                                                                          \
    TILE(rows, 4, stride)                                                                          \
    static compute_tile *const tiles_##rows##_##stride[TILE_COLUMNS] = {                           \
        tile_##rows##_1_##stride, tile_##rows##_2_##stride, tile_##rows##_3_##stride,              \
        tile_##rows##_4_##stride};
#define ALL_TILES(stride)                                                                          \
    TILES(1, stride)                                                                               \
    TILES(2, stride)                                                                               \
    TILES(3, stride)                                                                               \
    TILES(4, stride)
#define NAMES(stride) {tiles_1_##stride, tiles_2_##stride, tiles_3_##stride, tiles_4_##stride}
#else
#define TILES(rows, stride)                                                                        \
    TILE(rows, 1, stride)                                                                          \
    TILE(rows, 2, stride)                                                                          \
    TILE(rows, 3, stride)                                                                          \
    static compute_tile *const tiles_##rows##_##stride[TILE_COLUMNS] = {                           \
        tile_##rows##_1_##stride, tile_##rows##_2_##stride, tile_##rows##_3_##stride};
#define ALL_TILES(stride)                                                                          \
    TILES(1, stride)                                                                               \
    TILES(2, stride)
#define NAMES(stride) {tiles_1_##stride, tiles_2_##stride}
#endif
ALL_TILES(1)
ALL_TILES(2)
static compute_tile *const *const tiles[MOST_STRIDE][TILE_ROWS] = {NAMES(1), NAMES(2)};
static void whole_1(const band *b, int64_t column) {
    tile_of(b, column, TILE_ROWS, TILE_COLUMNS, 1, 1);
}
static void whole_2(const band *b, int64_t column) {
    tile_of(b, column, TILE_ROWS, TILE_COLUMNS, 2, 1);
}
static compute_tile *const whole_tiles[MOST_STRIDE] = {whole_1, whole_2};

/* All columns. */
static void compute_tiles(const band *b, int rows) {
    const ndrt_direct_conv *job = b->of;
    int inside = 1;
    for (int i = 0; i < (rows - 1) * job->stride + WINDOW; i++) inside = inside && b->read[i];
    for (int64_t column = 0; column < job->columns; column += TILE_COLUMNS) {
        int64_t left = job->columns - column, first = column * job->stride - job->pad_x;
        int columns = left < TILE_COLUMNS ? (int)left : TILE_COLUMNS;
        int64_t end = first + (TILE_COLUMNS - 1) * job->stride + WINDOW;
        if (inside && rows == TILE_ROWS && columns == TILE_COLUMNS && first >= 0 &&
            end <= job->width)
            whole_tiles[job->stride - 1](b, column);
        else
            tiles[job->stride - 1][rows - 1][columns - 1](b, column);
    }
}

/* Up to TILE_ROWS rows of an image. */
static void compute_band(const ndrt_direct_conv *job, int64_t image, int64_t row, int rows,
                         int64_t from, int64_t to) {
    band b = {.of = job, .from = from, .to = to};
    for (int i = 0; i < (rows - 1) * job->stride + WINDOW; i++) {
        int64_t y = row * job->stride - job->pad_y + i;
        if (y >= 0 && y < job->height)
            b.read[i] = job->data + (image * job->height + y) * job->width * job->channels;
    }
    for (int r = 0; r < rows; r++)
        b.out[r] = job->out + (image * job->rows + row + r) * job->columns * job->channels;
    compute_tiles(&b, rows);
}

void ndrt_depthwise_rows(const ndrt_direct_conv *job, const float *const *read, float *const *out,
                         int rows) {
    for (int row = 0; row < rows; row += TILE_ROWS) {
        const int nrows = rows - row < TILE_ROWS ? rows - row : TILE_ROWS;
        band b = {.of = job, .to = job->channels};
        for (int i = 0; i < (nrows - 1) * job->stride + WINDOW; i++)
            b.read[i] = read[row * job->stride + i];
        for (int r = 0; r < nrows; r++) b.out[r] = out[row + r];
        compute_tiles(&b, nrows);
    }
}

/* Rows (numbered through all images) and channels. */
typedef struct {
    int64_t row, row_end, from, to;
} part;

static void compute_part(const ndrt_direct_conv *job, const part *p) {
    const int64_t step = job->width > WIDTH_OF_PARTS ? p->to - p->from : CHANNELS_OF_PART;
    for (int64_t row = p->row, end; row < p->row_end; row = end) {
        const int64_t image = row / job->rows;
        end = (image + 1) * job->rows < p->row_end ? (image + 1) * job->rows : p->row_end;
        for (int64_t from = p->from; from < p->to; from += step) {
            const int64_t to = from + step < p->to ? from + step : p->to;
            for (int64_t r = row; r < end; r += TILE_ROWS) {
                const int nrows = r + TILE_ROWS < end ? TILE_ROWS : (int)(end - r);
                compute_band(job, image, r - image * job->rows, nrows, from, to);
            }
        }
    }
}

/* Into how many parts the channels are divided; threads / parts divide the rows, so that each finds
 * most of what the previous step wrote in its own cache. Part of a tile costs as much as all. */
static int threads_of_channels(const ndrt_direct_conv *job, int nthreads) {
    const int64_t blocks = job->channels / PACKED, rows = job->images * job->rows;
    int best = 1;
    double least = 0;
    for (int n = 1; n <= nthreads; n++) {
        if (nthreads % n) continue;
        const int64_t m = nthreads / n, own = (rows + m - 1) / m;
        double cost = (double)((blocks + n - 1) / n * (own < LEAST_ROWS ? LEAST_ROWS : own));
        if (n > 1) cost *= COST_OF_SHARING;
        if (n == 1 || cost < least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

void ndrt_depthwise(const ndrt_direct_conv *job, int nthreads) {
    const int64_t blocks = job->channels / PACKED, rows = job->images * job->rows;
    const int across = threads_of_channels(job, nthreads), along = nthreads / across;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        const int64_t c = i % across, r = i / across;
        const part p = {.row = rows * r / along,
                        .row_end = rows * (r + 1) / along,
                        .from = blocks * c / across * PACKED,
                        .to = blocks * (c + 1) / across * PACKED};
        compute_part(job, &p);
    }
}
