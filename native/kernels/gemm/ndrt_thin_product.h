/* Products with few rows on one side: each number of the other one is read once, where it is. For
 * ndrt_blocked_product.h and what that is for. */
#ifndef NDRT_THIN_PRODUCT_H
#define NDRT_THIN_PRODUCT_H

#include "ndrt_blocked_gemm.h"

enum { THIN = NDRT_BLOCKED_THIN, MOST_AT_ONCE = 4, STRETCH = NDRT_BLOCKED_STRETCH };

/* Adds `lines` rows of the right matrix, times a number each, to each of `rows` of the result. */
INLINED void add_lines(number *out, int64_t out_row, const number *a, int64_t a_row,
                       int64_t a_column, const number *b, int64_t b_row, int64_t columns,
                       const int adds, const int rows, const int lines) {
    int64_t j = 0;
    for (; j + LANES <= columns; j += LANES) {
        vector line[MOST_AT_ONCE];
#pragma GCC unroll 8
        for (int k = 0; k < lines; k++) line[k] = load(b + k * b_row + j);
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) {
            number *to = out + r * out_row + j;
            vector sum = adds ? load(to) : zeros();
#pragma GCC unroll 8
            for (int k = 0; k < lines; k++)
                sum = multiply_add(all(a[r * a_row + k * a_column]), line[k], sum);
            store(to, sum);
        }
    }
    if (j == columns) return;
    const int64_t lanes = columns - j;
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++) {
        number *to = out + r * out_row + j;
        vector sum = adds ? load_first(to, lanes) : zeros();
#pragma GCC unroll 8
        for (int k = 0; k < lines; k++)
            sum = multiply_add(all(a[r * a_row + k * a_column]),
                               load_first(b + k * b_row + j, lanes), sum);
        store_first(to, lanes, sum);
    }
}

INLINED void thin_of(const ndrt_blocked_part *part, const int rows, const int lines) {
    const int64_t a_row = part->a.row, a_column = part->a.column, b_row = part->b.row;
    for (int64_t j = part->column; j < part->column_end; j += STRETCH) {
        const int64_t columns = ndrt_blocked_least(STRETCH, part->column_end - j);
        number *out = (number *)part->out + part->row * part->out_row + j;
        const number *a = (const number *)part->a.numbers + part->row * a_row;
        const number *b = (const number *)part->b.numbers + j;
        int64_t k = 0;
        for (; k + lines <= part->depth; k += lines)
            if (k)
                add_lines(out, part->out_row, a + k * a_column, a_row, a_column, b + k * b_row,
                          b_row, columns, 1, rows, lines);
            else
                add_lines(out, part->out_row, a, a_row, a_column, b, b_row, columns, 0, rows,
                          lines);
        for (; k < part->depth; k++)
            if (k)
                add_lines(out, part->out_row, a + k * a_column, a_row, a_column, b + k * b_row,
                          b_row, columns, 1, rows, 1);
            else
                add_lines(out, part->out_row, a, a_row, a_column, b, b_row, columns, 0, rows, 1);
    }
}

/* Rows of the right matrix are contiguous. */
static void compute_thin(const ndrt_blocked_part *part) {
    switch (part->row_end - part->row) {
    case 1: thin_of(part, 1, 4); break;
    case 2: thin_of(part, 2, 4); break;
    case 3: thin_of(part, 3, 4); break;
    default: thin_of(part, 4, 4); break;
    }
}

/* Columns of the left matrix are contiguous, the right one has few: the transpose, in scratch. */
static void compute_thin_turned(const ndrt_blocked_part *part, const number *left,
                                const number *right) {
    const int64_t rows = part->row_end - part->row, columns = part->column_end - part->column;
    number *made = part->scratch;
    ndrt_blocked_part turned = {.a = {right, part->b.column, part->b.row},
                                .out = made,
                                .out_row = STRETCH,
                                .depth = part->depth,
                                .row_end = columns};
    for (int64_t i = 0; i < rows; i += STRETCH) {
        turned.b = (ndrt_strided){left + i, part->a.column, part->a.row};
        turned.column_end = ndrt_blocked_least(STRETCH, rows - i);
        compute_thin(&turned);
        number *out = (number *)part->out + (part->row + i) * part->out_row + part->column;
        for (int64_t r = 0; r < turned.column_end; r++)
            for (int64_t c = 0; c < columns; c++)
                out[r * part->out_row + c] = made[c * STRETCH + r];
    }
}

/* Products of `rows` rows and `columns` rows, all contiguous. */
INLINED void dots_of(const number *a, int64_t a_row, const number *b, int64_t b_row, number *out,
                     int64_t out_row, int64_t out_column, int64_t depth, const int rows,
                     const int columns) {
    vector sums[THIN][MOST_AT_ONCE];
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) sums[r][c] = zeros();
    int64_t k = 0;
    for (; k + LANES <= depth; k += LANES) {
        vector x[THIN];
#pragma GCC unroll 4
        for (int r = 0; r < rows; r++) x[r] = load(a + r * a_row + k);
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            const vector y = load(b + c * b_row + k);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++) sums[r][c] = multiply_add(x[r], y, sums[r][c]);
        }
    }
    if (k < depth) {
        const int64_t lanes = depth - k;
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) {
            const vector y = load_first(b + c * b_row + k, lanes);
#pragma GCC unroll 4
            for (int r = 0; r < rows; r++)
                sums[r][c] = multiply_add(load_first(a + r * a_row + k, lanes), y, sums[r][c]);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
        for (int c = 0; c < columns; c++) out[r * out_row + c * out_column] = sum_of(sums[r][c]);
}

/* Where rows of one operand and columns of the other are. */
typedef struct {
    const number *few, *many;
    int64_t few_row, many_row, depth, count; /* `count` of many */
    number *out;
    int64_t out_few, out_many;
} dots;

INLINED void all_dots_of(const dots *d, const int few, const int many) {
    int64_t i = 0;
    for (; i + many <= d->count; i += many)
        dots_of(d->few, d->few_row, d->many + i * d->many_row, d->many_row,
                d->out + i * d->out_many, d->out_few, d->out_many, d->depth, few, many);
    for (; i < d->count; i++)
        dots_of(d->few, d->few_row, d->many + i * d->many_row, d->many_row,
                d->out + i * d->out_many, d->out_few, d->out_many, d->depth, few, 1);
}

/* Rows of `many` are contiguous; those of `few`, which are no more than THIN, are copied if they
 * are not. */
static void compute_dots(dots d, int64_t few, int64_t few_step, number *scratch) {
    if (few_step != 1) {
        for (int64_t r = 0; r < few; r++)
            for (int64_t k = 0; k < d.depth; k++)
                scratch[r * d.depth + k] = d.few[r * d.few_row + k * few_step];
        d.few = scratch;
        d.few_row = d.depth;
    }
    switch (few) {
    case 1: all_dots_of(&d, 1, 4); break;
    case 2: all_dots_of(&d, 2, 4); break;
    case 3: all_dots_of(&d, 3, 3); break;
    default: all_dots_of(&d, 4, 2); break;
    }
}

#endif
