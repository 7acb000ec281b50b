/* What becomes of int32 sums of products while they are in the first cache: a bias is added, they
 * are multiplied, bent or bounded, an array is added, they are bent or bounded again, and rounded
 * to 8 bits.
 *
 * The bits are the same on each level of CPUs: ndrt_finish_avx2.h and ndrt_finish_avx512.h do the
 * same in the same order. */
#ifndef NDRT_FINISH_H
#define NDRT_FINISH_H

#ifdef __AVX512BW__
#include "kernels/ndrt_finish_avx512.h"
#else
#include "kernels/ndrt_finish_avx2.h"
#endif

/* What layers of networks mostly are: of a shift and a scale for each column, and no functions but
 * what the ends of the output's type do. The kind of their outputs, -1 of others. */
static inline int ndrt_usual_kind(const ndrt_finish *f) {
    return !f->bias && f->shift && f->scale_step && !f->bends_first && !f->bends_last &&
                   f->zero == 0.0f && (f->kind == NDRT_U8 || f->kind == NDRT_S8)
               ? f->kind
               : -1;
}

/* The same, of which the compiler knows by constants what it can leave out. */
INLINED ndrt_finish ndrt_usual(const ndrt_finish *f, const int kind, const int has_added) {
    ndrt_finish g = *f;
    g.bias = NULL;
    g.scale_step = 1;
    g.kind = kind;
    g.bends_first = g.bends_last = 0;
    g.zero = 0.0f;
    if (!has_added) g.added = NULL;
    if (!g.shift || !g.scale) __builtin_unreachable();
    return g;
}

/* Whether sums only become floats, and the same for the compiler. */
static inline int ndrt_is_scaled(const ndrt_finish *f) {
    return f->kind == NDRT_F32 && !f->bias && !f->added && !f->bends_first && !f->bends_last;
}
INLINED ndrt_finish ndrt_scaled(const ndrt_finish *f) {
    ndrt_finish g = *f;
    g.kind = NDRT_F32;
    g.bias = NULL;
    g.added = NULL;
    g.bends_first = g.bends_last = 0;
    if (!g.scale) __builtin_unreachable();
    return g;
}

INLINED void ndrt_finish_usual(const ndrt_finish *f, const int32_t *sums, int64_t row, int rows,
                               int64_t at, int64_t out_row, int64_t column, const int kind,
                               const int has_added) {
    const ndrt_finish g = ndrt_usual(f, kind, has_added);
    ndrt_finish_whole(&g, sums, row, rows, at, out_row, column);
}

/* `columns` of each of `rows`, from `column` on; a row of sums has `row` numbers, at least as many
 * as the columns filled up to whole 16s, and a row of the output `out_row`. `at`: the first
 * output. */
static inline void ndrt_finish_tile(const ndrt_finish *f, const int32_t *sums, int64_t row,
                                    int rows, int64_t at, int64_t out_row, int64_t column,
                                    int columns) {
    const int kind = ndrt_usual_kind(f);
    for (int c = 0; c < columns; c += NDRT_FINISHED, sums += NDRT_FINISHED, at += NDRT_FINISHED) {
        const int count = columns - c;
        if (count < NDRT_FINISHED)
            ndrt_finish_few(f, sums, row, rows, at, out_row, column + c, count);
        else if (kind == NDRT_U8 && !f->added)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_U8, 0);
        else if (kind == NDRT_U8)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_U8, 1);
        else if (kind == NDRT_S8 && !f->added)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_S8, 0);
        else if (kind == NDRT_S8)
            ndrt_finish_usual(f, sums, row, rows, at, out_row, column + c, NDRT_S8, 1);
        else
            ndrt_finish_whole(f, sums, row, rows, at, out_row, column + c);
    }
}

#endif
