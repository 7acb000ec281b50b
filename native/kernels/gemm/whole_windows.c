/* Convolutions and products of 8-bit numbers, in int32: exact, and beyond int32 come round. A bias
 * is added up to the ends of int32.
 *
 * Rows of data, one for each window, are widened to 16 bits in scratch; two numbers of a row and
 * two of a filter are multiplied and added up at once (vpmaddwd), which can not saturate. A tile is
 * 6 rows by two vectors of filters: 12 sums in registers. */
#include <immintrin.h>
#include <limits.h>
#include <omp.h>
#include <string.h>

#include "ndrt_args.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_whole_windows_args windows;

#define INLINED static inline __attribute__((always_inline))

enum {
    BLOCK = NDRT_WHOLE_BLOCK,
    TILE_ROWS = 6,
    PANEL_ROWS = NDRT_WHOLE_PANEL, /* they stay in cache while all filters go over them */
    VECTORS = 2
};

/* A vector of sums; of a block of filters there are 2 of them, or there is one. */
#ifdef __AVX512BW__
typedef __m512i sums;
enum { LANES = 16 };
INLINED sums no_sums(void) { return _mm512_setzero_si512(); }
INLINED sums weights_of(const int8_t *w) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)w));
}
INLINED sums plus_products(sums s, sums x, sums w) {
    return _mm512_add_epi32(s, _mm512_madd_epi16(x, w));
}
INLINED void store(int32_t *out, sums s) { _mm512_storeu_si512(out, s); }
#else
typedef __m256i sums;
enum { LANES = 8 };
INLINED sums no_sums(void) { return _mm256_setzero_si256(); }
INLINED sums weights_of(const int8_t *w) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w));
}
INLINED sums plus_products(sums s, sums x, sums w) {
    return _mm256_add_epi32(s, _mm256_madd_epi16(x, w));
}
INLINED void store(int32_t *out, sums s) { _mm256_storeu_si256((__m256i *)out, s); }
#endif

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

/* `rows` and `vectors` are constants where this is inlined. */
INLINED void sum_rows(const tile *t, const int rows, const int vectors) {
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
            for (int v = 0; v < vectors; v++) made[r][v] = plus_products(made[r][v], x, w[v]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) store(t->out + (r * VECTORS + v) * LANES, made[r][v]);
}

INLINED void sum_tile(const tile *t, int rows, const int vectors) {
    switch (rows) {
    case 1: sum_rows(t, 1, vectors); return;
    case 2: sum_rows(t, 2, vectors); return;
    case 3: sum_rows(t, 3, vectors); return;
    case 4: sum_rows(t, 4, vectors); return;
    case 5: sum_rows(t, 5, vectors); return;
    default: sum_rows(t, TILE_ROWS, vectors);
    }
}

/* ---- rows of data --------------------------------------------------------------------------- */

/* Channels of a row come in pairs: behind an odd number of them is a 0. */
static int64_t pairs(int64_t channels) { return (channels + 1) / 2 * 2; }

static int64_t depth_of(const windows *job) {
    return job->window[0] * job->window[1] * pairs(job->channels);
}

static void widen(int16_t *out, const void *data, int64_t from, int64_t n, int is_signed) {
    if (is_signed) {
        const int8_t *in = (const int8_t *)data + from;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = in[i];
    } else {
        const uint8_t *in = (const uint8_t *)data + from;
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = in[i];
    }
}

/* What the window of output `place` meets; what lies in the padding is 0. */
static void gather_row(const windows *job, int64_t place, int16_t *row) {
    const int64_t column = place % job->columns, line = place / job->columns % job->rows;
    const int64_t image = place / job->columns / job->rows, each = pairs(job->channels);
    for (int64_t j = 0; j < job->window[0]; j++) {
        const int64_t y = line * job->stride[0] - job->pad[0] + j * job->dilate[0];
        for (int64_t i = 0; i < job->window[1]; i++, row += each) {
            const int64_t x = column * job->stride[1] - job->pad[1] + i * job->dilate[1];
            if (y < 0 || y >= job->height || x < 0 || x >= job->width) {
                memset(row, 0, (size_t)each * sizeof *row);
                continue;
            }
            row[each - 1] = 0;
            widen(row, job->data, ((image * job->height + y) * job->width + x) * job->channels,
                  job->channels, job->is_signed);
        }
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* The sum, or the end of int32 that it is beyond. Written for vectors of int32. */
INLINED int32_t bounded_sum(int32_t a, int32_t b) {
    const int32_t sum = (int32_t)((uint32_t)a + (uint32_t)b);
    const int32_t end = (int32_t)((uint32_t)INT32_MAX + ((uint32_t)a >> 31));
    return ((a ^ sum) & (b ^ sum)) < 0 ? end : sum;
}

/* Filters `first` up to `first + count` of rows whose sums are in a tile. */
static void write_tile(const windows *job, const int32_t *made, int64_t place, int rows,
                       int64_t first, int64_t count) {
    for (int r = 0; r < rows; r++) {
        int32_t *out = job->out + (place + r) * job->filters + first;
        const int32_t *in = made + r * VECTORS * LANES;
        if (job->bias) {
            for (int64_t f = 0; f < count; f++) out[f] = bounded_sum(in[f], job->bias[first + f]);
        } else {
            memcpy(out, in, (size_t)count * sizeof *out);
        }
    }
}

static void compute_panel(const windows *job, int64_t place, int64_t rows, int16_t *scratch) {
    const int64_t depth = depth_of(job), step = VECTORS * LANES;
    int32_t made[TILE_ROWS * VECTORS * LANES];
    for (int64_t r = 0; r < rows; r++) gather_row(job, place + r, scratch + r * depth);
    for (int64_t first = 0; first < job->filters; first += step) {
        const int64_t left = job->filters - first, count = left < step ? left : step;
        tile t = {.out = made,
                  .weights = (const int8_t *)job->weights + first * depth,
                  .second = (int)LANES == BLOCK ? depth * BLOCK : 2 * LANES,
                  .depth = depth};
        for (int64_t r = 0; r < rows; r += TILE_ROWS) {
            const int some = rows - r < TILE_ROWS ? (int)(rows - r) : TILE_ROWS;
            t.data = scratch + r * depth;
            if (count > LANES)
                sum_tile(&t, some, 2);
            else
                sum_tile(&t, some, 1);
            write_tile(job, made, place + r, some, first, count);
        }
    }
}

static int64_t places_of(const windows *job) {
    return ndrt_product(job->images, job->rows, job->columns);
}

/* ---- the family ----------------------------------------------------------------------------- */

static int is_count(int64_t n, int64_t least) { return n >= least && n < INT_MAX; }

static int is_pair_of_counts(const int64_t *n, int64_t least) {
    return is_count(n[0], least) && is_count(n[1], least);
}

static ndrt_status check(kernel_call *call) {
    const windows job = ndrt_read_whole_windows(call);
    if (call->nthreads < 0 || !is_count(job.images, 0) || !is_count(job.channels, 1) ||
        !is_count(job.height, 1) || !is_count(job.width, 1) || !is_count(job.filters, 1) ||
        !is_pair_of_counts(job.window, 1) || !is_pair_of_counts(job.stride, 1) ||
        !is_pair_of_counts(job.dilate, 1) || !is_pair_of_counts(job.pad, 0) ||
        !is_count(job.rows, 1) || !is_count(job.columns, 1) || job.slots < 1)
        return ndrt_fail(NDRT_INVALID, "whole windows: a number is out of range");
    const int64_t area = ndrt_product(job.window[0], job.window[1], pairs(job.channels));
    if (area < 0 || ndrt_product(area, PANEL_ROWS, job.slots) < 0 ||
        ndrt_product(area, job.filters + BLOCK, 1) < 0 || places_of(&job) < 0 ||
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
    const int64_t places = places_of(&job), numbers = depth_of(&job) * PANEL_ROWS;
    const int64_t panels = (places + PANEL_ROWS - 1) / PANEL_ROWS;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        int16_t *scratch = (int16_t *)job.scratch + i * numbers;
        for (int64_t p = panels * i / nthreads; p < panels * (i + 1) / nthreads; p++) {
            const int64_t place = p * PANEL_ROWS, left = places - place;
            compute_panel(&job, place, left < PANEL_ROWS ? left : PANEL_ROWS, scratch);
        }
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_whole_windows = {"whole windows", check, threads, execute};
