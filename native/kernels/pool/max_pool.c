/* Max pooling of images whose channels, or blocks of them, lie side by side.
 *
 * A maximum of a number and NaN is the number here, and begins below all numbers, so that
 * -infinity, NaN and the lowest number are told apart. Windows of the usual sizes are taken four at
 * a time: each of their columns is looked through once. */
#include <math.h>

#include "kernels/ndrt_vector.h"
#include "ndrt_maxima.h"

enum { VECTORS = 4, COLUMNS = 4, WIDEST = 3, MOST_STRIDE = 2 };

typedef struct {
    const ndrt_maxima *of;
    int rows;
    const float *row[NDRT_MAX_POOL_ROWS]; /* of the data, that windows of this line meet */
    float *out;
} line;

#ifdef __AVX512F__
#define NOTHING NAN

/* The greater one, of NaN and a number the number. */
INLINED ndrt_vector greater(ndrt_vector best, ndrt_vector x) { return _mm512_range_ps(best, x, 5); }

INLINED ndrt_vector first_of(ndrt_vector x) { return x; }
#else
#define NOTHING (-INFINITY)

/* The greater one; of NaN and the best so far, which is never NaN, that. */
INLINED ndrt_vector greater(ndrt_vector best, ndrt_vector x) { return _mm256_max_ps(x, best); }

INLINED ndrt_vector first_of(ndrt_vector x) { return greater(ndrt_all(NOTHING), x); }

/* Does lanes of the result again that may be -infinity for want of anything but NaN. */
static __attribute__((noinline)) void renew(const ndrt_maxima *of, float *to, int which) {
    for (int lane = 0; which >> lane; lane++) {
        if (!(which >> lane & 1)) continue;
        int64_t place;
        const float best = ndrt_maximum(of, to + lane - of->out, &place);
        const float above = best < of->low ? of->low : best;
        to[lane] = above > of->high ? of->high : above;
    }
}
#endif

INLINED void put(const ndrt_maxima *of, float *to, ndrt_lanes lanes, ndrt_vector x) {
#ifndef __AVX512F__
    const int lost = _mm256_movemask_ps(_mm256_cmp_ps(x, ndrt_all(NOTHING), _CMP_EQ_OQ));
#endif
    if (of->is_bounded) x = ndrt_bounded(x, ndrt_all(of->low), ndrt_all(of->high));
    ndrt_store_lanes(to, lanes, x);
#ifndef __AVX512F__
    if (lost) renew(of, to, lost);
#endif
}

/* COLUMNS windows from `column` on, whose columns are all data. The last two are constants where
 * this is inlined. */
INLINED void tile_of(const line *l, int64_t column, int width, int stride) {
    enum { MOST_READ = (COLUMNS - 1) * MOST_STRIDE + WIDEST };
    const ndrt_maxima *of = l->of;
    const int64_t lanes = of->lanes, from = (column * stride - of->pad[2]) * lanes;
    const int read = (COLUMNS - 1) * stride + width;
    for (int64_t lane = 0; lane < lanes; lane += LANES) {
        const ndrt_lanes here = ndrt_first_lanes(lanes - lane);
        ndrt_vector best[MOST_READ];
        const float *x = l->row[0] + from + lane;
        if (lanes - lane >= LANES) {
#pragma GCC unroll 9
            for (int c = 0; c < read; c++) best[c] = first_of(ndrt_load(x + c * lanes));
            for (int r = 1; r < l->rows; r++) {
                x = l->row[r] + from + lane;
#pragma GCC unroll 9
                for (int c = 0; c < read; c++) best[c] = greater(best[c], ndrt_load(x + c * lanes));
            }
        } else {
#pragma GCC unroll 9
            for (int c = 0; c < read; c++) best[c] = first_of(ndrt_load_lanes(here, x + c * lanes));
            for (int r = 1; r < l->rows; r++) {
                x = l->row[r] + from + lane;
#pragma GCC unroll 9
                for (int c = 0; c < read; c++)
                    best[c] = greater(best[c], ndrt_load_lanes(here, x + c * lanes));
            }
        }
#pragma GCC unroll 4
        for (int c = 0; c < COLUMNS; c++) {
            ndrt_vector made = best[c * stride];
#pragma GCC unroll 3
            for (int k = 1; k < width; k++) made = greater(made, best[c * stride + k]);
            put(of, l->out + (column + c) * lanes + lane, here, made);
        }
    }
}

typedef void pool_columns(const line *l, int64_t column);
static void tile_2_1(const line *l, int64_t column) { tile_of(l, column, 2, 1); }
static void tile_3_1(const line *l, int64_t column) { tile_of(l, column, 3, 1); }
static void tile_2_2(const line *l, int64_t column) { tile_of(l, column, 2, 2); }
static void tile_3_2(const line *l, int64_t column) { tile_of(l, column, 3, 2); }
static pool_columns *const tiles[MOST_STRIDE][WIDEST - 1] = {{tile_2_1, tile_3_1},
                                                             {tile_2_2, tile_3_2}};

/* One window of any size: `vectors` of the lanes from `lane` on, of the last one those of `last`.
 */
INLINED void window_of(const line *l, ndrt_span span, int64_t column, int64_t lane, int vectors,
                       ndrt_lanes last) {
    const int64_t lanes = l->of->lanes;
    ndrt_vector best[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) best[v] = ndrt_all(NOTHING);
    for (int r = 0; r < l->rows; r++) {
        const float *x = l->row[r] + (span.first + span.from) * lanes + lane;
        for (int64_t c = span.from; c < span.to; c++, x += lanes)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; v++)
                best[v] = greater(best[v], v + 1 < vectors ? ndrt_load(x + v * LANES)
                                                           : ndrt_load_lanes(last, x + v * LANES));
    }
    float *out = l->out + column * lanes + lane;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        put(l->of, out + v * LANES, v + 1 < vectors ? ndrt_first_lanes(LANES) : last, best[v]);
}

static void pool_window(const line *l, int64_t column) {
    const int64_t lanes = l->of->lanes, step = VECTORS * LANES;
    const ndrt_span span = ndrt_span_of(l->of, 2, column);
    for (int64_t lane = 0; lane < lanes; lane += step) {
        const int64_t left = lanes - lane < step ? lanes - lane : step;
        const int vectors = (int)((left + LANES - 1) / LANES);
        const ndrt_lanes last = ndrt_first_lanes(left - (vectors - 1) * LANES);
        switch (vectors) {
        case 1: window_of(l, span, column, lane, 1, last); break;
        case 2: window_of(l, span, column, lane, 2, last); break;
        case 3: window_of(l, span, column, lane, 3, last); break;
        default: window_of(l, span, column, lane, 4, last);
        }
    }
}

static void pool_line(const line *l) {
    const ndrt_maxima *of = l->of;
    const int64_t width = of->kernel[2], stride = of->stride[2], count = of->count[2];
    /* a last tile that begins among windows that are done already is less work than these alone */
    const int overlaps = count >= COLUMNS && (width > stride || of->lanes < VECTORS * LANES);
    const int is_usual = width >= 2 && width <= WIDEST && stride <= MOST_STRIDE;
    for (int64_t column = 0; column < count;) {
        const int64_t begin = column + COLUMNS > count && overlaps ? count - COLUMNS : column;
        const int64_t first = begin * stride - of->pad[2];
        if (is_usual && begin + COLUMNS <= count && first >= 0 &&
            first + (COLUMNS - 1) * stride + width <= of->side[2]) {
            tiles[stride - 1][width - 2](l, begin);
            column = begin + COLUMNS;
        } else {
            pool_window(l, column++);
        }
    }
}

/* Lines of the result, counted through. */
static void pool_lines(const ndrt_maxima *job, int64_t from, int64_t to) {
    const int64_t *side = job->side, *count = job->count, line_size = side[2] * job->lanes;
    int64_t y = from % count[1], z = from / count[1] % count[0], outer = from / count[1] / count[0];
    line l = {.of = job};
    for (int64_t i = from; i < to; i++) {
        const ndrt_span above = ndrt_span_of(job, 0, z), within = ndrt_span_of(job, 1, y);
        l.rows = 0;
        l.out = job->out + i * count[2] * job->lanes;
        for (int64_t a = above.from; a < above.to; a++)
            for (int64_t b = within.from; b < within.to; b++)
                l.row[l.rows++] =
                    job->data +
                    ((outer * side[0] + above.first + a) * side[1] + within.first + b) * line_size;
        if (l.rows) pool_line(&l);
        if (++y < count[1]) continue;
        y = 0;
        if (++z < count[0]) continue;
        z = 0;
        outer++;
    }
}

void ndrt_max_pool(const ndrt_maxima *job, int nthreads) {
    const int64_t n = job->outer * job->count[0] * job->count[1];
    if (nthreads == 1) {
        pool_lines(job, 0, n);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) pool_lines(job, n * i / nthreads, n * (i + 1) / nthreads);
}
