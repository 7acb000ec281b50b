/* Products of matrices of float64 and int32, of batches of strided ones or of filters and windows
 * over images: gives out products, or parts of one, to the threads. */
#include <math.h>
#include <omp.h>

#include "ndrt_args.h"
#include "ndrt_blocked_gemm.h"
#include "onednn/ndrt_onednn.h"

typedef const ndrt_kernel_call kernel_call;

/* Parts begin at multiples of these: no two threads write to one cache line, and tiles are whole,
 * but where there are so few columns that parts would be of unlike size. */
enum { ROWS_TOGETHER = 8, COLUMNS_TOGETHER = 48, FEW_COLUMNS_TOGETHER = 16 };

static int64_t columns_together(int64_t columns, int nparts) {
    return columns < (int64_t)8 * COLUMNS_TOGETHER * nparts ? FEW_COLUMNS_TOGETHER
                                                            : COLUMNS_TOGETHER;
}

/* What both kernels give the threads to do. Arrays step over products in two directions. */
typedef struct {
    ndrt_blocked_part whole;
    ndrt_windows_seen windows;
    int gathers; /* windows; else they are the numbers of images as they lie */
    int64_t products[2];
    int64_t a[2], b[2], out[2], bias[2];
    int kind, slots;
} work;

static work work_of_matrices(kernel_call *call) {
    const ndrt_blocked_gemm_args k = ndrt_read_blocked_gemm(call);
    return (work){
        .whole = {.a = {k.a, k.a_steps[2], k.a_steps[3]},
                  .b = {k.b, k.b_steps[2], k.b_steps[3]},
                  .bias = {k.bias, 0, 1},
                  .added = k.added,
                  .out = k.out,
                  .scratch = k.scratch,
                  .out_row = k.out_steps[2],
                  .rows = k.rows,
                  .depth = k.depth,
                  .columns = k.columns,
                  .alpha = k.alpha,
                  .beta = k.beta,
                  .low = k.low,
                  .high = k.high},
        .products = {k.products[0], k.products[1]},
        .a = {k.a_steps[0], k.a_steps[1]},
        .b = {k.b_steps[0], k.b_steps[1]},
        .out = {k.out_steps[0], k.out_steps[1]},
        .kind = k.kind,
        .slots = k.slots,
    };
}

static work work_of_windows(kernel_call *call) {
    const ndrt_blocked_windows_args k = ndrt_read_blocked_windows(call);
    const int64_t depth = k.channels * k.window[0] * k.window[1];
    const int64_t places = k.out_size[0] * k.out_size[1], filters = k.filters;
    const int64_t image = k.channels * k.size[0] * k.size[1];
    return (work){
        .whole = {.a = {k.weights, depth, 1},
                  .b = {k.data, places, 1},
                  .bias = {k.bias, 1, 0},
                  .out = k.out,
                  .scratch = k.scratch,
                  .out_row = places,
                  .rows = filters,
                  .depth = depth,
                  .columns = places,
                  .alpha = 1,
                  .low = k.low,
                  .high = k.high},
        .windows = {k.size, k.window, k.stride, k.dilate, k.pad, k.out_size[1]},
        .gathers = depth != k.channels || places != k.size[0] * k.size[1] || k.stride[0] != 1 ||
                   k.stride[1] != 1 || k.pad[0] != 0 || k.pad[1] != 0,
        .products = {k.images, k.groups},
        .a = {0, filters * depth},
        .b = {k.groups * image, image},
        .out = {k.groups * filters * places, filters * places},
        .bias = {0, filters},
        .kind = k.kind,
        .slots = k.slots,
    };
}

static work work_of(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_BLOCKED_GEMM ? work_of_matrices(call)
                                                    : work_of_windows(call);
}

/* Whether all of an array's places are numbers. */
static int has_places(const int64_t counts[4], const int64_t steps[4]) {
    int64_t last = 0;
    for (int i = 0; i < 4; i++) {
        int64_t way;
        if (counts[i] < 1 || steps[i] < 0 ||
            __builtin_mul_overflow(counts[i] - 1, steps[i], &way) ||
            __builtin_add_overflow(last, way, &last))
            return 0;
    }
    return last < INT64_MAX / 16;
}

static int is_whole(double alpha, double beta, double low, double high) {
    return alpha == 1 && beta == 1 && low == -INFINITY && high == INFINITY;
}

static ndrt_status check_matrices(kernel_call *call) {
    const ndrt_blocked_gemm_args k = ndrt_read_blocked_gemm(call);
    const int64_t *n = k.products;
    const int64_t a[] = {n[0], n[1], k.rows, k.depth}, b[] = {n[0], n[1], k.depth, k.columns};
    const int64_t out[] = {n[0], n[1], k.rows, k.columns};
    const int64_t out_steps[] = {k.out_steps[0], k.out_steps[1], k.out_steps[2], 1};
    if (!has_places(a, k.a_steps) || !has_places(b, k.b_steps) || !has_places(out, out_steps) ||
        ndrt_product(n[0], n[1], k.rows) < 0 ||
        ndrt_product(ndrt_product(n[0], n[1], k.rows), k.depth, k.columns) < 0)
        return ndrt_fail(NDRT_INVALID,
                         "blocked GEMM: %lld by %lld products of %lld rows, %lld columns and a "
                         "depth of %lld, or what lies between these",
                         (long long)n[0], (long long)n[1], (long long)k.rows, (long long)k.columns,
                         (long long)k.depth);
    if (k.kind != NDRT_F64 && (k.kind != NDRT_S32 || !is_whole(k.alpha, k.beta, k.low, k.high)))
        return ndrt_fail(NDRT_INVALID, "blocked GEMM: products of kind %d, times %g, %g", k.kind,
                         k.alpha, k.beta);
    if (k.slots < 1) return ndrt_fail(NDRT_INVALID, "blocked GEMM: %d slots", k.slots);
    return ndrt_need_arrays(call, 4);
}

static ndrt_status check_windows(kernel_call *call) {
    const ndrt_blocked_windows_args k = ndrt_read_blocked_windows(call);
    if (!ndrt_is_count(k.images, 1) || !ndrt_is_count(k.groups, 1) ||
        !ndrt_is_count(k.channels, 1) || !ndrt_is_count(k.filters, 1) ||
        !ndrt_are_counts(k.size, 1) || !ndrt_are_counts(k.window, 1) ||
        !ndrt_are_counts(k.stride, 1) || !ndrt_are_counts(k.dilate, 1) ||
        !ndrt_are_counts(k.pad, 0) || !ndrt_are_counts(k.out_size, 1) || k.slots < 1)
        return ndrt_fail(NDRT_INVALID, "blocked windows: a number is out of range");
    const int64_t products = ndrt_product(k.images, k.groups, 1);
    const int64_t depth = ndrt_product(k.channels, k.window[0], k.window[1]);
    const int64_t places = ndrt_product(k.out_size[0], k.out_size[1], 1);
    if (ndrt_product(ndrt_product(products, k.filters, depth), places, 16) < 0 ||
        ndrt_product(ndrt_product(products, k.channels, 16), k.size[0], k.size[1]) < 0)
        return ndrt_fail(NDRT_INVALID, "blocked windows: more elements than can be");
    if (k.kind != NDRT_F64 && (k.kind != NDRT_S32 || !is_whole(1, 1, k.low, k.high)))
        return ndrt_fail(NDRT_INVALID, "blocked windows: products of kind %d", k.kind);
    return ndrt_need_arrays(call, 4);
}

static ndrt_status check(kernel_call *call) {
    return call->kernel == NDRT_KERNEL_BLOCKED_GEMM ? check_matrices(call) : check_windows(call);
}

static int threads(kernel_call *call) {
    const work w = work_of(call);
    const int64_t products = w.products[0] * w.products[1];
    const int64_t right = ndrt_product(products, w.whole.depth, w.whole.columns);
    const int64_t left = ndrt_product(products, w.whole.depth, w.whole.rows);
    const int nthreads =
        ndrt_team_for(call, ndrt_product_work(ndrt_product(left, w.whole.columns, 1),
                                              right > left ? right : left));
    return nthreads < w.slots ? nthreads : w.slots;
}

/* Into how many parts columns are cut; nparts / this many rows. The longer the shorter side of a
 * part, the less of what is read is read by several. */
static int parts_across(const work *w, int nparts) {
    const int64_t together = columns_together(w->whole.columns, nparts);
    int best = 1;
    int64_t least = INT64_MAX;
    for (int n = 1; n <= nparts; n++) {
        if (nparts % n) continue;
        const int64_t columns = (w->whole.columns + n - 1) / n;
        const int64_t rows = (w->whole.rows + nparts / n - 1) / (nparts / n);
        const int64_t padded = (columns + together - 1) / together * together;
        const int64_t side = (rows + ROWS_TOGETHER - 1) / ROWS_TOGETHER * ROWS_TOGETHER + padded;
        if (side < least) {
            best = n;
            least = side;
        }
    }
    return best;
}

static int64_t begin_of(int64_t n, int64_t i, int64_t parts, int64_t together) {
    const int64_t begin = (n + together - 1) / together * i / parts * together;
    return begin < n ? begin : n;
}

static void compute(const work *w, int64_t product, int64_t i, int nparts, int across,
                    void *scratch) {
    const int64_t outer = product / w->products[1], inner = product % w->products[1];
    const int64_t size = w->kind == NDRT_F64 ? sizeof(double) : sizeof(int32_t);
    const int along = nparts / across;
    ndrt_blocked_part part = w->whole;
    part.a.numbers = (const char *)part.a.numbers + (outer * w->a[0] + inner * w->a[1]) * size;
    part.b.numbers = (const char *)part.b.numbers + (outer * w->b[0] + inner * w->b[1]) * size;
    const int64_t out = (outer * w->out[0] + inner * w->out[1]) * size;
    part.out = (char *)part.out + out;
    if (part.added) part.added = (const char *)part.added + out;
    if (part.bias.numbers)
        part.bias.numbers =
            (const char *)part.bias.numbers + (outer * w->bias[0] + inner * w->bias[1]) * size;
    part.block_columns = ndrt_blocked_columns(part.rows, part.depth, part.columns, w->slots);
    if (w->gathers) part.windows = &w->windows;
    part.scratch = scratch;
    part.row = begin_of(part.rows, i / across, along, ROWS_TOGETHER);
    part.row_end = begin_of(part.rows, i / across + 1, along, ROWS_TOGETHER);
    const int64_t together = columns_together(part.columns, nparts);
    part.column = begin_of(part.columns, i % across, across, together);
    part.column_end = begin_of(part.columns, i % across + 1, across, together);
    if (part.row == part.row_end || part.column == part.column_end) return;
    if (w->kind == NDRT_F64)
        ndrt_blocked_float64(&part);
    else
        ndrt_blocked_int32(&part);
}

static ndrt_status execute(kernel_call *call, int nthreads) {
    const work w = work_of(call);
    const int64_t products = w.products[0] * w.products[1];
    const int64_t numbers =
        ndrt_blocked_numbers(w.whole.rows, w.whole.depth, w.whole.columns, w.slots);
    const int64_t size = w.kind == NDRT_F64 ? sizeof(double) : sizeof(int32_t);
    /* many products are given out whole */
    const int nparts = products >= nthreads ? 1 : nthreads, across = parts_across(&w, nparts);
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int t = 0; t < nthreads; t++) {
        char *scratch = (char *)w.whole.scratch + t * numbers * size;
        const int64_t all = products * nparts;
        for (int64_t i = all * t / nthreads; i < all * (t + 1) / nthreads; i++)
            compute(&w, i / nparts, i % nparts, nparts, across, scratch);
    }
    return NDRT_OK;
}

const ndrt_family ndrt_family_blocked_gemm = {"blocked GEMM", check, threads, execute};
