/* Convolutions and products of 8-bit numbers by AVX-512 VNNI, which adds four products to int32 at
 * once, exactly.
 *
 * Data is not copied. The numbers that a window meets lie in segments: its places or, where one row
 * of it is in one piece, its rows. For each output there is a pointer to each of them, to a line
 * that stands for the padding, or to a copy where a segment is not in one piece (M. Dukhan, The
 * Indirect Convolution Algorithm, 2019). Those of a panel of outputs serve all filters. */
#include <immintrin.h>
#include <omp.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "ndrt_indirect_windows.h"
#include "ndrt_whole_layout.h"

typedef ndrt_whole_windows_args windows;

enum {
    BLOCK = NDRT_WHOLE_BLOCK,
    QUAD = NDRT_WHOLE_QUAD,
    CHUNK = NDRT_WHOLE_CHUNK,
    ROWS = NDRT_WHOLE_MOST_TILE, /* of a tile, by two blocks of filters */
    VECTORS = 2,
    COLUMNS = VECTORS * BLOCK
};

/* ---- tiles ---------------------------------------------------------------------------------- */

typedef struct {
    int32_t *out;                   /* (ROWS, COLUMNS) */
    const uint8_t *const *segments; /* (segments, rows) */
    const int8_t *weights;
    const int32_t *start;             /* what sums begin with, of COLUMNS */
    int64_t second, nsegments, quads; /* second: how far behind these the second block's are */
    const ndrt_finish *finish;
    int64_t at, out_row, column; /* of the first output and filter */
} tile;

/* What is done with sums: they stay in memory, or are finished in registers. */
typedef enum { STORED, AS_U8, AS_U8_ADDED, AS_S8, AS_S8_ADDED, AS_F32, ENDS } ending;

static ending ending_of(const ndrt_finish *f) {
    const int kind = ndrt_usual_kind(f), has_added = f->added != NULL;
    if (kind == NDRT_U8) return has_added ? AS_U8_ADDED : AS_U8;
    if (kind == NDRT_S8) return has_added ? AS_S8_ADDED : AS_S8;
    if (ndrt_is_scaled(f)) return AS_F32;
    return STORED;
}

/* Four numbers in each lane. Written as an instruction, or the compiler reads those of all rows
 * before it multiplies any, and has no registers left for the sums. */
INLINED __m512i quad_of(const uint8_t *at) {
    __m512i x;
    __asm__ volatile("vpbroadcastd %1, %0" : "=v"(x) : "m"(*(const uint8_t (*)[QUAD])at));
    return x;
}

INLINED __m512i plus_quads(__m512i sum, __m512i u8, __m512i s8) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(u8), "v"(s8));
    return sum;
}

INLINED void finish_tile(const tile *t, __m512i made[ROWS][VECTORS], const int rows,
                         const int vectors, const ending as) {
    const int kind = as == AS_U8 || as == AS_U8_ADDED ? NDRT_U8 : NDRT_S8;
    const ndrt_finish f = as == AS_F32
                              ? ndrt_scaled(t->finish)
                              : ndrt_usual(t->finish, kind, as == AS_U8_ADDED || as == AS_S8_ADDED);
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const ndrt_finish_of_columns of = ndrt_finish_columns(&f, t->column + v * BLOCK, 0xffff);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++)
            ndrt_finish_sum(&f, &of, made[r][v], t->at + r * t->out_row + v * BLOCK, 0xffff);
    }
}

/* All but pointers and the tile's numbers are constants where this is inlined. `turned`: int8,
 * which turning its highest bit makes uint8. */
INLINED void sum_constant(const tile *t, const int rows, const int vectors, const int turned,
                          const ending as) {
    const __m512i turn = _mm512_set1_epi8(INT8_MIN);
    const int8_t *weights = t->weights;
    const uint8_t *const *segments = t->segments;
    __m512i made[ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) made[r][v] = _mm512_loadu_si512(t->start + v * BLOCK);
    for (int64_t s = 0; s < t->nsegments; s++, segments += rows) {
        const uint8_t *data[ROWS];
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) data[r] = segments[r];
        for (int64_t q = 0; q < t->quads; q++, weights += QUAD * BLOCK) {
            __m512i w[VECTORS];
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) w[v] = _mm512_loadu_si512(weights + v * t->second);
#pragma GCC unroll 6
            for (int r = 0; r < rows; r++) {
                __m512i x = quad_of(data[r] + q * QUAD);
                if (turned) x = _mm512_xor_si512(x, turn);
#pragma GCC unroll 2
                for (int v = 0; v < vectors; v++) made[r][v] = plus_quads(made[r][v], x, w[v]);
            }
        }
    }
    if (as != STORED) {
        finish_tile(t, made, rows, vectors, as);
        return;
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            _mm512_storeu_si512(t->out + r * COLUMNS + v * BLOCK, made[r][v]);
}

typedef void sum_tile(const tile *t);
#define SUM(rows, as)                                                                              \
    static void sum_##rows##_1_##as(const tile *t) { sum_constant(t, rows, 1, 0, as); }            \
    static void sum_##rows##_2_##as(const tile *t) { sum_constant(t, rows, 2, 0, as); }            \
    static void turned_##rows##_1_##as(const tile *t) { sum_constant(t, rows, 1, 1, as); }         \
    static void turned_##rows##_2_##as(const tile *t) { sum_constant(t, rows, 2, 1, as); }
#define SUMS(rows, as)                                                                             \
    {                                                                                              \
        {sum_##rows##_1_##as, sum_##rows##_2_##as}, {                                              \
            turned_##rows##_1_##as, turned_##rows##_2_##as                                         \
        }                                                                                          \
    }
SUM(1, STORED)
SUM(2, STORED)
SUM(3, STORED)
SUM(4, STORED)
SUM(5, STORED)
SUM(6, STORED)
SUM(6, AS_U8)
SUM(6, AS_U8_ADDED)
SUM(6, AS_S8)
SUM(6, AS_S8_ADDED)
SUM(6, AS_F32)
static sum_tile *const stored[ROWS][2][VECTORS] = {SUMS(1, STORED), SUMS(2, STORED),
                                                   SUMS(3, STORED), SUMS(4, STORED),
                                                   SUMS(5, STORED), SUMS(6, STORED)};
/* of ROWS, by their ends */
static sum_tile *const finished[ENDS][2][VECTORS] = {
    [STORED] = SUMS(6, STORED),           [AS_U8] = SUMS(6, AS_U8),
    [AS_U8_ADDED] = SUMS(6, AS_U8_ADDED), [AS_S8] = SUMS(6, AS_S8),
    [AS_S8_ADDED] = SUMS(6, AS_S8_ADDED), [AS_F32] = SUMS(6, AS_F32)};

/* ---- segments ------------------------------------------------------------------------------- */

/* What threads share, and what each has. */
typedef struct {
    const windows *job;
    const ndrt_finish *finish;
    ndrt_whole_layout layout;
    int by_places;             /* segments are places, else rows */
    int64_t nsegments;         /* of a window */
    int64_t length;            /* numbers of a segment */
    int64_t channels, filters; /* of a group */
    int64_t blocks;            /* of filters of a group */
    int64_t total;             /* numbers of all data */
    int32_t zero; /* of uint8, or of int8 that is turned: the number which stands for 0 */
    const int8_t *weights;
    const int16_t *group_sums;
} convolution;
typedef struct {
    const uint8_t **segments; /* for each tile of a panel (segments, rows of the tile) */
    uint8_t *lines;           /* for each row of it (segments, length padded to quads) */
    uint8_t *padding;         /* as many numbers as a row has, that stand for 0 */
} space;

static int64_t padded_length(const convolution *c) { return ndrt_whole_padded(c->length, QUAD); }

/* A row of a window that is not in one piece, or reaches to the end of the data. */
static const uint8_t *gathered(const convolution *c, const uint8_t *row, int64_t x, uint8_t *line) {
    const windows *job = c->job;
    for (int64_t i = 0; i < job->window[1]; i++, x += job->dilate[1]) {
        uint8_t *to = line + i * c->channels;
        if (x < 0 || x >= job->width)
            memset(to, (int)job->zero, (size_t)c->channels);
        else
            memcpy(to, row + x * job->channels, (size_t)c->channels);
    }
    memset(line + c->length, 0, (size_t)(padded_length(c) - c->length));
    return line;
}

/* An output. */
typedef struct {
    int64_t image, row, column;
} place_of;

static void step_on(const windows *job, place_of *at) {
    if (++at->column < job->columns) return;
    at->column = 0;
    if (++at->row < job->rows) return;
    at->row = 0;
    at->image++;
}

/* Of the windows of up to LANES outputs: where they begin. */
enum { LANES = 8 };
typedef struct {
    __m512i x, y, offset; /* offset: in the data, also where that is outside of it */
    __mmask8 lanes;
} corners;

static corners corners_of(const convolution *c, int64_t group, place_of *at, int rows) {
    const windows *job = c->job;
    int64_t x[LANES] = {0}, y[LANES] = {0}, offset[LANES] = {0};
    for (int r = 0; r < rows; r++) {
        x[r] = at->column * job->stride[1] - job->pad[1];
        y[r] = at->row * job->stride[0] - job->pad[0];
        offset[r] = ((at->image * job->height + y[r]) * job->width + x[r]) * job->channels +
                    group * c->channels;
        step_on(job, at);
    }
    return (corners){_mm512_loadu_si512(x), _mm512_loadu_si512(y), _mm512_loadu_si512(offset),
                     (__mmask8)((1 << rows) - 1)};
}

INLINED __m512i all_64(int64_t x) { return _mm512_set1_epi64(x); }

/* Lanes whose numbers lie from 0 up to an end. */
INLINED __mmask8 within(__m512i x, int64_t end) { return _mm512_cmplt_epu64_mask(x, all_64(end)); }

/* Pointers of a tile to places. */
static void point_to_places(const convolution *c, const space *own, const corners *from, int rows,
                            const uint8_t **to) {
    const windows *job = c->job;
    const int64_t right = job->dilate[1] * job->channels;
    const __m512i data = all_64((int64_t)job->data), padding = all_64((int64_t)own->padding);
    __m512i y = from->y, line = _mm512_add_epi64(from->offset, data);
    for (int64_t j = 0; j < job->window[0]; j++) {
        const __mmask8 is_row = within(y, job->height);
        __m512i x = from->x, place = line;
        for (int64_t i = 0; i < job->window[1]; i++, to += rows) {
            const __mmask8 is_inside = is_row & within(x, job->width);
            _mm512_mask_storeu_epi64(to, from->lanes,
                                     _mm512_mask_mov_epi64(padding, is_inside, place));
            x = _mm512_add_epi64(x, all_64(job->dilate[1]));
            place = _mm512_add_epi64(place, all_64(right));
        }
        y = _mm512_add_epi64(y, all_64(job->dilate[0]));
        line = _mm512_add_epi64(line, all_64(job->dilate[0] * job->width * job->channels));
    }
}

/* Pointers of a tile to rows of windows. `lines`: for each output where its window may be copied.
 */
static void point_to_rows(const convolution *c, const space *own, const corners *from, int rows,
                          const uint8_t **to, uint8_t *lines) {
    const windows *job = c->job;
    const int64_t reach = (job->window[1] - 1) * job->dilate[1];
    const int is_piece = job->window[1] == 1 || (job->groups == 1 && job->dilate[1] == 1);
    const __m512i data = all_64((int64_t)job->data), padding = all_64((int64_t)own->padding);
    const __m512i last = _mm512_add_epi64(from->x, all_64(reach));
    const __mmask8 is_whole = is_piece ? within(from->x, job->width) & within(last, job->width) : 0;
    const __mmask8 is_apart = _mm512_cmplt_epi64_mask(last, _mm512_setzero_si512()) |
                              _mm512_cmpge_epi64_mask(from->x, all_64(job->width));
    __m512i y = from->y, offset = from->offset;
    for (int64_t j = 0; j < job->window[0]; j++, to += rows) {
        const __mmask8 is_row = within(y, job->height);
        const __m512i end = _mm512_add_epi64(offset, all_64(padded_length(c)));
        const __mmask8 is_there =
            is_whole & is_row & _mm512_cmple_epi64_mask(end, all_64(c->total));
        _mm512_mask_storeu_epi64(to, from->lanes,
                                 _mm512_mask_add_epi64(padding, is_there, offset, data));
        unsigned left = from->lanes & is_row & ~is_there & ~is_apart;
        if (left) {
            int64_t x[LANES], offsets[LANES];
            _mm512_storeu_si512(x, from->x);
            _mm512_storeu_si512(offsets, offset);
            for (; left; left &= left - 1) {
                const int r = __builtin_ctz(left);
                const uint8_t *row = (const uint8_t *)job->data + offsets[r] - x[r] * job->channels;
                uint8_t *line = lines + r * c->layout.chunks * CHUNK + j * padded_length(c);
                to[r] = gathered(c, row, x[r], line);
            }
        }
        y = _mm512_add_epi64(y, all_64(job->dilate[0]));
        offset = _mm512_add_epi64(offset, all_64(job->dilate[0] * job->width * job->channels));
    }
}

/* Tiles of ROWS outputs; the last two share out what is left. */
typedef struct {
    int64_t rows;
    int tiles;
} panel;

static panel panel_of(int64_t rows) { return (panel){rows, (int)((rows + ROWS - 1) / ROWS)}; }

static int rows_of(const panel *p, int i) {
    const int left = (int)p->rows - (p->tiles - 2) * ROWS;
    if (i + 2 < p->tiles) return ROWS;
    if (p->tiles == 1) return (int)p->rows;
    return i + 2 == p->tiles ? (left + 1) / 2 : left / 2;
}

static void point_panel(const convolution *c, const space *own, int64_t group, int64_t place,
                        const panel *p) {
    const windows *job = c->job;
    const uint8_t **to = own->segments;
    uint8_t *line = own->lines;
    place_of at = {.image = place / job->columns / job->rows,
                   .row = place / job->columns % job->rows,
                   .column = place % job->columns};
    for (int i = 0; i < p->tiles; i++) {
        const int rows = rows_of(p, i);
        const corners from = corners_of(c, group, &at, rows);
        if (c->by_places)
            point_to_places(c, own, &from, rows, to);
        else
            point_to_rows(c, own, &from, rows, to, line);
        line += rows * c->layout.chunks * CHUNK;
        to += rows * c->nsegments;
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* What sums of one block or two begin with: what stands for 0, times the weights, is taken off. */
static void begin(const convolution *c, int64_t block, int vectors, int32_t *start) {
    for (int f = 0; f < COLUMNS; f++) start[f] = 0;
    if (!c->zero) return;
    const int64_t pairs = c->layout.pairs;
    for (int v = 0; v < vectors; v++) {
        const int16_t *sum = c->group_sums + (block + v) * pairs * 2 * BLOCK;
        for (int64_t p = 0; p < pairs; p++, sum += 2 * BLOCK)
            for (int f = 0; f < BLOCK; f++)
                start[v * BLOCK + f] -= c->zero * (sum[2 * f] + sum[2 * f + 1]);
    }
}

/* Filters of one block or two. */
typedef struct {
    int32_t start[COLUMNS];
    int64_t column; /* the first filter */
    const int8_t *weights;
    int count, vectors;
    ending as;
} few_filters;

/* Filters that are computed tile by tile: as many as have so many bytes of weights, which are then
 * in the caches for the next tile, and the lines of the output are written at once. */
enum { MOST_FEW = 8, MOST_BYTES = 49152 };

static int few_filters_of(const convolution *c, int64_t group, int64_t *block, int64_t end,
                          few_filters *few) {
    const int64_t size = c->layout.chunks * CHUNK * BLOCK;
    int n = 0;
    do {
        const int64_t left = end - *block * BLOCK, packed = group * c->blocks + *block;
        few_filters *f = &few[n++];
        f->count = left < COLUMNS ? (int)left : COLUMNS;
        f->vectors = f->count > BLOCK ? 2 : 1;
        f->column = group * c->filters + *block * BLOCK;
        f->weights = c->weights + packed * size;
        f->as = f->count % BLOCK ? STORED : ending_of(c->finish);
        begin(c, packed, f->vectors, f->start);
        *block += VECTORS;
    } while (n < MOST_FEW && *block * BLOCK < end && (n + 1) * VECTORS * size <= MOST_BYTES);
    return n;
}

/* Filters of a group from block `block` up to `block_end`. */
static void compute_panel(const convolution *c, const space *own, int64_t group, int64_t block,
                          int64_t block_end, int64_t place, const panel *p) {
    const windows *job = c->job;
    const int64_t end = block_end * BLOCK < c->filters ? block_end * BLOCK : c->filters;
    const int turned = (int)job->is_signed;
    int32_t made[ROWS * COLUMNS];
    few_filters few[MOST_FEW];
    tile t = {.out = made,
              .second = c->layout.chunks * CHUNK * BLOCK,
              .nsegments = c->nsegments,
              .quads = padded_length(c) / QUAD,
              .finish = c->finish,
              .out_row = job->filters};
    while (block * BLOCK < end) {
        const int n = few_filters_of(c, group, &block, end, few);
        int64_t out = place * job->filters;
        t.segments = own->segments;
        for (int i = 0; i < p->tiles; i++) {
            const int rows = rows_of(p, i);
            for (int k = 0; k < n; k++) {
                const few_filters *f = &few[k];
                t.weights = f->weights;
                t.start = f->start;
                t.column = f->column;
                t.at = out + f->column;
                if (rows == ROWS && f->as != STORED) {
                    finished[f->as][turned][f->vectors - 1](&t);
                } else {
                    stored[rows - 1][turned][f->vectors - 1](&t);
                    ndrt_finish_tile(c->finish, made, COLUMNS, rows, t.at, job->filters, f->column,
                                     f->count);
                }
            }
            out += rows * job->filters;
            t.segments += rows * c->nsegments;
        }
    }
}

static void compute_part(const convolution *c, const space *own, int64_t block, int64_t block_end,
                         int64_t place, int64_t place_end) {
    const int64_t most = ndrt_indirect_panel(c->job->window, &c->layout);
    const int64_t all = place_end - place, panels = (all + most - 1) / most;
    /* so that all tiles but the last ones are whole */
    const int64_t size = panels ? ndrt_whole_padded((all + panels - 1) / panels, ROWS) : 0;
    for (; place < place_end; place += size) {
        const panel some = panel_of(place_end - place < size ? place_end - place : size);
        for (int64_t group = 0; group < c->job->groups; group++) {
            point_panel(c, own, group, place, &some);
            compute_panel(c, own, group, block, block_end, place, &some);
        }
    }
}

void ndrt_indirect_windows(const windows *job, const ndrt_finish *finish, int over_blocks,
                           int nthreads) {
    const int64_t channels = job->channels / job->groups, filters = job->filters / job->groups;
    const int64_t places = job->images * job->rows * job->columns;
    const ndrt_whole_layout l = ndrt_whole_layout_of(job->window, channels, filters, job->groups);
    const int by_places = ndrt_reads_places(job->window, channels);
    const char *packed = job->weights;
    const convolution c = {
        .job = job,
        .finish = finish,
        .layout = l,
        .by_places = by_places,
        .nsegments = ndrt_indirect_segments(job->window, channels),
        .length = channels * (by_places ? 1 : job->window[1]),
        .channels = channels,
        .filters = filters,
        .blocks = l.blocks / job->groups,
        .total = job->images * job->height * job->width * job->channels,
        .zero = (int32_t)job->zero - (job->is_signed ? INT8_MIN : 0),
        .weights = (const int8_t *)packed,
        .group_sums = (const int16_t *)(packed + ndrt_whole_group_sums(&l)),
    };
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        uint8_t *scratch =
            (uint8_t *)job->scratch + i * ndrt_indirect_scratch(job->window, channels, &l);
        const int64_t row = l.chunks * CHUNK, rows = ndrt_indirect_panel(job->window, &l);
        space own = {.segments = (const uint8_t **)scratch};
        own.padding = scratch + rows * c.nsegments * (int64_t)sizeof *own.segments;
        own.lines = own.padding + row;
        memset(own.padding, (int)job->zero, (size_t)row);
        if (over_blocks)
            compute_part(&c, &own, c.blocks * i / nthreads, c.blocks * (i + 1) / nthreads, 0,
                         places);
        else
            compute_part(&c, &own, 0, c.blocks, places * i / nthreads, places * (i + 1) / nthreads);
    }
}
