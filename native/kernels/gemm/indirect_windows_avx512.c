/* Convolutions and products of 8-bit numbers by AVX-512 VNNI, which adds four products to int32 at
 * once, exactly.
 *
 * Data is read where it lies. The numbers that a window meets lie in segments: its places or, where
 * one row of it is in one piece, its rows. For each output there is a pointer to each of them, to a
 * line that stands for the padding, or to a copy where segments are short or not in one piece (M.
 * Dukhan, The Indirect Convolution Algorithm, 2019). Those of a panel of outputs serve all filters.
 */
#include <immintrin.h>
#include <omp.h>
#include <string.h>

#include "ndrt_indirect_tile.h"
#include "ndrt_whole_layout.h"
#include "ndrt_whole_windows.h"

typedef ndrt_whole_windows_args windows;

enum { CHUNK = NDRT_WHOLE_CHUNK };

/* ---- segments ------------------------------------------------------------------------------- */

/* What threads share, and what each has. */
typedef struct {
    const windows *job;
    const ndrt_finish *finish;
    ndrt_whole_layout layout;
    ndrt_reading by;
    int64_t nsegments;         /* of a window */
    int64_t length;            /* numbers of a segment */
    int64_t channels, filters; /* of a group */
    int64_t blocks;            /* of filters of a group */
    int64_t total;             /* numbers of all data */
    int32_t zero; /* of uint8, or of int8 that is turned: the number which stands for 0 */
    const int8_t *weights;
    const int16_t *group_sums;
} convolution;
/* What a tile reads: so many segments of some quads, behind those quads of weights that would meet
 * nothing but zeros. */
typedef struct {
    int64_t nsegments, quads, skipped;
} extent;
typedef struct {
    extent *extents;          /* of each tile of a panel */
    const uint8_t **segments; /* for each tile of a panel (segments, rows of the tile) */
    uint8_t *lines;           /* for each row of it (segments, length padded to quads) */
    uint8_t *padding;         /* as many numbers as a row has, that stand for 0 */
} space;

static int64_t padded_length(const convolution *c) { return ndrt_whole_padded(c->length, QUAD); }

/* A row of a window that is not in one piece, or reaches to the end of the data. */
static void gather(const convolution *c, const uint8_t *row, int64_t x, uint8_t *line) {
    const windows *job = c->job;
    for (int64_t i = 0; i < job->window[1]; i++, x += job->dilate[1]) {
        uint8_t *to = line + i * c->channels;
        if (x < 0 || x >= job->width)
            memset(to, (int)job->zero, (size_t)c->channels);
        else
            memcpy(to, row + x * job->channels, (size_t)c->channels);
    }
}

/* Of the windows of up to LANES outputs: where they begin. */
enum { LANES = 8 };
typedef struct {
    __m512i x, y, offset; /* offset: in the data, also where that is outside of it */
    __mmask8 lanes;
} corners;

static corners corners_of(const convolution *c, int64_t group, ndrt_output_at *at, int rows) {
    const windows *job = c->job;
    int64_t x[LANES] = {0}, y[LANES] = {0}, offset[LANES] = {0};
    for (int r = 0; r < rows; r++) {
        x[r] = at->column * job->stride[1] - job->pad[1];
        y[r] = at->row * job->stride[0] - job->pad[0];
        offset[r] = ((at->image * job->height + y[r]) * job->width + x[r]) * job->channels +
                    group * c->channels;
        ndrt_step_on(job, at);
    }
    return (corners){_mm512_loadu_si512(x), _mm512_loadu_si512(y), _mm512_loadu_si512(offset),
                     (__mmask8)((1 << rows) - 1)};
}

INLINED __m512i all_64(int64_t x) { return _mm512_set1_epi64(x); }

/* Lanes whose numbers lie from 0 up to an end. */
INLINED __mmask8 within(__m512i x, int64_t end) { return _mm512_cmplt_epu64_mask(x, all_64(end)); }

/* Whether the windows of all lanes lie within the data from side to side, in one piece. */
static int are_pieces(const convolution *c, const corners *from) {
    const windows *job = c->job;
    const __m512i last = _mm512_add_epi64(from->x, all_64(job->window[1] - 1));
    const __mmask8 inside = within(from->x, job->width) & within(last, job->width);
    return job->groups == 1 && job->dilate[1] == 1 && (inside & from->lanes) == from->lanes;
}

/* Pointers of a tile to places, or where rows of all windows are in one piece, to these. Rows of
 * nothing but zeros are left out at both ends. */
static extent point_to_places(const convolution *c, const space *own, const corners *from, int rows,
                              const uint8_t **to) {
    const windows *job = c->job;
    const int of_rows = are_pieces(c, from);
    const int64_t places = of_rows ? 1 : job->window[1], right = job->dilate[1] * job->channels;
    const int64_t quads = c->length / QUAD * (of_rows ? job->window[1] : 1);
    const __m512i data = all_64((int64_t)job->data), padding = all_64((int64_t)own->padding);
    __m512i y = from->y, line = _mm512_add_epi64(from->offset, data);
    int64_t first = job->window[0], end = 0;
    for (int64_t j = 0; j < job->window[0]; j++) {
        const __mmask8 is_row = within(y, job->height);
        __m512i x = from->x, place = line;
        if ((is_row & from->lanes) || c->zero) {
            if (first > j) first = j;
            end = j + 1;
        }
        for (int64_t i = 0; i < places && first <= j; i++, to += rows) {
            const __mmask8 is_inside = is_row & within(x, job->width);
            _mm512_mask_storeu_epi64(to, from->lanes,
                                     _mm512_mask_mov_epi64(padding, is_inside, place));
            x = _mm512_add_epi64(x, all_64(job->dilate[1]));
            place = _mm512_add_epi64(place, all_64(right));
        }
        y = _mm512_add_epi64(y, all_64(job->dilate[0]));
        line = _mm512_add_epi64(line, all_64(job->dilate[0] * job->width * job->channels));
    }
    if (first >= end) return (extent){0, quads, 0};
    return (extent){(end - first) * places, quads, first * places * quads};
}

/* Pointers of a tile to rows of windows. `lines`: for each output where its window may be copied.
 */
static extent point_to_rows(const convolution *c, const space *own, const corners *from, int rows,
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
                gather(c, row, x[r], line);
                memset(line + c->length, 0, (size_t)(padded_length(c) - c->length));
                to[r] = line;
            }
        }
        y = _mm512_add_epi64(y, all_64(job->dilate[0]));
        offset = _mm512_add_epi64(offset, all_64(job->dilate[0] * job->width * job->channels));
    }
    return (extent){job->window[0], padded_length(c) / QUAD, 0};
}

/* Bytes from `from` up to `to` of 64. */
INLINED __mmask64 bytes_of(int64_t from, int64_t to) {
    const __mmask64 all = to < 64 ? (1ULL << to) - 1 : ~0ULL;
    return from < 64 ? all & (~0ULL << from) : 0;
}

/* `room` bytes, those that are not there as in `zero`; `room` is a constant where this is inlined.
 */
INLINED void copy_bytes(uint8_t *to, const uint8_t *from, __mmask64 there, __m512i zero,
                        const int room) {
    if (room == 32)
        _mm256_storeu_si256((__m256i *)to, _mm256_mask_loadu_epi8(_mm512_castsi512_si256(zero),
                                                                  (__mmask32)there, from));
    else
        _mm512_storeu_si512(to, _mm512_mask_loadu_epi8(zero, there, from));
}

/* Pointers of a tile to copies of short rows, one behind the other. Each copy reaches into the next
 * one, which is made after it; what is behind the last meets weights of 0. */
INLINED extent point_to_some(const convolution *c, const corners *from, int rows,
                             const uint8_t **to, uint8_t *lines, const int room) {
    const windows *job = c->job;
    const int64_t height = job->height, width = job->width, nrows = job->window[0];
    const int64_t wide = job->window[1] * c->channels, size = c->layout.chunks * CHUNK;
    const int64_t dilate = job->dilate[0], down = dilate * width * job->channels;
    const int is_piece = job->groups == 1 && job->dilate[1] == 1;
    const __m512i zero = _mm512_set1_epi8((char)(int)job->zero);
    int64_t x[LANES], y[LANES], offset[LANES];
    _mm512_storeu_si512(x, from->x);
    _mm512_storeu_si512(y, from->y);
    _mm512_storeu_si512(offset, from->offset);
    for (int r = 0; r < rows; r++, lines += size) {
        const int64_t before = x[r] < 0 ? -x[r] * c->channels : 0, right = width - x[r];
        const int64_t end = right <= 0                   ? 0
                            : right * c->channels < wide ? right * c->channels
                                                         : wide;
        const __mmask64 there = end > before ? bytes_of(before, end) : 0;
        const uint8_t *row = (const uint8_t *)job->data + offset[r];
        uint8_t *line = lines;
        int64_t at = y[r];
        to[r] = lines;
        for (int64_t j = 0; j < nrows; j++, line += wide, row += down, at += dilate) {
            const int is_row = at >= 0 && at < height;
            if (is_row && !is_piece)
                gather(c, row - x[r] * job->channels, x[r], line);
            else
                copy_bytes(line, row, is_row ? there : 0, zero, room);
        }
    }
    return (extent){1, padded_length(c) / QUAD, 0};
}

static extent point_to_copies(const convolution *c, const corners *from, int rows,
                              const uint8_t **to, uint8_t *lines) {
    const int64_t wide = c->job->window[1] * c->channels;
    if (wide <= 32) return point_to_some(c, from, rows, to, lines, 32);
    return point_to_some(c, from, rows, to, lines, NDRT_SHORT_ROW);
}

/* Whether windows are the places of the data one behind the other. */
static int are_all_places(const convolution *c) {
    const windows *job = c->job;
    return job->window[0] * job->window[1] * job->stride[0] * job->stride[1] == 1 &&
           job->pad[0] == 0 && job->pad[1] == 0 && job->rows == job->height &&
           job->columns == job->width;
}

/* Pointers of a tile to places from `place` on, unless it would read beyond the data. */
static int point_to_all(const convolution *c, int64_t group, int64_t place, int rows,
                        const uint8_t **to) {
    const int64_t row = c->job->channels, first = place * row + group * c->channels;
    if (first + (rows - 1) * row + padded_length(c) > c->total) return 0;
    const __m512i behind =
        _mm512_mullo_epi64(_mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7), all_64(row));
    _mm512_mask_storeu_epi64(to, (__mmask8)((1 << rows) - 1),
                             _mm512_add_epi64(all_64((int64_t)c->job->data + first), behind));
    return 1;
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
    const int are_all = are_all_places(c);
    for (int i = 0; i < p->tiles; i++) {
        const int rows = rows_of(p, i);
        if (are_all && point_to_all(c, group, place, rows, to)) {
            own->extents[i] = (extent){1, padded_length(c) / QUAD, 0};
        } else {
            ndrt_output_at at = ndrt_output_of(job, place);
            const corners from = corners_of(c, group, &at, rows);
            own->extents[i] = c->by == NDRT_BY_PLACES ? point_to_places(c, own, &from, rows, to)
                              : c->by == NDRT_BY_ROWS ? point_to_rows(c, own, &from, rows, to, line)
                                                      : point_to_copies(c, &from, rows, to, line);
        }
        place += rows;
        line += rows * c->layout.chunks * CHUNK;
        to += rows * c->nsegments;
    }
}

/* ---- panels --------------------------------------------------------------------------------- */

/* What sums of one block or two begin with: what stands for 0, times the weights, is taken off. */
static void begin(const convolution *c, int64_t block, int vectors, int32_t *start) {
    uint32_t less[COLUMNS] = {0}; /* which comes round, as sums do */
    const int64_t pairs = c->zero ? c->layout.pairs : 0;
    for (int v = 0; v < vectors; v++) {
        const int16_t *sum = c->group_sums + (block + v) * pairs * 2 * BLOCK;
        for (int64_t p = 0; p < pairs; p++, sum += 2 * BLOCK)
            for (int f = 0; f < BLOCK; f++)
                less[v * BLOCK + f] += (uint32_t)c->zero * (uint32_t)(sum[2 * f] + sum[2 * f + 1]);
    }
    for (int f = 0; f < COLUMNS; f++) start[f] = (int32_t)(0 - less[f]);
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
              .finish = c->finish,
              .out_row = job->filters};
    while (block * BLOCK < end) {
        const int n = few_filters_of(c, group, &block, end, few);
        int64_t out = place * job->filters;
        t.segments = own->segments;
        for (int i = 0; i < p->tiles; i++) {
            const int rows = rows_of(p, i);
            const extent *all = &own->extents[i];
            t.nsegments = all->nsegments;
            t.quads = all->quads;
            for (int k = 0; k < n; k++) {
                const few_filters *f = &few[k];
                t.weights = f->weights + all->skipped * QUAD * BLOCK;
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

/* Where a thread begins, of whole tiles. */
static int64_t share_of(int64_t places, int thread, int nthreads) {
    return thread == nthreads ? places : places / ROWS * thread / nthreads * ROWS;
}

void ndrt_indirect_windows(const windows *job, const ndrt_finish *finish, int over_blocks,
                           int nthreads) {
    const int64_t channels = job->channels / job->groups, filters = job->filters / job->groups;
    const int64_t places = job->images * job->rows * job->columns;
    const ndrt_whole_layout l = ndrt_whole_layout_of(job->window, channels, filters, job->groups);
    const ndrt_reading by = ndrt_reading_of(job->window, channels);
    const char *packed = job->weights;
    const convolution c = {
        .job = job,
        .finish = finish,
        .layout = l,
        .by = by,
        .nsegments = ndrt_indirect_segments(job->window, channels),
        .length = by == NDRT_BY_PLACES ? channels
                  : by == NDRT_BY_ROWS ? channels * job->window[1]
                                       : l.numbers,
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
        extent extents[NDRT_WHOLE_ROWS];
        space own = {.extents = extents, .segments = (const uint8_t **)scratch};
        own.padding = scratch + rows * c.nsegments * (int64_t)sizeof *own.segments;
        own.lines = own.padding + row;
        memset(own.padding, (int)job->zero, (size_t)row);
        if (over_blocks)
            compute_part(&c, &own, c.blocks * i / nthreads, c.blocks * (i + 1) / nthreads, 0,
                         places);
        else
            compute_part(&c, &own, 0, c.blocks, share_of(places, i, nthreads),
                         share_of(places, i + 1, nthreads));
    }
}
