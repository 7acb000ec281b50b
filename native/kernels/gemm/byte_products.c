/* Products of matrices of 8-bit numbers that both are data, as those of attention: in int32, and
 * exact. What becomes of the sums (ndrt_finish.h) is done while they are in the first cache.
 *
 * Numbers are widened to 16 bits, those of the right matrix once for all rows of the left one. Two
 * of a row and two of a column are multiplied and added up at once (vpmaddwd; with AVX-512 VNNI
 * vpdpwssd), which saturates for no signs of theirs. */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/ndrt_finish.h"
#include "ndrt_args.h"
#include "ndrt_byte_products.h"
#include "ndrt_whole_sums.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;
typedef ndrt_byte_products_args products;

enum { TILE_ROWS = NDRT_BYTE_TILE_ROWS, VECTORS = 2, COLUMNS = VECTORS * LANES };
_Static_assert(NDRT_BYTE_MOST_COLUMNS % COLUMNS == 0, "scratch ends with whole columns");

/* Numbers come in pairs: behind an odd number of them is one that is 0. */
static int64_t pairs_of(const products *job) { return ndrt_byte_depth(job->depth) / 2; }

static void widen(int16_t *out, const void *from, int64_t n, int is_signed) {
    const int8_t *s8 = from;
    const uint8_t *u8 = from;
    if (is_signed) {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = s8[i];
    } else {
#pragma omp simd
        for (int64_t i = 0; i < n; i++) out[i] = u8[i];
    }
}

/* ---- the right matrix ------------------------------------------------------------------------
 * For each COLUMNS columns: for each pair of their numbers, those of all columns side by side. */

/* Columns lie one behind the other; `line` has room for one. */
static void pack_columns(const products *job, const uint8_t *right, int16_t *out, int count,
                         int16_t *line) {
    const int64_t pairs = pairs_of(job);
    line[2 * pairs - 1] = 0;
    for (int c = 0; c < count; c++) {
        widen(line, right + c * job->right_column, job->depth, job->right_signed);
        for (int64_t k = 0; k < pairs; k++)
            memcpy(out + (k * COLUMNS + c) * 2, line + 2 * k, 2 * sizeof *out);
    }
}

/* Rows do. */
static void pack_rows(const products *job, const uint8_t *right, int16_t *out, int count) {
    int16_t first[COLUMNS], second[COLUMNS] = {0};
    for (int64_t k = 0; k < job->depth; k += 2, out += 2 * COLUMNS) {
        widen(first, right + k * job->right_row, count, job->right_signed);
        if (k + 1 < job->depth)
            widen(second, right + (k + 1) * job->right_row, count, job->right_signed);
        else
            memset(second, 0, sizeof second);
#pragma omp simd
        for (int c = 0; c < count; c++) {
            out[2 * c] = first[c];
            out[2 * c + 1] = second[c];
        }
    }
}

static void pack(const products *job, const uint8_t *right, int16_t *out, int16_t *line) {
    const int64_t size = 2 * pairs_of(job) * COLUMNS;
    for (int64_t first = 0; first < job->columns; first += COLUMNS, out += size) {
        const int64_t left = job->columns - first;
        const int count = left < COLUMNS ? (int)left : COLUMNS;
        if (count < COLUMNS) memset(out, 0, (size_t)size * sizeof *out);
        if (job->right_column == 1)
            pack_rows(job, right + first, out, count);
        else
            pack_columns(job, right + first * job->right_column, out, count, line);
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* All but pointers and pairs are constants where this is inlined. */
INLINED void sum_tile(const int16_t *data, const int16_t *columns, int64_t pairs, const int rows,
                      const int is_fused, int32_t *out) {
    sums made[TILE_ROWS][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) made[r][v] = no_sums();
    for (int64_t k = 0; k < pairs; k++, columns += 2 * COLUMNS) {
        sums w[VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) w[v] = loaded(columns + v * 2 * LANES);
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) {
            const sums x = pair_of(data + (r * pairs + k) * 2);
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; v++)
                made[r][v] = plus_products(made[r][v], x, w[v], is_fused);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < VECTORS; v++) store_sums(out + r * COLUMNS + v * LANES, made[r][v]);
}

typedef void sum_some(const int16_t *data, const int16_t *columns, int64_t pairs, int32_t *out);
#define SUM(rows)                                                                                  \
    static void sum_##rows(const int16_t *data, const int16_t *columns, int64_t pairs,             \
                           int32_t *out) {                                                         \
        sum_tile(data, columns, pairs, rows, 0, out);                                              \
    }                                                                                              \
    static void fused_##rows(const int16_t *data, const int16_t *columns, int64_t pairs,           \
                             int32_t *out) {                                                       \
        sum_tile(data, columns, pairs, rows, 1, out);                                              \
    }
SUM(1)
SUM(2)
SUM(3)
SUM(4)
SUM(5)
SUM(6)
static sum_some *const sum[2][TILE_ROWS] = {{sum_1, sum_2, sum_3, sum_4, sum_5, sum_6},
                                            {fused_1, fused_2, fused_3, fused_4, fused_5, fused_6}};

/* Rows from some up to others of the product of a batch. */
static void compute_rows(const products *job, const ndrt_finish *finish, int64_t batch,
                         int64_t from, int64_t to, int16_t *room) {
    const int64_t pairs = pairs_of(job);
    const int is_fused = LANES == 16 && ndrt_cpu_has(NDRT_HAS_AVX512_VNNI);
    const uint8_t *left = (const uint8_t *)job->left + batch * job->left_batch;
    const uint8_t *right = (const uint8_t *)job->right + batch * job->right_batch;
    int16_t *packed = room, *rows = room + ndrt_byte_columns(job->columns) * 2 * pairs;
    int32_t made[TILE_ROWS * COLUMNS];
    pack(job, right, packed, rows);
    for (int64_t row = from; row < to; row += TILE_ROWS) {
        const int some = to - row < TILE_ROWS ? (int)(to - row) : TILE_ROWS;
        for (int r = 0; r < some; r++) {
            rows[(r + 1) * 2 * pairs - 1] = 0;
            widen(rows + r * 2 * pairs, left + (row + r) * job->left_row, job->depth,
                  job->left_signed);
        }
        const int16_t *columns = packed;
        const int64_t out = batch * job->out_batch + row * job->out_row;
        for (int64_t first = 0; first < job->columns; first += COLUMNS) {
            const int64_t behind = job->columns - first;
            sum[is_fused][some - 1](rows, columns, pairs, made);
            columns += 2 * pairs * COLUMNS;
            if (job->kind == NDRT_S32 && job->factor != 1.0f) {
                const double factor = (double)job->factor;
                for (int i = 0; i < some * COLUMNS; i++)
                    made[i] = (int32_t)rint((double)made[i] * factor);
            }
            ndrt_finish_tile(finish, made, COLUMNS, some, out + first, job->out_row, 0,
                             behind < COLUMNS ? (int)behind : COLUMNS);
        }
    }
}

/* ---- the family ----------------------------------------------------------------------------- */

static ndrt_finish finish_of(const products *job) {
    const ndrt_bend straight = {1.0f, -INFINITY, INFINITY};
    const ndrt_finish f = {.out = job->out,
                           .scale = job->scale,
                           .kind = job->kind,
                           .first = straight,
                           .last = straight};
    return ndrt_with_bends(f);
}

/* What a thread does is some rows of one batch. */
static int64_t parts_of(const products *job) { return job->batches < job->slots ? job->slots : 1; }

static ndrt_status check(kernel_call *call) {
    const products job = ndrt_read_byte_products(call);
    const int64_t counts[] = {job.left_batch, job.left_row,  job.right_batch,
                              job.right_row,  job.out_batch, job.out_row};
    int is_known = call->nthreads >= 0 && job.slots >= 1 && job.depth <= NDRT_BYTE_PRODUCTS_MOST;
    for (int i = 0; i < 6; i++) is_known &= counts[i] >= 0;
    if (!is_known || !ndrt_is_count(job.batches, 0) || !ndrt_is_count(job.rows, 0) ||
        !ndrt_is_count(job.columns, 0) || !ndrt_is_count(job.depth, 1) ||
        (job.right_column != 1 && job.right_row != 1))
        return ndrt_fail(NDRT_INVALID, "byte products: a number is out of range");
    const ndrt_finish f = finish_of(&job);
    TRY(ndrt_check_finish("byte products", &f));
    if (job.kind == NDRT_S32 && !(fabsf(job.factor) <= 1.0f))
        return ndrt_fail(NDRT_INVALID, "byte products: a factor of %g", (double)job.factor);
    if (ndrt_product(job.batches, job.rows, job.columns) < 0 ||
        ndrt_product(ndrt_byte_products_scratch(job.columns, job.depth), job.slots, 1) < 0)
        return ndrt_fail(NDRT_INVALID, "byte products: more elements than can be");
    return job.batches && job.rows && job.columns ? ndrt_need_arrays(call, 4) : NDRT_OK;
}

static int threads(kernel_call *call) {
    const products job = ndrt_read_byte_products(call);
    const int64_t work = ndrt_product(job.batches, job.rows, job.columns);
    const int nthreads =
        ndrt_team_for(call, ndrt_product_work(ndrt_product(work, job.depth, 1), 0));
    return nthreads < job.slots ? nthreads : job.slots;
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const products job = ndrt_read_byte_products(call);
    const ndrt_finish finish = finish_of(&job);
    const int64_t parts = parts_of(&job), items = job.columns ? job.batches * parts : 0;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < items; i++) {
        const int64_t part = i % parts;
        const int64_t from = job.rows * part / parts, to = job.rows * (part + 1) / parts;
        int16_t *room =
            (int16_t *)job.scratch + omp_get_thread_num() * ndrt_byte_room(job.columns, job.depth);
        if (from < to) compute_rows(&job, &finish, i / parts, from, to, room);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_byte_products = {"byte products", check, threads, execute};
