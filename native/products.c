/* Products of rows and a packed matrix.
 *
 * A tile of the result is up to 14 rows by two vectors of columns: 28 sums in registers, and each
 * number of the data is read for two vectors. What sets it apart from oneDNN's inner product is
 * that while a tile is computed the weights of the next columns are asked for: a network's weights
 * are more than the caches hold.
 *
 * The order of a sum depends on the number of features alone, so the bits do not depend on the
 * number of rows or threads. */
#include <omp.h>

#include "ndrt_avx512.h"
#include "ndrt_internal.h"

enum { TILE_ROWS = 14, TILE_VECTORS = 2, FRACTION = 16 };

/* If a row is so many numbers or a multiple of them, all rows lie in the same set of the first
 * cache, and a tile has no more rows than lines that a set holds on most CPUs. */
enum { ALIASING = 1024, ALIASING_ROWS = 8 };

/* Rows are worked on in panels of about so many numbers of data, which stay in the second cache
 * while all columns go over them. Where the weights are fewer than so many, they stay in the first
 * one, and a panel is a tile: the result is written from end to end (measured). */
static const int64_t PANEL_NUMBERS = 131072, NUMBERS_OF_SMALL_WEIGHTS = 6144;

typedef struct {
    const float *data, *weights, *bias, *added; /* the last two: or NULL */
    float *out;
    int64_t rows, features, columns, width; /* width: columns of a block of the weights */
    float low, high;
} products;

typedef struct {
    const products *of;
    const float *data, *bias, *added;
    float *out;
    const float *weights[TILE_VECTORS], *ahead[TILE_VECTORS]; /* ahead: those to ask for */
    int64_t from, step; /* which features of `ahead`, in parts of 1 << FRACTION */
    __mmask16 inside;   /* lanes of the last vector that are columns */
} tile;

/* The last two are constants where this is inlined. */
WIDE_CPU INLINED void tile_of(const tile *t, int rows, int vectors) {
    const products *of = t->of;
    const int64_t features = of->features, width = of->width;
    __m512 sums[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const __mmask16 inside = v + 1 < vectors ? 0xffff : t->inside;
        const __m512 bias =
            t->bias ? _mm512_maskz_loadu_ps(inside, t->bias + v * LANES) : _mm512_setzero_ps();
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            sums[r][v] = bias;
            if (t->added) __builtin_prefetch(t->added + r * of->columns + v * LANES);
        }
    }
    /* one register for every three rows: a register for each row is more than there are */
    const int64_t row = features * (int64_t)sizeof(float);
    const char *data[(TILE_ROWS + 2) / 3];
#pragma GCC unroll 5
    for (int i = 0; i < (rows + 2) / 3; i++) data[i] = (const char *)t->data + 3 * i * row;
    int64_t at = t->from;
    for (int64_t k = 0; k < features; k++, at += t->step) {
        __m512 line[TILE_VECTORS];
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) line[v] = _mm512_loadu_ps(t->weights[v] + k * width);
        /* one vector's and the other's in turn: several tiles ask for the same */
        __builtin_prefetch(t->ahead[k & 1] + (at >> FRACTION) * width, 0, 2);
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++) {
            const __m512 x = _mm512_set1_ps(*(const float *)(data[r / 3] + r % 3 * row));
#pragma GCC unroll 2
            for (int v = 0; v < vectors; v++) sums[r][v] = _mm512_fmadd_ps(x, line[v], sums[r][v]);
        }
#pragma GCC unroll 5
        for (int i = 0; i < (rows + 2) / 3; i++) {
            data[i] += sizeof(float);
            __asm__("" : "+r"(data[i])); /* or the compiler makes one for each row again */
        }
    }
    const __m512 low = _mm512_set1_ps(of->low), high = _mm512_set1_ps(of->high);
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) {
            const int64_t place = r * of->columns + v * LANES;
            const __mmask16 inside = v + 1 < vectors ? 0xffff : t->inside;
            __m512 sum = sums[r][v];
            if (t->added) sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(inside, t->added + place));
            _mm512_mask_storeu_ps(t->out + place, inside, ndrt_bounded(sum, low, high));
        }
}

typedef void compute_tile(const tile *t);

#define TILE(rows)                                                                                 \
    WIDE_CPU static void tile_##rows##_1(const tile *t) { tile_of(t, rows, 1); }                   \
    WIDE_CPU static void tile_##rows##_2(const tile *t) { tile_of(t, rows, 2); }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#define NAMES(rows) {tile_##rows##_1, tile_##rows##_2}
static compute_tile *const tiles[TILE_ROWS][TILE_VECTORS] = {
    NAMES(1), NAMES(2), NAMES(3),  NAMES(4),  NAMES(5),  NAMES(6),  NAMES(7),
    NAMES(8), NAMES(9), NAMES(10), NAMES(11), NAMES(12), NAMES(13), NAMES(14)};

/* Where the weights of a vector of columns begin. */
static const float *weights_of(const products *job, int64_t column) {
    const int64_t features = (job->features + LANES - 1) / LANES * LANES;
    return job->weights + column / job->width * features * job->width + column % job->width;
}

/* Part of the result. */
typedef struct {
    int64_t row, row_end, column, column_end;
} part;

/* One or two vectors of columns in all rows of a part; rows are shared out evenly to tiles. */
static void compute_columns(const products *job, const part *p, int64_t column) {
    const int64_t most = job->features % ALIASING ? TILE_ROWS : ALIASING_ROWS;
    const int64_t nrows = p->row_end - p->row, ntiles = (nrows + most - 1) / most;
    const int64_t left = p->column_end - column;
    const int vectors = left > LANES ? TILE_VECTORS : 1;
    const int64_t last = left - (vectors - 1) * LANES;
    const int64_t next = column + TILE_VECTORS * LANES;
    tile t = {.of = job, .inside = (__mmask16)(last >= LANES ? 0xffff : (1 << last) - 1)};
    if (job->bias) t.bias = job->bias + column;
    for (int v = 0; v < TILE_VECTORS; v++) {
        const int64_t own = v < vectors ? v * LANES : 0;
        t.weights[v] = t.ahead[v] = weights_of(job, column + own);
        if (next + own < p->column_end) t.ahead[v] = weights_of(job, next + own);
    }
    if (next < p->column_end) t.step = (1 << FRACTION) / ntiles;
    int64_t row = p->row;
    for (int64_t i = 0; i < ntiles; i++) {
        const int64_t rows = nrows / ntiles + (i < nrows % ntiles);
        t.data = job->data + row * job->features;
        t.out = job->out + row * job->columns + column;
        if (job->added) t.added = job->added + row * job->columns + column;
        t.from = i * t.step * job->features;
        tiles[rows - 1][vectors - 1](&t);
        row += rows;
    }
}

static void compute_part(const products *job, const part *p) {
    int64_t panel = PANEL_NUMBERS / job->features / TILE_ROWS * TILE_ROWS;
    if (panel < TILE_ROWS ||
        (p->column_end - p->column) * job->features <= NUMBERS_OF_SMALL_WEIGHTS)
        panel = TILE_ROWS;
    for (part at = *p; at.row < p->row_end; at.row = at.row_end) {
        if (at.row + panel < p->row_end)
            at.row_end = at.row + panel;
        else
            at.row_end = p->row_end;
        for (int64_t c = p->column; c < p->column_end; c += TILE_VECTORS * LANES)
            compute_columns(job, &at, c);
    }
}

/* A thread with fewer rows waits for the weights longer than it computes. A number that another
 * thread wrote, or is to read, is taken for so many multiply-adds: with two threads rows
 * took as long or less in MobileNet-v2, and up to a third less where the cores have no cache in
 * common. */
enum { ROWS_FOR_WEIGHTS = 12, WORK_OF_SHARED = 8 };

/* How many of the threads share the columns; the others share the rows. A thread that keeps to its
 * rows finds in its own cache what the step before wrote, if that one kept to them too. */
static int threads_of_columns(const products *job, int nthreads) {
    const int64_t vectors = (job->columns + LANES - 1) / LANES;
    int best = 1;
    double least = 0;
    for (int n = 1; n <= nthreads; n++) {
        if (nthreads % n) continue;
        const int64_t m = nthreads / n, rows = (job->rows + m - 1) / m;
        const double columns = (double)((vectors + n - 1) / n * LANES);
        double cost = columns * job->features * (rows < ROWS_FOR_WEIGHTS ? ROWS_FOR_WEIGHTS : rows);
        if (n > 1) cost += WORK_OF_SHARED * rows * (job->features + columns);
        if (n == 1 || cost < least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

ndrt_status ndrt_products_check(const ndrt_kernel_call *call) {
    const int64_t *dims = call->dims;
    if (!__builtin_cpu_supports("avx512f"))
        return ndrt_fail(NDRT_UNSUPPORTED, "products: this CPU has no AVX-512");
    if (dims[0] < 1 || dims[1] < 1 || dims[2] < 1 || dims[3] < LANES || dims[3] % LANES ||
        call->nthreads < 0)
        return ndrt_fail(
            NDRT_INVALID, "products: %lld rows of %lld, %lld columns in blocks of %lld",
            (long long)dims[0], (long long)dims[1], (long long)dims[2], (long long)dims[3]);
    const int more = (call->scalars[2] != 0) + (call->scalars[3] != 0);
    for (int i = 0; i < 3 + more; i++)
        if (!call->data[i]) return ndrt_fail(NDRT_INVALID, "products: array %d has no bytes", i);
    return NDRT_OK;
}

int ndrt_products_threads(const ndrt_kernel_call *call) {
    return ndrt_team_for(call, ndrt_product(call->dims[0], call->dims[1], call->dims[2]));
}

void ndrt_products_execute(const ndrt_kernel_call *call, int nthreads) {
    const int has_bias = call->scalars[2] != 0, has_added = call->scalars[3] != 0;
    const products job = {
        .out = call->data[0],
        .data = call->data[1],
        .weights = call->data[2],
        .bias = has_bias ? call->data[3] : NULL,
        .added = has_added ? call->data[3 + has_bias] : NULL,
        .rows = call->dims[0],
        .features = call->dims[1],
        .columns = call->dims[2],
        .width = call->dims[3],
        .low = (float)call->scalars[0],
        .high = (float)call->scalars[1],
    };
    const int64_t vectors = (job.columns + LANES - 1) / LANES;
    const int across = threads_of_columns(&job, nthreads), along = nthreads / across;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        const int64_t c = i % across, r = i / across;
        part p = {
            .row = job.rows * r / along,
            .row_end = job.rows * (r + 1) / along,
            .column = vectors * c / across * LANES,
            .column_end = vectors * (c + 1) / across * LANES,
        };
        if (p.column_end > job.columns) p.column_end = job.columns;
        compute_part(&job, &p);
    }
}
