/* Kernels that find their elements by an array of places: rows of tables and their gradients,
 * choices along an axis, masks; and a function that oneDNN lacks.
 *
 * Places come in several dtypes. A float is cut off towards zero; what fits into no int64 counts as
 * the least one, as x86 converts. Each element is computed by one thread in one order, so the
 * bits do not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "ndrt_args.h"
#include "ndrt_places.h"

typedef const ndrt_kernel_call kernel_call;

/* ---- places -------------------------------------------------------------------------------- */

/* Inside of [0, n): to the nearer end, or counted round and round. */
static inline int64_t inside(int64_t i, int64_t n, int wrap) {
    if (!wrap) return i < 0 ? 0 : i < n ? i : n - 1;
    i %= n;
    return i < 0 ? i + n : i;
}

/* ---- rows of a table ------------------------------------------------------------------------ */

static void gather(kernel_call *call, int nthreads) {
    const ndrt_gather_args job = ndrt_read_gather(call);
    int64_t outer = job.outer, count = job.count, rows = job.rows;
    size_t width = (size_t)job.width;
    char *out = job.out;
    const char *table = job.table;
    int kind = job.kind, wrap = job.wrap;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * count; k++) {
        int64_t row = inside(ndrt_index_at(job.places, kind, k % count), rows, wrap);
        memcpy(out + (size_t)k * width, table + (size_t)(k / count * rows + row) * width, width);
    }
}

/* Each thread has a range of rows, and adds what belongs there in the order of the places. */
static void gather_grad(kernel_call *call, int nthreads) {
    const ndrt_gather_grad_args job = ndrt_read_gather_grad(call);
    int64_t outer = job.outer, count = job.count, rows = job.rows;
    int64_t width = job.width;
    float *grad = job.dx;
    const float *in = job.dy;
    int kind = job.kind, wrap = job.wrap;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t part = 0; part < nthreads; part++) {
        int64_t from = rows * part / nthreads, to = rows * (part + 1) / nthreads;
        for (int64_t o = 0; o < outer; o++) {
            float *own = grad + o * rows * width;
            memset(own + from * width, 0, (size_t)((to - from) * width) * sizeof *own);
            for (int64_t i = 0; i < count; i++) {
                int64_t row = inside(ndrt_index_at(job.places, kind, i), rows, wrap);
                if (row < from || row >= to) continue;
                float *sum = own + row * width;
                const float *add = in + (o * count + i) * width;
#pragma omp simd
                for (int64_t j = 0; j < width; j++) sum[j] += add[j];
            }
        }
    }
}

/* ---- one element along an axis ----------------------------------------------------------------
 */

static void pick(kernel_call *call, int nthreads) {
    const ndrt_pick_args job = ndrt_read_pick(call);
    int64_t outer = job.outer, length = job.length, inner = job.inner;
    size_t size = (size_t)job.size;
    char *out = job.out;
    const char *in = job.data;
    int kind = job.kind, wrap = job.wrap;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < outer * inner; k++) {
        int64_t at = inside(ndrt_index_at(job.places, kind, k), length, wrap);
        size_t from = (size_t)((k / inner * length + at) * inner + k % inner);
        memcpy(out + (size_t)k * size, in + from * size, size);
    }
}

static void pick_grad(kernel_call *call, int nthreads) {
    const ndrt_pick_grad_args job = ndrt_read_pick_grad(call);
    int64_t outer = job.outer, length = job.length, inner = job.inner;
    float *grad = job.dx;
    const float *in = job.dy;
    int kind = job.kind, wrap = job.wrap;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t o = 0; o < outer; o++) {
        float *own = grad + o * length * inner;
        memset(own, 0, (size_t)(length * inner) * sizeof *own);
        for (int64_t i = 0; i < inner; i++) {
            int64_t at = inside(ndrt_index_at(job.places, kind, o * inner + i), length, wrap);
            own[at * inner + i] = in[o * inner + i];
        }
    }
}

/* ---- what the places turn on ----------------------------------------------------------------- */

#define ONE_HOT_OF(type)                                                                           \
    do {                                                                                           \
        type *row = (type *)job.out + i * depth, on = (type)job.on, off = (type)job.off;           \
        for (int64_t j = 0; j < depth; j++) row[j] = off;                                          \
        if (at >= 0 && at < depth) row[at] = on;                                                   \
    } while (0)

static void one_hot(kernel_call *call, int nthreads) {
    const ndrt_one_hot_args job = ndrt_read_one_hot(call);
    int64_t count = job.count, depth = job.depth;
    int kind = job.kind, dtype = job.dtype;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ndrt_index_at(job.places, kind, i);
        if (dtype == NDRT_F32)
            ONE_HOT_OF(float);
        else
            ONE_HOT_OF(int32_t);
    }
}

/* Not zero, as C says it: NaN and small fractions count as true. */
static inline int is_true(const void *condition, int kind, int64_t i) {
    if (kind == NDRT_F32) return ((const float *)condition)[i] != 0;
    if (kind == NDRT_F64) return ((const double *)condition)[i] != 0;
    return ndrt_index_at(condition, kind, i) != 0;
}

/* An element for each condition. */
static void where_each(float *out, const float *condition, const float *x, const float *y,
                       int64_t count, int nthreads) {
#pragma omp parallel for simd schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < count; i++) out[i] = condition[i] != 0 ? x[i] : y[i];
}

static void where(kernel_call *call, int nthreads) {
    const ndrt_where_args job = ndrt_read_where(call);
    int64_t count = job.count, width = job.width;
    float *out = job.out;
    const float *x = job.x, *y = job.y;
    int kind = job.kind;
    if (width == 1 && kind == NDRT_F32) {
        where_each(out, job.condition, x, y, count, nthreads);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < count; i++) {
        const float *from = is_true(job.condition, kind, i) ? x : y;
        for (int64_t j = i * width; j < (i + 1) * width; j++) out[j] = from[j];
    }
}

static void sequence_mask(kernel_call *call, int nthreads) {
    const ndrt_sequence_mask_args job = ndrt_read_sequence_mask(call);
    int64_t rows = job.rows, columns = job.columns, width = job.width;
    int steps_first = job.steps_axis == 0, kind = job.kind;
    float *out = job.out, value = job.value;
    const float *in = job.data;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t k = 0; k < rows * columns; k++) {
        int64_t row = k / columns, column = k % columns;
        int64_t step = steps_first ? row : column, batch = steps_first ? column : row;
        float *to = out + k * width;
        if (step >= ndrt_index_at(job.lengths, kind, batch))
            for (int64_t j = 0; j < width; j++) to[j] = value;
        else if (to != in + k * width)
            memcpy(to, in + k * width, (size_t)width * sizeof *to);
    }
}

static void arange(kernel_call *call, int nthreads) {
    const ndrt_arange_args job = ndrt_read_arange(call);
    float *out = job.out, start = job.start, step = job.step;
    int64_t repeat = job.repeat;
#pragma omp parallel for schedule(static) num_threads(nthreads)
    for (int64_t i = 0; i < job.n; i++) out[i] = start + (float)(i / repeat) * step;
}

/* ---- driver -----------------------------------------------------------------------------------
 */

static const struct {
    const char *name;
    void (*run)(kernel_call *call, int nthreads);
    int ndata, ndims;
    int has_kind; /* the count behind those is the kind of places */
} kernels[] = {
    [NDRT_KERNEL_GATHER - NDRT_KERNEL_GATHER] = {"gather", gather, 3, 4, 1},
    [NDRT_KERNEL_GATHER_GRAD - NDRT_KERNEL_GATHER] = {"gather gradient", gather_grad, 3, 4, 1},
    [NDRT_KERNEL_PICK - NDRT_KERNEL_GATHER] = {"pick", pick, 3, 4, 1},
    [NDRT_KERNEL_PICK_GRAD - NDRT_KERNEL_GATHER] = {"pick gradient", pick_grad, 3, 3, 1},
    [NDRT_KERNEL_ONE_HOT - NDRT_KERNEL_GATHER] = {"one hot", one_hot, 2, 2, 1},
    [NDRT_KERNEL_WHERE - NDRT_KERNEL_GATHER] = {"where", where, 4, 2, 1},
    [NDRT_KERNEL_SEQUENCE_MASK - NDRT_KERNEL_GATHER] = {"sequence mask", sequence_mask, 3, 4, 1},
    [NDRT_KERNEL_ARANGE - NDRT_KERNEL_GATHER] = {"arange", arange, 1, 2, 0},
};

/* Elements of the output, bytes for GATHER and PICK. */
static int64_t written(kernel_call *call) {
    const int64_t *d = call->counts;
    switch (call->kernel) {
    case NDRT_KERNEL_GATHER: return ndrt_product(d[0], d[1], d[3]);
    case NDRT_KERNEL_GATHER_GRAD:
    case NDRT_KERNEL_PICK: return ndrt_product(d[0], d[2], d[3]);
    case NDRT_KERNEL_ARANGE: return d[0];
    case NDRT_KERNEL_PICK_GRAD:
    case NDRT_KERNEL_SEQUENCE_MASK: return ndrt_product(d[0], d[1], d[2]);
    default: return ndrt_product(d[0], d[1], 1);
    }
}

/* Elements of the array that is read, or of the one that sums; its axis may be of length 0. */
static int64_t along_axis(kernel_call *call) {
    const int64_t *d = call->counts;
    switch (call->kernel) {
    case NDRT_KERNEL_GATHER: return ndrt_product(d[0], d[2], d[3]);
    case NDRT_KERNEL_GATHER_GRAD: return ndrt_product(d[0], d[1], d[3]);
    case NDRT_KERNEL_PICK: return ndrt_product(d[0], d[1], ndrt_product(d[2], d[3], 1));
    default: return 1;
    }
}

static ndrt_status check(const ndrt_kernel_call *call) {
    int at = call->kernel - NDRT_KERNEL_GATHER;
    const char *name = kernels[at].name;
    for (int i = 0; i < kernels[at].ndims; i++)
        if (call->counts[i] < 0) return ndrt_fail(NDRT_INVALID, "%s: a count below 0", name);
    const int64_t kind = call->counts[kernels[at].ndims];
    if (kernels[at].has_kind && !ndrt_is_index_kind(kind))
        return ndrt_fail(NDRT_INVALID, "%s: places of kind %lld", name, (long long)kind);
    if (call->kernel == NDRT_KERNEL_ONE_HOT) {
        const int dtype = ndrt_read_one_hot(call).dtype;
        if (dtype != NDRT_F32 && dtype != NDRT_S32)
            return ndrt_fail(NDRT_INVALID, "%s: values of kind %d", name, dtype);
    }
    if (call->kernel == NDRT_KERNEL_ARANGE && ndrt_read_arange(call).repeat < 1)
        return ndrt_fail(NDRT_INVALID, "%s: each value %lld times", name,
                         (long long)ndrt_read_arange(call).repeat);
    int64_t n = written(call), m = along_axis(call);
    if (n < 0 || m < 0) return ndrt_fail(NDRT_INVALID, "%s: more elements than can be", name);
    if (n && !m && call->kernel != NDRT_KERNEL_GATHER_GRAD)
        return ndrt_fail(NDRT_INVALID, "%s: places on an axis of length 0", name);
    for (int i = 0; i < kernels[at].ndata; i++)
        if (n && (m || i == 0) && !call->data[i])
            return ndrt_fail(NDRT_INVALID, "%s: array %d has no bytes", name, i);
    return NDRT_OK;
}

static int threads(const ndrt_kernel_call *call) {
    int64_t n = written(call);
    if (call->kernel == NDRT_KERNEL_GATHER) n /= 4;
    return ndrt_team_for(call, n);
}

static ndrt_status execute(const ndrt_kernel_call *call, int nthreads) {
    if (written(call)) kernels[call->kernel - NDRT_KERNEL_GATHER].run(call, nthreads);
    return NDRT_OK;
}

const ndrt_family ndrt_family_gather = {"gather", check, threads, execute};
