/* Convolutions of images of a few channels, such as the first layer of a network; the data is plain
 * (nchw), the result channels-last.
 *
 * A tile is some pixels of a row by two vectors of filters, with its sums in registers; each
 * element of the data is broadcast once for both vectors. */
#include <omp.h>

#include "kernels/ndrt_vector.h"
#include "ndrt_direct_conv.h"

enum {
#ifdef __AVX512F__
    PIXELS = 14,
#else
    PIXELS = 6,
#endif
    PACKED = NDRT_PACKED_CHANNELS,
    MOST_VECTORS = 2,
    MOST_STRIDE = 4,
    MOST_LINES = NDRT_FEW_CHANNELS_MOST * NDRT_FEW_CHANNELS_WINDOW,
    MOST_TAPS = MOST_LINES * NDRT_FEW_CHANNELS_WINDOW,
    MOST_LENGTH = ((PIXELS - 1) * MOST_STRIDE + NDRT_FEW_CHANNELS_WINDOW + LANES - 1) / LANES *
        LANES
};

/* For each weight of a filter, the offset of its pixel from the first one of the window: in the
 * data, and in the copy of what a tile reads. */
typedef struct {
    int64_t in_data[MOST_TAPS], in_copy[MOST_TAPS];
    int count;
} taps;

/* What one tile reads, and where it goes. */
typedef struct {
    const float *first;
    const int64_t *taps;
    int ntaps;
    float *out;
    int pixels;
} tile;

/* The last two are constants where this is inlined. */
INLINED void tile_of(const ndrt_direct_conv *job, const tile *t, int64_t filter, int vectors,
                     int stride) {
    /* offset of the second vector's weights from the first's */
    const int64_t second = (int)PACKED > LANES ? LANES : (int64_t)t->ntaps * LANES;
    const float *w = job->weights + filter * t->ntaps;
    const ndrt_vector low = ndrt_all(job->low), high = ndrt_all(job->high);
    ndrt_vector sums[PIXELS][MOST_VECTORS];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const ndrt_vector bias =
            job->bias ? ndrt_load(job->bias + filter + v * LANES) : ndrt_zeros();
#pragma GCC unroll 14
        for (int p = 0; p < PIXELS; p++) sums[p][v] = bias;
    }
    for (int k = 0; k < t->ntaps; k++, w += PACKED) {
        const float *read = t->first + t->taps[k];
        ndrt_vector line[MOST_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) line[v] = ndrt_load(w + v * second);
#pragma GCC unroll 14
        for (int p = 0; p < PIXELS; p++) {
            const ndrt_vector pixel = ndrt_all(read[p * stride]);
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++)
                sums[p][v] = ndrt_multiply_add(pixel, line[v], sums[p][v]);
        }
    }
#pragma GCC unroll 14
    for (int p = 0; p < PIXELS; p++) {
        if (p >= t->pixels) break;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            ndrt_store(t->out + p * job->filters + filter + v * LANES,
                       ndrt_bounded(sums[p][v], low, high));
    }
}

typedef void compute_tile(const ndrt_direct_conv *job, const tile *t, int64_t filter);

#define TILE(vectors, stride)                                                                      \
    static void tile_##vectors##_##stride(const ndrt_direct_conv *job, const tile *t,              \
                                          int64_t filter) {                                        \
        tile_of(job, t, filter, vectors, stride);                                                  \
    }
TILE(1, 1)
TILE(2, 1)
TILE(1, 2)
TILE(2, 2)
TILE(1, 4)
TILE(2, 4)

static compute_tile *tile_for(int vectors, int stride) {
    static compute_tile *const tiles[][MOST_VECTORS] = {
        {tile_1_1, tile_2_1}, {tile_1_2, tile_2_2}, {tile_1_4, tile_2_4}};
    return tiles[stride / 2][vectors - 1];
}

/* All filters of up to PIXELS pixels of a row. */
static void compute_filters(const ndrt_direct_conv *job, const tile *t) {
    for (int64_t filter = 0; filter < job->filters; filter += MOST_VECTORS * LANES) {
        int vectors = filter + LANES < job->filters ? MOST_VECTORS : 1;
        tile_for(vectors, job->stride)(job, t, filter);
    }
}

/* Lanes [from, to) of p, 0 in the others, whose memory is not touched. */
INLINED ndrt_vector load_between(const float *p, int64_t from, int64_t to) {
#ifdef __AVX512F__
    return _mm512_maskz_loadu_ps(ndrt_first_lanes(to) & ~ndrt_first_lanes(from), p);
#else
    const __m256i behind = ndrt_mask_of(ndrt_first_lanes(from));
    return _mm256_maskload_ps(p, _mm256_andnot_si256(behind, ndrt_mask_of(ndrt_first_lanes(to))));
#endif
}

/* Copies what a tile reads, from column `first` and row `top` on, with zeros as padding. */
static void copy_read(const ndrt_direct_conv *job, int64_t image, int64_t top, int64_t first,
                      float copies[][MOST_LENGTH]) {
    const int64_t length = (PIXELS - 1) * job->stride + job->window;
    for (int i = 0; i < job->window * job->channels; i++) {
        const int64_t y = top + i / job->channels;
        const int64_t plane = image * job->channels + i % job->channels;
        const float *line = job->data + (plane * job->height + y) * job->width + first;
        for (int64_t k = 0; k < length; k += LANES) {
            const int64_t end = y >= 0 && y < job->height ? job->width - first - k : 0;
            ndrt_store(copies[i] + k, load_between(line + k, -first - k, end));
        }
    }
}

/* Prefetches what is in no cache yet: the rows of data that the next row of the result reads beside
 * this one's, and the result itself. */
static void fetch(const ndrt_direct_conv *job, int64_t image, int64_t top, const tile *t,
                  int64_t first) {
    const int64_t below = top + job->window;
    const int64_t from = first < 0 ? 0 : first, length = PIXELS * job->stride;
    for (int64_t y = below; y < below + job->stride && y < job->height; y++)
        for (int64_t c = 0; c < job->channels; c++) {
            int64_t line = (image * job->channels + c) * job->height + y;
            for (int64_t x = from; x < from + length; x += PACKED)
                __builtin_prefetch(job->data + line * job->width + x);
        }
    const float *next = t->out + PIXELS * job->filters;
    for (int64_t k = 0; k < PIXELS * job->filters; k += PACKED) __builtin_prefetch(next + k, 1);
}

static void compute_row(const ndrt_direct_conv *job, const taps *places, int64_t image,
                        int64_t row) {
    const int64_t top = row * job->stride - job->pad_y;
    const int inside = top >= 0 && top + job->window <= job->height;
    float copies[MOST_LINES][MOST_LENGTH];
    for (int64_t column = 0; column < job->columns; column += PIXELS) {
        /* the last tile overlaps the one before, and writes the same there again */
        int64_t left = job->columns - column;
        if (left < PIXELS && column) column -= PIXELS - left;
        int64_t first = column * job->stride - job->pad_x;
        int64_t end = first + (PIXELS - 1) * job->stride + job->window;
        tile t = {
            .ntaps = places->count,
            .out = job->out + ((image * job->rows + row) * job->columns + column) * job->filters,
            .pixels = job->columns < PIXELS ? (int)job->columns : PIXELS,
        };
        if (inside && first >= 0 && end <= job->width) {
            int64_t line = image * job->channels * job->height + top;
            t.first = job->data + line * job->width + first;
            t.taps = places->in_data;
        } else {
            copy_read(job, image, top, first, copies);
            t.first = copies[0];
            t.taps = places->in_copy;
        }
        fetch(job, image, top, &t, first);
        compute_filters(job, &t);
    }
}

static taps taps_of(const ndrt_direct_conv *job) {
    const int channels = (int)job->channels;
    taps made = {.count = 0};
    for (int y = 0; y < job->window; y++)
        for (int x = 0; x < job->window; x++)
            for (int c = 0; c < channels; c++, made.count++) {
                made.in_data[made.count] = (c * job->height + y) * job->width + x;
                made.in_copy[made.count] = (int64_t)(y * channels + c) * MOST_LENGTH + x;
            }
    return made;
}

void ndrt_few_channels(const ndrt_direct_conv *job, int nthreads) {
    const taps places = taps_of(job);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < job->images * job->rows; k++)
        compute_row(job, &places, k / job->rows, k % job->rows);
}
