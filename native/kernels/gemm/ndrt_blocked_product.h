/* Blocked products of matrices of one type, for a file that has said how it is computed with:
 *
 * `number`, `vector`, LANES; zeros, all, load, load_first, store, store_first, add, multiply_add,
 * sum_of; TILE_ROWS and TILE_VECTORS; pack_turned.
 *
 * A tile of the result stays in registers while the depth is gone through. What tiles read again
 * and again is copied beforehand, in the order that they read it in: strips of the right matrix,
 * and blocks of rows of the left one. Small right matrices are read where they are. With few rows
 * each number of the right matrix is read once, and copying it would take longer than computing
 * with it.
 *
 * The order of a sum depends on the shape of the product alone: so the bits do not depend on how it
 * is cut into parts. */
#ifndef NDRT_BLOCKED_PRODUCT_H
#define NDRT_BLOCKED_PRODUCT_H

#include "ndrt_blocked_gemm.h"
#include "ndrt_thin_product.h"

enum { MOST_VECTORS = 3 };

typedef struct {
    const number *a, *b;
    number *out;
    int64_t a_row, a_depth, b_depth, out_row, depth;
    int64_t lanes; /* of the last vector */
    int adds;      /* to what is there */
} tile;

/* `rows` and `vectors` are constants where this is inlined. */
INLINED void tile_of(const tile *t, const int rows, const int vectors) {
    vector sums[TILE_ROWS][MOST_VECTORS];
    const int64_t a_row = t->a_row, a_depth = t->a_depth, b_depth = t->b_depth;
    const int64_t out_row = t->out_row;
    const number *a = t->a, *b = t->b;
    number *out = t->out;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
        __builtin_prefetch(out + r * out_row, 1);
        __builtin_prefetch(out + r * out_row + vectors * LANES - 1, 1);
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) sums[r][v] = zeros();
    }
#pragma GCC unroll 4
    for (int64_t k = t->depth; k > 0; k--, a += a_depth, b += b_depth) {
        vector line[MOST_VECTORS];
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) line[v] = load(b + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const vector x = all(a[r * a_row]);
#pragma GCC unroll 3
            for (int v = 0; v < vectors; v++) sums[r][v] = multiply_add(x, line[v], sums[r][v]);
        }
    }
    const int64_t lanes = t->lanes;
    const int adds = t->adds;
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++, out += out_row)
#pragma GCC unroll 3
        for (int v = 0; v < vectors; v++) {
            number *to = out + v * LANES;
            if (v + 1 < vectors || lanes == LANES) {
                store(to, adds ? add(sums[r][v], load(to)) : sums[r][v]);
            } else {
                store_first(to, lanes, adds ? add(sums[r][v], load_first(to, lanes)) : sums[r][v]);
            }
        }
}

typedef void compute_tile(const tile *t);
#define TILE(rows)                                                                                 \
    static void tile_##rows##_1(const tile *t) { tile_of(t, rows, 1); }                            \
    static void tile_##rows##_2(const tile *t) { tile_of(t, rows, 2); }                            \
    static void tile_##rows##_3(const tile *t) { tile_of(t, rows, 3); }
#define NAMES(rows) {tile_##rows##_1, tile_##rows##_2, tile_##rows##_3},
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if TILE_ROWS > 4
TILE(5)
TILE(6)
TILE(7)
TILE(8)
#endif
static compute_tile *const tiles[TILE_ROWS][MOST_VECTORS] = {NAMES(1) NAMES(2) NAMES(3) NAMES(4)
#if TILE_ROWS > 4
                                                                 NAMES(5) NAMES(6) NAMES(7) NAMES(8)
#endif
};

/* ---- cutting --------------------------------------------------------------------------------- */

/* As many of equal size as are needed that none has more than `most`. */
typedef struct {
    int64_t n, pieces;
} cut;
INLINED cut cut_into(int64_t n, int64_t most) { return (cut){n, (n + most - 1) / most}; }
INLINED int64_t begin_of(const cut *c, int64_t i) { return c->n * i / c->pieces; }

/* Strips of columns, of whole vectors but for the last. */
INLINED cut strips_of(int64_t columns) {
    return cut_into((columns + LANES - 1) / LANES, TILE_VECTORS);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* `depth` lines of `width` numbers: line k has from[i * across + k * along] at place i, and 0 from
 * `count` on. */
static void pack(number *to, int64_t width, const number *from, int64_t count, int64_t depth,
                 int64_t across, int64_t along) {
    int64_t k = 0;
    if (along == 1 && across != 1) k = pack_turned(to, width, from, count, depth, across);
    for (to += k * width, from += k * along; k < depth; k++, to += width, from += along) {
        int64_t i = 0;
        if (across == 1)
            for (; i + LANES <= count; i += LANES) store(to + i, load(from + i));
        for (; i < count; i++) to[i] = from[i * across];
        for (; i < width; i++) to[i] = 0;
    }
}

/* Lines that are copied at a time. If they are a multiple of 4 KiB apart all of them are in the
 * same set of the first cache, which holds 8 on most CPUs: half of these leave room for what is
 * written. */
enum { LINES = 4 };

/* Line k of windows over images, from column `first` on. */
static void gather_line(number *to, const ndrt_blocked_part *part, int64_t k, int64_t first,
                        int64_t columns) {
    const ndrt_windows_seen *w = part->windows;
    const int64_t height = w->size[0], width = w->size[1], places = w->window[0] * w->window[1];
    const int64_t channel = k / places, y = k % places / w->window[1], x = k % w->window[1];
    const number *image = (const number *)part->b.numbers + channel * height * width;
    const int64_t step = w->stride[1], left = x * w->dilate[1] - w->pad[1];
    /* places in a row of the result from which on, and up to which, the data has columns */
    const int64_t begin = left < 0 ? (-left + step - 1) / step : 0;
    const int64_t end = left < width ? (width - left + step - 1) / step : 0;
    for (int64_t at = first; at < first + columns;) {
        const int64_t row = at / w->out_width, from = at % w->out_width;
        const int64_t to_end = ndrt_blocked_least(from + first + columns - at, w->out_width);
        const int64_t source = row * w->stride[0] + y * w->dilate[0] - w->pad[0];
        int64_t i = from;
        if (source >= 0 && source < height) {
            const number *line = image + source * width;
            for (; i < ndrt_blocked_least(begin, to_end); i++) *to++ = 0;
            const int64_t inside = ndrt_blocked_least(end, to_end);
            if (step == 1)
                for (; i < inside; i++) *to++ = line[left + i];
            else
                for (; i < inside; i++) *to++ = line[left + i * step];
        }
        for (; i < to_end; i++) *to++ = 0;
        at += to_end - from;
    }
}

/* Lines `from` up to `end` of `depth` ones, cut into pieces that lie one behind the other; of whole
 * `unit`s, but for the last. */
static void pack_pieces(number *to, const cut *pieces, int64_t unit, int64_t depth, int64_t from,
                        int64_t end, const ndrt_strided *lines, int64_t count) {
    int64_t begin = 0;
    for (int64_t i = 0; i < pieces->pieces; i++) {
        const int64_t next = begin_of(pieces, i + 1) * unit, width = next - begin;
        pack(to + begin * depth + from * width, width,
             (const number *)lines->numbers + begin * lines->column,
             ndrt_blocked_least(next, count) - begin, end - from, lines->column, lines->row);
        begin = next;
    }
}

/* All pieces of a block: piece after piece, or where lines are contiguous some of them after
 * others, so that they are read in order. */
static void pack_block(number *to, const cut *pieces, int64_t unit, int64_t depth,
                       ndrt_strided lines, int64_t count) {
    const int64_t step = lines.column == 1 ? LINES : depth;
    for (int64_t k = 0; k < depth; k += step) {
        pack_pieces(to, pieces, unit, depth, k, ndrt_blocked_least(k + step, depth), &lines, count);
        lines.numbers = (const number *)lines.numbers + step * lines.row;
    }
}

/* Tiles of rows of the left matrix. */
static void pack_rows(number *to, const ndrt_blocked_part *part, int64_t from, int64_t depth,
                      int64_t row, int64_t rows) {
    const cut pieces = cut_into(rows, TILE_ROWS);
    const ndrt_strided *a = &part->a;
    const number *at = (const number *)a->numbers + row * a->row + from * a->column;
    const ndrt_strided lines = {at, a->column, a->row};
    pack_block(to, &pieces, 1, depth, lines, rows);
}

/* Strips of columns of the right matrix. */
static void pack_columns(number *to, const ndrt_blocked_part *part, int64_t from, int64_t depth,
                         int64_t first, int64_t columns) {
    const cut strips = strips_of(columns);
    if (!part->windows) {
        const ndrt_strided *b = &part->b;
        const number *at = (const number *)b->numbers + from * b->row + first * b->column;
        const ndrt_strided lines = {at, b->row, b->column};
        pack_block(to, &strips, LANES, depth, lines, columns);
        return;
    }
    number gathered[LINES * NDRT_BLOCKED_COLUMNS];
    const ndrt_strided lines = {gathered, columns, 1};
    for (int64_t k = 0; k < depth; k += LINES) {
        const int64_t end = ndrt_blocked_least(k + LINES, depth);
        for (int64_t i = k; i < end; i++)
            gather_line(gathered + (i - k) * columns, part, from + i, first, columns);
        pack_pieces(to, &strips, LANES, depth, k, end, &lines, columns);
    }
}

/* ---- ways to compute a part ------------------------------------------------------------------ */

/* What a strip of columns is made of: `a` from its first row on, with the step from line to line of
 * `b`. */
typedef struct {
    const number *a, *b;
    int packed; /* `a` was copied */
    int adds;   /* to what is there */
    int64_t b_depth, depth, row, row_end, column, count;
} strip;

static void compute_strip(const ndrt_blocked_part *part, const strip *s) {
    const int vectors = (int)((s->count + LANES - 1) / LANES);
    const cut rows = cut_into(s->row_end - s->row, TILE_ROWS);
    tile t = {.b = s->b,
              .b_depth = s->b_depth,
              .out_row = part->out_row,
              .depth = s->depth,
              .lanes = s->count - (vectors - 1) * LANES,
              .adds = s->adds};
    int64_t begin = 0;
    for (int64_t i = 0; i < rows.pieces; i++) {
        const int64_t end = begin_of(&rows, i + 1), some = end - begin;
        t.out = (number *)part->out + (s->row + begin) * part->out_row + s->column;
        if (s->packed) {
            t.a = s->a + begin * s->depth;
            t.a_row = 1;
            t.a_depth = some;
        } else {
            t.a = s->a + begin * part->a.row;
            t.a_row = part->a.row;
            t.a_depth = part->a.column;
        }
        tiles[some - 1][vectors - 1](&t);
        begin = end;
    }
}

/* The right matrix stays where it is, but for strips whose rows are not contiguous or end within a
 * vector. */
static void compute_small(const ndrt_blocked_part *part) {
    const number *a = (const number *)part->a.numbers + part->row * part->a.row;
    const int64_t columns = part->column_end - part->column, depth = part->depth;
    const cut strips = strips_of(columns);
    int64_t begin = 0;
    for (int64_t s = 0; s < strips.pieces; s++) {
        const int64_t end = begin_of(&strips, s + 1) * LANES, width = end - begin;
        const int64_t count = ndrt_blocked_least(end, columns) - begin;
        const number *b = (const number *)part->b.numbers + (part->column + begin) * part->b.column;
        int64_t b_depth = part->b.row;
        if (part->b.column != 1 || count < width) {
            pack(part->scratch, width, b, count, depth, part->b.column, part->b.row);
            b = part->scratch;
            b_depth = width;
        }
        const strip one = {.a = a,
                           .b = b,
                           .b_depth = b_depth,
                           .depth = depth,
                           .row = part->row,
                           .row_end = part->row_end,
                           .column = part->column + begin,
                           .count = count};
        compute_strip(part, &one);
        begin = end;
    }
}

static void compute_blocks(const ndrt_blocked_part *part) {
    const int is_wide = part->rows <= NDRT_BLOCKED_FEW && (part->windows || part->b.column == 1);
    const int64_t most = is_wide ? NDRT_BLOCKED_DEPTH_OF_FEW : NDRT_BLOCKED_DEPTH;
    const int64_t width = is_wide ? NDRT_BLOCKED_NUMBERS_OF_FEW / most : part->block_columns;
    const cut depths = cut_into(part->depth, most);
    const cut rows = cut_into(part->row_end - part->row, NDRT_BLOCKED_ROWS);
    number *a = part->scratch;
    number *b = a + ndrt_blocked_least(part->depth, NDRT_BLOCKED_DEPTH) *
                        ndrt_blocked_least(part->rows, NDRT_BLOCKED_ROWS);
    for (int64_t column = part->column; column < part->column_end; column += width) {
        const int64_t columns = ndrt_blocked_least(width, part->column_end - column);
        const cut strips = strips_of(columns);
        for (int64_t d = 0; d < depths.pieces; d++) {
            const int64_t from = begin_of(&depths, d), depth = begin_of(&depths, d + 1) - from;
            pack_columns(b, part, from, depth, column, columns);
            for (int64_t i = 0; i < rows.pieces; i++) {
                const int64_t row = part->row + begin_of(&rows, i);
                const int64_t row_end = part->row + begin_of(&rows, i + 1);
                pack_rows(a, part, from, depth, row, row_end - row);
                int64_t begin = 0;
                for (int64_t s = 0; s < strips.pieces; s++) {
                    const int64_t end = begin_of(&strips, s + 1) * LANES;
                    const strip one = {.a = a,
                                       .b = b + begin * depth,
                                       .packed = 1,
                                       .adds = d > 0,
                                       .b_depth = end - begin,
                                       .depth = depth,
                                       .row = row,
                                       .row_end = row_end,
                                       .column = column + begin,
                                       .count = ndrt_blocked_least(end, columns) - begin};
                    compute_strip(part, &one);
                    begin = end;
                }
            }
        }
    }
}

/* ---- the way for a part ---------------------------------------------------------------------- */

static void finish(const ndrt_blocked_part *part) {
    const number alpha = (number)part->alpha, beta = (number)part->beta;
    const int is_scaled = part->alpha != 1;
    const int is_bounded = part->low > -INFINITY || part->high < INFINITY;
    if (!is_scaled && !is_bounded && !part->bias.numbers && !part->added) return;
    const int64_t count = part->column_end - part->column;
    for (int64_t i = part->row; i < part->row_end; i++) {
        number *out = (number *)part->out + i * part->out_row + part->column;
        if (is_scaled)
            for (int64_t j = 0; j < count; j++) out[j] *= alpha;
        if (part->bias.numbers) {
            const number *bias = (const number *)part->bias.numbers + i * part->bias.row +
                                 part->column * part->bias.column;
            if (part->bias.column)
                for (int64_t j = 0; j < count; j++) out[j] += bias[j];
            else
                for (int64_t j = 0; j < count; j++) out[j] += *bias;
        }
        if (part->added) {
            const number *added = (const number *)part->added + i * part->out_row + part->column;
            for (int64_t j = 0; j < count; j++) out[j] += beta * added[j];
        }
        if (is_bounded) {
            const number low = (number)part->low, high = (number)part->high;
            for (int64_t j = 0; j < count; j++)
                out[j] = out[j] < low ? low : out[j] > high ? high : out[j]; /* NaN stays */
        }
    }
}

/* Sums of products of contiguous vectors end with the sum of a vector, which needs some depth. */
enum { DEPTH_OF_DOTS = 8 * LANES };

static void multiply(const ndrt_blocked_part *part) {
    const ndrt_strided *a = &part->a, *b = &part->b;
    number *out = part->out;
    const number *left = (const number *)a->numbers + part->row * a->row;
    const number *right = (const number *)b->numbers + part->column * b->column;
    out += part->row * part->out_row + part->column;
    const int64_t rows = part->row_end - part->row, columns = part->column_end - part->column;
    const int64_t depth = part->depth;
    if (part->windows) {
        compute_blocks(part);
    } else if (part->rows <= THIN && b->row == 1 && (depth >= DEPTH_OF_DOTS || b->column != 1)) {
        const dots d = {left, right, a->row, b->column, depth, columns, out, part->out_row, 1};
        compute_dots(d, rows, a->column, part->scratch);
    } else if (part->columns <= THIN && a->column == 1 &&
               (part->columns == 1 || depth >= DEPTH_OF_DOTS)) {
        const dots d = {right, left, b->column, a->row, depth, rows, out, 1, part->out_row};
        compute_dots(d, columns, b->row, part->scratch);
    } else if (part->rows <= THIN && b->column == 1) {
        compute_thin(part);
    } else if (part->columns <= THIN && a->row == 1) {
        compute_thin_turned(part, left, right);
    } else if (part->depth * part->columns <= NDRT_BLOCKED_SMALL) {
        compute_small(part);
    } else {
        compute_blocks(part);
    }
}

#endif
