/* Packed GEMM: rows of data times a packed matrix, or a matrix for each group of their features.
 *
 * A tile of the result is as many rows as registers allow by two vectors of columns; each element
 * of the data is broadcast once for both vectors. Unlike oneDNN's inner product, a tile prefetches
 * the weights of the next columns while it is computed: the weights of a network do not fit into
 * the caches.
 *
 * The order of a sum depends on the number of features alone, so the bits do not depend on the
 * number of rows or threads. */
#include <omp.h>

#include "ndrt_args.h"
#include "ndrt_packed_gemm.h"
#include "onednn/ndrt_onednn.h"

#ifdef __AVX512F__
enum { TILE_ROWS = 14, TILE_VECTORS = 2 };
#else
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#endif

/* If the length of a row is a multiple of this, all rows map to the same set of the L1 cache; a
 * tile then has no more rows than a set has ways on most CPUs. */
enum { ALIASING = 1024, ALIASING_ROWS = TILE_ROWS < 8 ? TILE_ROWS : 8 };

/* Rows are processed in panels of about this many floats of data, which stay in the L2 cache while
 * all columns are computed from them. Weights of fewer floats than NUMBERS_OF_SMALL_WEIGHTS stay in
 * the L1 cache; a panel is then one tile, so that the result is written sequentially (measured).
 * With groups, panels stay long however few the weights: short ones take up to 1.4 times as long.
 */
#ifdef __AVX512F__
static const int64_t PANEL_NUMBERS = 131072;
#else
static const int64_t PANEL_NUMBERS = 65536;
#endif
static const int64_t NUMBERS_OF_SMALL_WEIGHTS = 6144;

/* Features that are contiguous in a row of data: the place of the first, and how many. */
typedef struct {
    int64_t place, count;
} run;

typedef struct {
    const float *data, *weights, *bias, *added, *ahead; /* ahead: weights to prefetch */
    float *out;
    const run *runs; /* run i holds the features i, i + nruns, ... of the sums */
    int64_t nruns;
    int64_t row, out_row; /* strides of the rows of data and of the result, in floats */
    int64_t width;        /* as of the job */
    int64_t second;       /* offset of the second vector's weights from the first's */
    int64_t nahead;       /* features to prefetch, at most those of the first run */
    ndrt_lanes inside;    /* those of the last vector that are columns */
    float low, high;
} tile;

/* Accumulators, in registers. Up to half a vector of columns beyond whole vectors takes a half
 * vector, which some CPUs multiply in half the time. */
typedef struct {
    ndrt_vector whole[TILE_ROWS][TILE_VECTORS];
    ndrt_half half[TILE_ROWS];
} sums_of_tile;

/* A pointer for every three rows of data: there are not enough registers for one a row. */
typedef const char *places[(TILE_ROWS + 2) / 3];

/* The next two add the products of one feature, and advance to the next. Here and below `rows`,
 * `vectors` (whole ones) and `half` (whether there is one) are constants where this is inlined. */
INLINED void add_feature(sums_of_tile *sums, const places data, int64_t row, const float *weights,
                         int64_t second, int rows, int vectors, int half) {
    ndrt_vector line[TILE_VECTORS];
    ndrt_half rest = ndrt_half_zeros();
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) line[v] = ndrt_load(weights + v * second);
    if (half) rest = ndrt_half_load(weights + vectors * second);
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
        const ndrt_vector x = ndrt_all(*(const float *)(data[r / 3] + r % 3 * row));
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++)
            sums->whole[r][v] = ndrt_multiply_add(x, line[v], sums->whole[r][v]);
        if (half) sums->half[r] = ndrt_half_multiply_add(ndrt_half_of(x), rest, sums->half[r]);
    }
}

INLINED void next_feature(places data, int rows) {
#pragma GCC unroll 5
    for (int i = 0; i < (rows + 2) / 3; i++) {
        data[i] += sizeof(float);
        __asm__("" : "+r"(data[i])); /* else the compiler keeps a pointer for each row */
    }
}

INLINED void add_row(sums_of_tile *sums, const float *added, ndrt_lanes inside, int r, int vectors,
                     int half) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++) {
        const ndrt_vector line = v + 1 < vectors + half
                                     ? ndrt_load(added + v * LANES)
                                     : ndrt_load_lanes(inside, added + v * LANES);
        sums->whole[r][v] = ndrt_add(sums->whole[r][v], line);
    }
    if (half) {
        const ndrt_vector line = ndrt_load_lanes(inside, added + vectors * LANES);
        sums->half[r] = ndrt_half_add(sums->half[r], ndrt_half_of(line));
    }
}

INLINED void tile_of(const tile *t, int rows, int vectors, int half) {
    const int64_t step = t->nruns * t->width, second = t->second;
    const ndrt_lanes inside = t->inside;
    sums_of_tile sums;
    ndrt_vector bias[TILE_VECTORS];
#pragma GCC unroll 2
    for (int v = 0; v < vectors + half; v++) {
        const ndrt_lanes lanes = v + 1 < vectors + half ? ndrt_first_lanes(LANES) : inside;
        bias[v] = t->bias ? ndrt_load_lanes(lanes, t->bias + v * LANES) : ndrt_zeros();
    }
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++) {
#pragma GCC unroll 2
        for (int v = 0; v < vectors; v++) sums.whole[r][v] = bias[v];
        if (half) sums.half[r] = ndrt_half_of(bias[vectors]);
    }
    if (t->added)
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++)
#pragma GCC unroll 2
            for (int v = 0; v < vectors + half; v++)
                __builtin_prefetch(t->added + r * t->out_row + v * LANES);
    const int64_t row = t->row * (int64_t)sizeof(float);
    int64_t nahead = t->nahead;
    for (int64_t i = 0; i < t->nruns; i++) {
        places data;
#pragma GCC unroll 5
        for (int j = 0; j < (rows + 2) / 3; j++)
            data[j] = (const char *)(t->data + t->runs[i].place) + 3 * j * row;
        const float *weights = t->weights + i * t->width;
        const int64_t ahead = t->ahead - weights, count = t->runs[i].count;
        for (int64_t k = nahead; k > 0; k--, weights += step) {
            __builtin_prefetch(weights + ahead, 0, 2);
            if (vectors + half > 1 &&
                (int)LANES == NDRT_LINE) /* else it is in the same cache line */
                __builtin_prefetch(weights + ahead + second, 0, 2);
            add_feature(&sums, data, row, weights, second, rows, vectors, half);
            next_feature(data, rows);
        }
        for (int64_t k = count - nahead; k > 0; k--, weights += step) {
            add_feature(&sums, data, row, weights, second, rows, vectors, half);
            next_feature(data, rows);
        }
        nahead = 0;
    }
    const int64_t columns = t->out_row;
    if (t->added)
#pragma GCC unroll 14
        for (int r = 0; r < rows; r++)
            add_row(&sums, t->added + r * columns, inside, r, vectors, half);
    const ndrt_vector low = ndrt_all(t->low), high = ndrt_all(t->high);
    float *out = t->out;
#pragma GCC unroll 14
    for (int r = 0; r < rows; r++, out += columns)
#pragma GCC unroll 2
        for (int v = 0; v < vectors + half; v++) {
            const ndrt_vector sum = v < vectors ? sums.whole[r][v] : ndrt_whole_of(sums.half[r]);
            if (v + 1 < vectors + half)
                ndrt_store(out + v * LANES, ndrt_bounded(sum, low, high));
            else
                ndrt_store_lanes(out + v * LANES, inside, ndrt_bounded(sum, low, high));
        }
}

typedef void compute_tile(const tile *t);

#define TILE(rows)                                                                                 \
    static void tile_##rows##_1(const tile *t) { tile_of(t, rows, 1, 0); }                         \
    static void tile_##rows##_half(const tile *t) { tile_of(t, rows, 1, 1); }                      \
    static void tile_##rows##_2(const tile *t) { tile_of(t, rows, 2, 0); }
#define NAMES(rows) {tile_##rows##_1, tile_##rows##_half, tile_##rows##_2},
#ifdef __AVX512F__
NDRT_1_TO_14(TILE)
static compute_tile *const tiles[TILE_ROWS][TILE_VECTORS + 1] = {NDRT_1_TO_14(NAMES)};
#else
NDRT_1_TO_6(TILE)
static compute_tile *const tiles[TILE_ROWS][TILE_VECTORS + 1] = {NDRT_1_TO_6(NAMES)};
#endif

/* Part of the result: rows, and columns of each group. */
typedef struct {
    int64_t row, row_end, column, column_end;
} part;

/* A group: its weights, and where its features lie in a row of data. */
typedef struct {
    int64_t index, nruns;
    const float *weights;
    run runs[NDRT_MOST_SHUFFLED];
} group;

/* Features of groups are not padded: oneDNN has no name for such a layout. */
static int64_t block_of(const ndrt_packed_gemm *job) {
    return job->groups > 1 ? job->features * job->width : ndrt_block_of(job->features, job->width);
}

static void find_group(const ndrt_packed_gemm *job, int64_t index, group *g) {
    const int64_t features = job->features, shuffled = job->shuffled;
    const int64_t apart = features * job->groups / shuffled;
    const int64_t nblocks = (job->columns + job->width - 1) / job->width;
    g->index = index;
    g->weights = job->weights + index * nblocks * block_of(job);
    g->nruns = shuffled;
    int64_t from = index * features % shuffled, at = index * features / shuffled;
    for (int64_t i = 0; i < shuffled; i++) {
        g->runs[i].place = from * apart + at;
        g->runs[i].count = features / shuffled + (i < features % shuffled);
        if (++from == shuffled) {
            from = 0;
            at++;
        }
    }
}

/* The weights of the vector of columns that begins at `column`. */
static const float *weights_of(const ndrt_packed_gemm *job, const group *g, int64_t column) {
    return g->weights + column / job->width * block_of(job) + column % job->width;
}

/* One or two vectors of a group's columns in all rows of a part, which are divided evenly among
 * tiles. */
static void compute_columns(const ndrt_packed_gemm *job, const group *g, const part *p,
                            int64_t column, int asks_ahead) {
    const int64_t features = job->features, row_size = features * job->groups;
    const int64_t out_row = job->columns * job->groups, out = g->index * job->columns + column;
    const int64_t most = row_size % ALIASING ? TILE_ROWS : ALIASING_ROWS;
    const int64_t nrows = p->row_end - p->row, ntiles = (nrows + most - 1) / most;
    const int64_t left = p->column_end - column, next = column + TILE_VECTORS * LANES;
    const int vectors = left > LANES ? TILE_VECTORS : 1;
    const int has_half = vectors == TILE_VECTORS && left <= LANES + LANES / 2;
    const int64_t last = left - (vectors - 1) * LANES;
    tile t = {
        .weights = weights_of(job, g, column),
        .inside = ndrt_first_lanes(last),
        .runs = g->runs,
        .nruns = g->nruns,
        .row = row_size,
        .out_row = out_row,
        .width = job->width,
        .low = job->low,
        .high = job->high,
    };
    if (job->bias) t.bias = job->bias + out;
    if (vectors > 1) t.second = weights_of(job, g, column + LANES) - t.weights;
    const float *const ahead = next < p->column_end ? weights_of(job, g, next) : t.weights;
    asks_ahead = asks_ahead && g->nruns == 1 && next < p->column_end;
    int64_t row = p->row;
    for (int64_t i = 0; i < ntiles; i++) {
        const int64_t rows = nrows / ntiles + (i < nrows % ntiles);
        const int64_t from = features * i / ntiles;
        t.data = job->data + row * row_size;
        t.out = job->out + row * out_row + out;
        if (job->added) t.added = job->added + row * out_row + out;
        t.ahead = ahead + from * job->width;
        if (asks_ahead) t.nahead = features * (i + 1) / ntiles - from;
        tiles[rows - 1][has_half ? 1 : vectors == 1 ? 0 : 2](&t);
        row += rows;
    }
}

static void compute_part(const ndrt_packed_gemm *job, const part *p) {
    const int64_t row_size = job->features * job->groups;
    const int is_small =
        job->groups == 1 && (p->column_end - p->column) * row_size <= NUMBERS_OF_SMALL_WEIGHTS;
    int64_t panel = PANEL_NUMBERS / row_size / TILE_ROWS * TILE_ROWS;
    if (panel < TILE_ROWS || is_small) panel = TILE_ROWS;
    for (part at = *p; at.row < p->row_end; at.row = at.row_end) {
        if (at.row + panel < p->row_end)
            at.row_end = at.row + panel;
        else
            at.row_end = p->row_end;
        for (int64_t i = 0; i < job->groups; i++) {
            group g;
            find_group(job, i, &g);
            for (int64_t c = p->column; c < p->column_end; c += TILE_VECTORS * LANES)
                compute_columns(job, &g, &at, c, !is_small);
        }
    }
}

void ndrt_packed_gemm_rows(const ndrt_packed_gemm *job, int64_t row, int64_t row_end) {
    const part p = {.row = row, .row_end = row_end, .column_end = job->columns};
    compute_part(job, &p);
}

/* A thread with fewer rows than ROWS_FOR_WEIGHTS waits for the weights longer than it computes. An
 * element that another thread wrote, or will read, costs as much as WORK_OF_SHARED multiply-adds:
 * with two threads, sharing out rows was never slower in MobileNet-v2, and up to a third faster
 * where the cores have no cache in common. */
enum { ROWS_FOR_WEIGHTS = 12, WORK_OF_SHARED = 8 };

/* Into how many parts the columns are divided; threads / parts divide the rows. A thread that keeps
 * to its rows finds what the previous step wrote in its own cache, if that one kept to them too.
 * Columns of groups are not divided. */
static int threads_of_columns(const ndrt_packed_gemm *job, int nthreads) {
    if (job->groups > 1) return 1;
    const int64_t lines = (job->columns + NDRT_LINE - 1) / NDRT_LINE;
    int best = 1;
    double least = 0;
    for (int n = 1; n <= nthreads; n++) {
        if (nthreads % n) continue;
        const int64_t m = nthreads / n, rows = (job->rows + m - 1) / m;
        const double columns = (double)((lines + n - 1) / n * NDRT_LINE);
        double cost = columns * job->features * (rows < ROWS_FOR_WEIGHTS ? ROWS_FOR_WEIGHTS : rows);
        if (n > 1) cost += WORK_OF_SHARED * rows * (job->features + columns);
        if (n == 1 || cost < least) {
            best = n;
            least = cost;
        }
    }
    return best;
}

static ndrt_status check(const ndrt_kernel_call *call) {
    const ndrt_packed_gemm_args k = ndrt_read_packed_gemm(call);
    if (k.rows < 1 || k.features < 1 || k.columns < 1 || k.width < LANES || k.width % LANES)
        return ndrt_fail(
            NDRT_INVALID, "packed GEMM: %lld rows of %lld, %lld columns in blocks of %lld",
            (long long)k.rows, (long long)k.features, (long long)k.columns, (long long)k.width);
    if (k.groups < 1 || k.shuffled < 1 || k.shuffled > NDRT_MOST_SHUFFLED ||
        k.features * k.groups % k.shuffled)
        return ndrt_fail(NDRT_INVALID,
                         "packed GEMM: %lld groups of %lld features, shuffled from %lld",
                         (long long)k.groups, (long long)k.features, (long long)k.shuffled);
    return ndrt_need_arrays(call, 3);
}

static int threads(const ndrt_kernel_call *call) {
    const ndrt_packed_gemm_args k = ndrt_read_packed_gemm(call);
    return ndrt_team_for(call,
                         ndrt_product_work(ndrt_product(k.rows, k.features, k.columns * k.groups),
                                           ndrt_product(k.features, k.columns, k.groups)));
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    const ndrt_packed_gemm_args k = ndrt_read_packed_gemm(call);
    const ndrt_packed_gemm job = {.out = k.out,
                                  .data = k.data,
                                  .weights = k.weights,
                                  .bias = k.bias,
                                  .added = k.added,
                                  .rows = k.rows,
                                  .features = k.features,
                                  .columns = k.columns,
                                  .width = k.width,
                                  .groups = k.groups,
                                  .shuffled = k.shuffled,
                                  .low = k.low,
                                  .high = k.high};
    const int64_t lines = (job.columns + NDRT_LINE - 1) / NDRT_LINE;
    const int across = threads_of_columns(&job, nthreads), along = nthreads / across;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int i = 0; i < nthreads; i++) {
        const int64_t c = i % across, r = i / across;
        part p = {
            .row = job.rows * r / along,
            .row_end = job.rows * (r + 1) / along,
            .column = lines * c / across * NDRT_LINE,
            .column_end = lines * (c + 1) / across * NDRT_LINE,
        };
        if (p.column_end > job.columns) p.column_end = job.columns;
        compute_part(&job, &p);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_packed_gemm = {"packed GEMM", check, threads, execute};
